//! Draws of samples.

use onrush_logical::ops::sample::{Amount, draws};

/// By the definition of a sample with replacement: its size, and about 1/e of the rows left out of one as large as the
/// frame.
#[test]
fn draws_are_spread_evenly() {
    let counts = draws(10_000, Amount::Rows(10_000), 7);
    assert_eq!(counts.iter().sum::<u32>(), 10_000);
    let never = counts.iter().filter(|c| **c == 0).count() as f64 / 10_000.0;
    assert!((never - 0.3679).abs() < 0.02, "{never}");
    assert_eq!(draws(10, Amount::Millionths(2_500_000), 1).iter().sum::<u32>(), 25);
    assert_eq!(draws(0, Amount::Rows(5), 1), [0u32; 0]);
    assert_eq!(draws(100, Amount::Rows(9), 3), draws(100, Amount::Rows(9), 3));
}
