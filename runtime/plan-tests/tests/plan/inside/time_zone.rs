//! Zones' clocks.

use onrush_gpu::inside::time_zone;

/// The changes of 2024 by the tz database: 10 March 07:00 UTC and 3 November 06:00 UTC.
#[test]
fn new_yorks_clocks_in_2024() {
    let zone = time_zone("America/New_York").unwrap();
    let at = |second: i64| zone.offsets[zone.starts.partition_point(|start| *start <= second) - 1];
    assert_eq!((at(1_710_054_000 - 1), at(1_710_054_000)), (-5 * 3600, -4 * 3600));
    assert_eq!((at(1_730_613_600 - 1), at(1_730_613_600)), (-4 * 3600, -5 * 3600));
    assert_eq!(time_zone("+05:30").unwrap().offsets, [19_800]);
    assert!(time_zone("Nowhere/Land").is_none());
}
