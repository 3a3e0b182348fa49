//! Powers of ten in 128 bits.

use onrush_gpu::inside::upper;

/// Hand calculations, and what Python says: `-(-2**(127 + n.bit_length()) // n)` of `n = 10**292`, and likewise of
/// 10**324.
#[test]
fn powers_are_rounded_up() {
    assert_eq!(upper(0), 1 << 127);
    assert_eq!(upper(1), 10 << 124);
    assert_eq!(upper(27), 10_u128.pow(27) << 38);
    // 2^130 / 10 = 0xcccc...cc.c.
    assert_eq!(upper(-1), 0xcccc_cccc_cccc_cccc_cccc_cccc_cccc_cccd);
    assert_eq!(upper(-292), 0xff77_b1fc_bebc_dc4f_25e8_e89c_13bb_0f7b);
    assert_eq!(upper(324), 0x9e19_db92_b4e3_1ba9_6c07_a2c2_6a83_46d2);
}
