//! Test values: random ones, extremes, NaN and signed zeros, and patterns of nulls. The same in every run.

use onrush_device::Pod;

use crate::scalar::Scalar;

/// A small generator (splitmix64), so that cases are the same everywhere.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }
}

/// A type of values with its edge cases.
pub trait Value: Pod + PartialEq + std::fmt::Debug {
    const SCALAR: Scalar;

    /// One in eight is an extreme.
    fn random(random: &mut Random) -> Self;

    fn column(random: &mut Random, rows: usize) -> Vec<Self> {
        (0..rows).map(|_| Self::random(random)).collect()
    }
}

macro_rules! integers {
    ($($type:ident $scalar:ident)*) => {
        $(
            impl Value for $type {
                const SCALAR: Scalar = Scalar::$scalar;

                fn random(random: &mut Random) -> Self {
                    let extremes = [$type::MIN, $type::MAX, 0, 1, $type::MAX / 2, $type::MIN.wrapping_add(1)];
                    match random.next_u64() {
                        bits if bits % 8 == 0 => extremes[(bits / 8 % 6) as usize],
                        bits => (bits as $type) ^ (random.next_u64() as $type).wrapping_mul(3),
                    }
                }
            }
        )*
    };
}
integers!(i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);

impl Value for i128 {
    const SCALAR: Scalar = Scalar::I128;

    fn random(random: &mut Random) -> Self {
        let extremes = [i128::MIN, i128::MAX, 0, -1, 1, 10_i128.pow(38) - 1];
        match random.next_u64() {
            bits if bits % 8 == 0 => extremes[(bits / 8 % 6) as usize],
            bits => (i128::from(bits as i64) << 64) | i128::from(random.next_u64()),
        }
    }
}

macro_rules! floats {
    ($($type:ident $scalar:ident)*) => {
        $(
            impl Value for $type {
                const SCALAR: Scalar = Scalar::$scalar;

                fn random(random: &mut Random) -> Self {
                    let extremes =
                        [0.0, -0.0, $type::NAN, -$type::NAN, $type::INFINITY, $type::NEG_INFINITY, $type::MIN_POSITIVE, $type::MAX];
                    match random.next_u64() {
                        bits if bits % 64 == 0 => extremes[(bits / 64 % 8) as usize],
                        bits => ((bits >> 20) as i64 - (1 << 43)) as $type / 1024.0,
                    }
                }
            }
        )*
    };
}
floats!(f32 F32 f64 F64);

/// Patterns of valid rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// No bitmap at all.
    Absent,
    None,
    All,
    Alternating,
    Random,
    /// Only the first and the last row have one.
    Ends,
}

impl Nulls {
    pub const ALL: [Nulls; 6] =
        [Nulls::Absent, Nulls::None, Nulls::All, Nulls::Alternating, Nulls::Random, Nulls::Ends];

    pub fn valid(self, random: &mut Random, rows: usize) -> Vec<bool> {
        (0..rows)
            .map(|row| match self {
                Nulls::Absent | Nulls::None => true,
                Nulls::All => false,
                Nulls::Alternating => row % 2 == 0,
                Nulls::Random => random.below(3) > 0,
                Nulls::Ends => row == 0 || row + 1 == rows,
            })
            .collect()
    }
}

/// Words of a bitmap whose bits start at `first`. The other bits are random: kernels must ignore them.
pub fn bitmap(random: &mut Random, bits: &[bool], first: usize) -> Vec<u32> {
    let mut words: Vec<u32> = (0..(first + bits.len()).div_ceil(32).max(1)).map(|_| random.next_u64() as u32).collect();
    for (row, bit) in bits.iter().enumerate() {
        let at = first + row;
        let mask = 1 << (at % 32);
        if *bit { words[at / 32] |= mask } else { words[at / 32] &= !mask }
    }
    words
}
