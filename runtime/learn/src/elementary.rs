//! Elementary functions without branches, so that the compiler computes several values at once. The C library takes
//! one value at a time.

/// The exponential by Taylor's series after the reduction to a power of two, up to two units in the last place.
#[inline(always)]
pub fn exp(z: f64) -> f64 {
    // Rounds to an integer, which is then in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);
    let z = z.clamp(-708.0, 709.0);
    let shifted = z * std::f64::consts::LOG2_E + ROUND;
    let power = shifted - ROUND;
    let r = (z - power * LN_2.0) - power * LN_2.1;
    let mut sum = 1.0 / 6_227_020_800.0;
    for factor in SERIES {
        sum = sum * r + factor;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// 1 / n! from n = 12 down to 0.
const SERIES: [f64; 13] = [
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// The hyperbolic tangent by one exponential, near 0 by its series.
#[inline(always)]
pub fn tanh(z: f64) -> f64 {
    let (size, square) = (z.abs(), z * z);
    let near = z * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 + square * (-17.0 / 315.0))));
    let value = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    if size < 0.02 { near } else { value.copysign(z) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_library() {
        for i in -2000..2000 {
            let z = f64::from(i) * 0.0107;
            assert!((exp(z) / z.exp() - 1.0).abs() <= 1e-15, "{z}: {} and {}", exp(z), z.exp());
            assert!((tanh(z) - z.tanh()).abs() <= 4e-16, "{z}: {} and {}", tanh(z), z.tanh());
        }
        assert!(tanh(f64::NAN).is_nan());
        assert_eq!((tanh(1e-300), tanh(-800.0)), (1e-300, -1.0));
    }
}
