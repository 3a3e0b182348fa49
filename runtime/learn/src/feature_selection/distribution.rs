//! Tails of the F and the chi-squared distribution, and the digamma function.

use crate::linear::t_distribution::incomplete_beta;

/// The probability that an F with these degrees of freedom exceeds `f`. NaN if one of them is not positive, and for a
/// negative `f`.
pub fn f_tail(f: f64, numerator: f64, denominator: f64) -> f64 {
    if f.is_nan() || f < 0.0 || numerator <= 0.0 || denominator <= 0.0 {
        return f64::NAN;
    }
    if f.is_infinite() {
        return 0.0;
    }
    let all = denominator + numerator * f;
    incomplete_beta(0.5 * denominator, 0.5 * numerator, denominator / all, numerator * f / all)
}

/// The probability that a chi-squared with `df` degrees of freedom exceeds `x`. It is the regularised upper incomplete
/// gamma function, by its series or its continued fraction (DLMF 8.7.1 and 8.9.2, evaluated by Lentz's method).
pub fn chi2_tail(x: f64, df: f64) -> f64 {
    if x.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (a, x) = (0.5 * df, 0.5 * x);
    let front = (a * x.ln() - x - libm::lgamma(a)).exp();
    match x < a + 1.0 {
        true => 1.0 - front * lower_series(a, x),
        false => front * upper_fraction(a, x),
    }
}

fn lower_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
    while term > sum * 1e-17 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum
}

fn upper_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / away(b);
    let mut value = d;
    for i in 1..100_000 {
        let i = f64::from(i);
        let step = -i * (i - a);
        b += 2.0;
        d = 1.0 / away(step * d + b);
        c = away(b + step / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The derivative of the logarithm of gamma, for positive numbers: the recurrence up to 10, then the asymptotic series
/// (DLMF 5.5.2 and 5.11.2).
pub fn digamma(mut x: f64) -> f64 {
    const SERIES: [f64; 6] = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0];
    let mut below = 0.0;
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = SERIES.iter().rev().fold(0.0, |sum, factor| (sum + factor) * square);
    x.ln() - 0.5 / x - series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_scipy() {
        // scipy.special 1.17: fdtrc(dfn, dfd, x), chdtrc(v, x), digamma(x).
        let f = [
            (2.0, 147.0, 119.26, 1.672_537_935_447_384_4e-31),
            (1.0, 440.0, 0.5, 0.479_874_440_677_670_6),
            (1.0, 98_998.0, 3.2, 0.073_641_326_498_475_88),
            (5.0, 100_000.0, 10.0, 1.393_488_167_337_387_5e-9),
            (30.0, 12.0, 0.7, 0.792_631_712_654_097_8),
            (1.0, 4.0, 1_000_000.0, 5.999_960_000_209_998e-12),
            (9.0, 1_787.0, 1.0, 0.437_737_817_521_288_5),
        ];
        let chi2 = [
            (1.0, 0.3, 0.583_882_420_770_365),
            (2.0, 15.4, 0.000_452_827_182_886_797_06),
            (9.0, 120.0, 1.336_164_776_532_522e-21),
            (9.0, 5.0, 0.834_308_260_193_407_5),
            (1.0, 1_000.0, 1.795_832_784_800_736_3e-219),
            (150.0, 160.0, 0.273_157_805_291_926_07),
        ];
        let psi = [
            (1.0, -0.577_215_664_901_532_9),
            (0.5, -1.963_510_026_021_423_5),
            (3.0, 0.922_784_335_098_467_1),
            (9.5, 2.197_737_876_402_949_4),
            (10.0, 2.251_752_589_066_721),
            (150.0, 5.007_298_257_075_679),
            (100_000.0, 11.512_920_464_961_896),
        ];
        for (numerator, denominator, x, wanted) in f {
            let found = f_tail(x, numerator, denominator);
            assert!((found / wanted - 1.0).abs() < 1e-11, "F({numerator}, {denominator}) {x}: {found}, not {wanted}");
        }
        for (df, x, wanted) in chi2 {
            let found = chi2_tail(x, df);
            assert!((found / wanted - 1.0).abs() < 1e-11, "chi2({df}) {x}: {found}, not {wanted}");
        }
        for (x, wanted) in psi {
            let found = digamma(x);
            assert!((found - wanted).abs() < 1e-13 * wanted.abs().max(1.0), "{x}: {found}, not {wanted}");
        }
        assert!(f_tail(-1.0, 1.0, 2.0).is_nan() && chi2_tail(f64::NAN, 1.0).is_nan() && f_tail(1.0, 1.0, 0.0).is_nan());
        assert_eq!((f_tail(f64::INFINITY, 2.0, 3.0), chi2_tail(0.0, 1.0)), (0.0, 1.0));
    }
}
