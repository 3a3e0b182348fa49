//! Random numbers.

use onrush_graph::random::Philox;

#[test]
fn the_counter_has_the_vectors_of_random123() {
    // kat_vectors of Random123: philox4x32 10 rounds.
    assert_eq!(Philox::new(0).at([0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let all = u32::MAX;
    assert_eq!(Philox::new(u64::MAX).at([all; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
}
