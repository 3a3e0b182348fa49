//! Student's t distribution: tails and quantiles.

/// The probability that |t| exceeds this one, with `df` degrees of freedom. NaN if `df` is not positive.
pub fn two_sided(t: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 || t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    let x = df / (df + t * t);
    incomplete_beta(0.5 * df, 0.5, x, t * t / (df + t * t))
}

/// The t that is exceeded with probability `tail`, by bisection: 0 < tail < 0.5.
pub fn quantile(tail: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, df) > 2.0 * tail && high < 1e300 {
        high *= 2.0;
    }
    // Until two neighbouring numbers are reached.
    for _ in 0..1100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        match two_sided(middle, df) > 2.0 * tail {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function by its continued fraction (DLMF 8.17.22, evaluated by Lentz's method). `y`
/// is `1 - x`.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, y, x);
    }
    // The logarithm of a number near 1 follows from the other one, which has more digits.
    let ln = |v: f64, rest: f64| if rest < 0.5 { (-rest).ln_1p() } else { v.ln() };
    let front = (a * ln(x, y) + b * ln(y, x) - ln_beta(a, b)).exp() / a;
    front * fraction(a, b, x)
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        for step in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            value *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// `ln(gamma(a) gamma(b) / gamma(a + b))` (`dlbeta` of SLATEC). From 10 on the logarithm of gamma is Stirling's formula
/// with a correction, so that large parts cancel before they are computed.
fn ln_beta(a: f64, b: f64) -> f64 {
    const LN_SQRT_2_PI: f64 = 0.918_938_533_204_672_8;
    let (p, q) = (a.min(b), a.max(b));
    if q < 10.0 {
        return libm::lgamma(p) + libm::lgamma(q) - libm::lgamma(p + q);
    }
    let correction = stirling(q) - stirling(p + q);
    let log = (-p / (p + q)).ln_1p();
    match p < 10.0 {
        true => libm::lgamma(p) + correction + p - p * (p + q).ln() + (q - 0.5) * log,
        false => LN_SQRT_2_PI - 0.5 * q.ln() + stirling(p) + correction + (p - 0.5) * (p / (p + q)).ln() + q * log,
    }
}

/// The difference between the logarithm of gamma and Stirling's formula, from 10 on (DLMF 5.11.1).
fn stirling(x: f64) -> f64 {
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
    let square = 1.0 / (x * x);
    SERIES.iter().rev().fold(0.0, |sum, factor| sum * square + factor) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_and_quantiles_are_those_of_scipy() {
        // scipy.stats.t 1.17: 2 * t.sf(x, df), and t.ppf(0.975, df).
        let cases = [
            (1.0, 1.0, 0.5),
            (2.5, 10.0, 0.031_446_844_236_608_82),
            (0.001, 3.0, 0.999_264_894_969_460_9),
            (12.0, 431.0, 8.009_055_571_533_866e-29),
            (1.96, 1e6, 0.049_996_067_585_269_85),
        ];
        for (t, df, wanted) in cases {
            let found = two_sided(t, df);
            assert!((found / wanted - 1.0).abs() < 1e-10, "t {t}, df {df}: {found}, expected {wanted}");
        }
        for (df, wanted) in
            [(1.0, 12.706_204_736_174_7), (10.0, 2.228_138_851_986_274), (431.0, 1.965_483_320_339_743_5)]
        {
            let found = quantile(0.025, df);
            assert!((found / wanted - 1.0).abs() < 1e-11, "df {df}: {found}, expected {wanted}");
        }
        assert!(two_sided(1.0, 0.0).is_nan() && quantile(0.025, -1.0).is_nan());
    }
}
