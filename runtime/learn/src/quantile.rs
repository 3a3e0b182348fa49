//! Quantiles as NumPy and scikit-learn define them, and the quantiles of the normal distribution.

/// How quantiles between two values are found: names of `numpy.percentile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Linear,
    InvertedCdf,
    AveragedInvertedCdf,
}

/// `numpy.percentile(values, percents, method=method)`. Reorders `values`, which hold no NaN. NaN if there are none.
pub fn percentiles(values: &mut [f64], percents: &[f64], method: Method) -> Vec<f64> {
    let Some(last) = values.len().checked_sub(1) else { return vec![f64::NAN; percents.len()] };
    // For each level the positions of two values, and the share of the second one.
    let place = |percent: &f64| {
        let level = percent / 100.0;
        let position = match method {
            Method::Linear => level * last as f64,
            _ => values.len() as f64 * level - 1.0,
        };
        let low = position.floor();
        let share = match (position - low, method) {
            (share, Method::Linear) => share,
            (0.0, Method::AveragedInvertedCdf) => 0.5,
            (0.0, _) => 0.0,
            _ => 1.0,
        };
        let limited = |p: f64| p.clamp(0.0, last as f64) as usize;
        (limited(low), limited(low + 1.0), share)
    };
    let places: Vec<(usize, usize, f64)> = percents.iter().map(place).collect();
    order(values, places.iter().flat_map(|(a, b, _)| [*a, *b]).collect());
    places.iter().map(|(low, high, share)| between(values[*low], values[*high], *share)).collect()
}

/// Positions up to which selecting each one is faster than sorting all values.
const FEW: usize = 16;

/// Puts the values of these positions where a sorted list has them.
fn order(values: &mut [f64], mut positions: Vec<usize>) {
    positions.sort_unstable();
    positions.dedup();
    if positions.len() > FEW {
        return values.sort_unstable_by(f64::total_cmp);
    }
    let mut start = 0;
    for position in positions {
        values[start..].select_nth_unstable_by(position - start, f64::total_cmp);
        start = position + 1;
    }
}

/// NumPy's `_lerp`, which starts from the nearer end.
fn between(a: f64, b: f64, share: f64) -> f64 {
    let width = b - a;
    match share {
        s if s == 0.0 || a == b => a,
        1.0 => b,
        s if s >= 0.5 => b - width * (1.0 - s),
        s => a + width * s,
    }
}

/// Quantiles of values under weights: `_weighted_percentile` of scikit-learn's `utils/stats.py`. `sorted` has the
/// values in ascending order with their weights. A share between two values gives the lower one, or if `averaged` the
/// mean of both. NaN if there are no values.
pub fn weighted(sorted: &[(f64, f64)], shares: impl Iterator<Item = f64>, averaged: bool) -> Vec<f64> {
    let Some(last) = sorted.len().checked_sub(1) else { return shares.map(|_| f64::NAN).collect() };
    let mut total = 0.0;
    let cumulated: Vec<f64> = sorted
        .iter()
        .map(|(_, weight)| {
            total += weight;
            total
        })
        .collect();
    let at = |share: f64| {
        // Above 0, so that values without weight are skipped.
        let rank = (share * total).max(f64::MIN_POSITIVE);
        let place = cumulated.partition_point(|c| *c < rank).min(last);
        match averaged && cumulated[place] - rank <= f64::EPSILON {
            true => f64::midpoint(sorted[place].0, sorted[(place + 1).min(last)].0),
            false => sorted[place].0,
        }
    };
    shares.map(at).collect()
}

/// The mean of the two values in the middle, as `numpy.median`. Reorders `values`, which hold no NaN. NaN if there are
/// none.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, high, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(low) if even => f64::midpoint(low, *high),
        _ => *high,
    }
}

/// The inverse of the normal distribution function: algorithm AS 241, PPND16 (Wichura 1988), to about 1e-16.
pub fn normal(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let r = if q < 0.0 { p } else { 1.0 - p };
    if r <= 0.0 {
        return if q < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let r = (-r.ln()).sqrt();
    let value = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &TAIL) };
    if q < 0.0 { -value } else { value }
}

/// A quotient of two polynomials, from the constant coefficient on.
fn ratio(r: f64, coefficients: &[[f64; 8]; 2]) -> f64 {
    let [above, below] = coefficients.map(|c| c.iter().rev().fold(0.0, |sum, c| sum * r + c));
    above / below
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        0.000_774_545_014_278_341_4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        0.000_547_593_808_499_534_5,
        1.050_750_071_644_416_9e-9,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        0.000_786_869_131_145_613_3,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_levels_are_those_of_numpy() {
        // numpy.percentile([3, 1, 4, 1.5, 9, 2.6], [0, 25, 50, 90], method).
        let values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6];
        for (method, wanted) in [
            (Method::Linear, [1.0, 1.775, 2.8, 6.5]),
            (Method::InvertedCdf, [1.0, 1.5, 2.6, 9.0]),
            (Method::AveragedInvertedCdf, [1.0, 1.5, 2.8, 9.0]),
        ] {
            let levels = [0.0, 25.0, 50.0, 90.0];
            let few = percentiles(&mut values.to_vec(), &levels, method);
            assert!(few.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{method:?}: {few:?}");
            let many: Vec<f64> = (0..=1000).map(|k| f64::from(k) / 10.0).collect();
            let long: Vec<f64> = (0..997).map(|i| f64::from(i * 331 % 997)).collect();
            let at_once = percentiles(&mut long.clone(), &many, method);
            let one = |level: &f64| percentiles(&mut long.clone(), &[*level], method)[0];
            assert_eq!(at_once, many.iter().map(one).collect::<Vec<f64>>());
        }
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_those_of_scipy() {
        // scipy.stats.norm.ppf.
        let expected = [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.975, 1.959_963_984_540_054),
            (1e-10, -6.361_340_902_404_056),
            (1e-20, -9.262_340_089_798_408),
        ];
        for (p, z) in expected {
            assert!((normal(p) - z).abs() <= 1e-14 * z.abs(), "{p}: {} {z}", normal(p));
        }
    }
}
