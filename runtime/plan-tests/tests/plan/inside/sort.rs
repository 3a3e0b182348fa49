//! Sorts by words.

use onrush_parallel::inside::{Entry, RADIX, sort};

#[test]
fn both_sorts_are_stable() {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    for bits in [3, 8, 17, 40, 64] {
        for rows in [10, RADIX - 1, RADIX, 3 * RADIX] {
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            let word = |random: &mut dyn FnMut() -> u64| (random() << 33 ^ random() << 7 ^ random()) & mask;
            let mut entries: Vec<Entry> =
                (0..rows as u64).map(|place| Entry { word: word(&mut random), place }).collect();
            let mut expected: Vec<(u64, u64)> = entries.iter().map(|entry| (entry.word, entry.place)).collect();
            expected.sort();
            sort(&mut entries, &mut Vec::new());
            let sorted: Vec<(u64, u64)> = entries.iter().map(|entry| (entry.word, entry.place)).collect();
            assert_eq!(sorted, expected, "{bits} bits, {rows} rows");
        }
    }
}
