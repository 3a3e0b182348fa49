//! Quantiles as NumPy and scikit-learn define them, and the quantiles of the normal distribution.

/// `numpy.percentile(values, percent, method="linear")` of several levels. Reorders `values`, which hold no NaN. NaN if
/// there are none.
pub fn linear(values: &mut [f64], percents: &[f64]) -> Vec<f64> {
    let Some(last) = values.len().checked_sub(1) else { return vec![f64::NAN; percents.len()] };
    let mut at = |percent: f64| {
        let (low, share) = place(percent, last);
        let (_, a, above) = values.select_nth_unstable_by(low, f64::total_cmp);
        let a = *a;
        between(a, above.iter().copied().min_by(f64::total_cmp).unwrap_or(a), share)
    };
    percents.iter().map(|p| at(*p)).collect()
}

/// As [`linear`], for values in ascending order.
pub fn of_sorted(values: &[f64], percents: &[f64]) -> Vec<f64> {
    let Some(last) = values.len().checked_sub(1) else { return vec![f64::NAN; percents.len()] };
    let at = |percent: &f64| {
        let (low, share) = place(*percent, last);
        between(values[low], values[(low + 1).min(last)], share)
    };
    percents.iter().map(at).collect()
}

/// The position below a level, and the share of the way to the next one.
fn place(percent: f64, last: usize) -> (usize, f64) {
    let position = (percent / 100.0 * last as f64).clamp(0.0, last as f64);
    (position.floor() as usize, position - position.floor())
}

/// NumPy's `_lerp`, which starts from the nearer end.
fn between(a: f64, b: f64, share: f64) -> f64 {
    let width = b - a;
    match share {
        0.0 => a,
        s if s >= 0.5 => b - width * (1.0 - s),
        s => a + width * s,
    }
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
