//! Powers of ten, by which kernels write floats.

use std::cmp::Ordering;
use std::sync::LazyLock;

use onrush_ops::Lookup;

/// Exponents that the shortest digits of 64-bit floats need.
const MIN_EXPONENT: i32 = -292;
const MAX_EXPONENT: i32 = 324;
/// 64-bit words that hold the largest power, and a bit more.
const WORDS: usize = 18;

/// The upper 128 bits of each power, rounded up, in the form of `cuda/string_conversions.cuh`.
pub fn of_ten() -> Lookup {
    static TABLE: LazyLock<Lookup> = LazyLock::new(|| {
        let words = (MIN_EXPONENT..=MAX_EXPONENT).flat_map(|exponent| {
            let bits = upper(exponent);
            [(bits >> 64) as u64, bits as u64]
        });
        Lookup::constant(&words.flat_map(u64::to_le_bytes).collect::<Vec<_>>())
    });
    TABLE.clone()
}

/// The smallest number of 128 bits that is at least the power times some power of two.
pub fn upper(exponent: i32) -> u128 {
    let power = Large::power_of_ten(exponent.unsigned_abs());
    if exponent < 0 { power.reciprocal() } else { power.upper() }
}

/// An unsigned integer, lowest word first.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Large([u64; WORDS]);

impl Large {
    fn power_of_ten(exponent: u32) -> Large {
        let mut power = Large([0; WORDS]);
        power.0[0] = 1;
        for _ in 0..exponent {
            let mut carry = 0;
            for word in &mut power.0 {
                let product = u128::from(*word) * 10 + carry;
                *word = product as u64;
                carry = product >> 64;
            }
        }
        power
    }

    fn bits(&self) -> usize {
        let top = self.0.iter().rposition(|word| *word != 0).unwrap_or(0);
        64 * top + 64 - self.0[top].leading_zeros() as usize
    }

    fn bit(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    fn upper(&self) -> u128 {
        let bits = self.bits();
        let upper = (0..128).fold(0, |upper, i| upper << 1 | u128::from(i < bits && self.bit(bits - 1 - i)));
        let is_more = (128..bits).any(|i| self.bit(bits - 1 - i));
        upper + u128::from(is_more)
    }

    /// The upper bits of a power of two divided by this, which is none.
    fn reciprocal(&self) -> u128 {
        let mut rest = Large([0; WORDS]);
        rest.0[self.bits() / 64] = 1 << (self.bits() % 64);
        let mut quotient = 0_u128;
        for _ in 0..128 {
            let fits = rest.compare(self) != Ordering::Less;
            if fits {
                rest.subtract(self);
            }
            quotient = quotient << 1 | u128::from(fits);
            rest.double();
        }
        // Never exact: ten has a factor that two has not.
        quotient + 1
    }

    fn compare(&self, other: &Large) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }

    fn subtract(&mut self, other: &Large) {
        let mut borrowed = false;
        for (word, other) in self.0.iter_mut().zip(other.0) {
            let (less, first) = word.overflowing_sub(other);
            let (less, second) = less.overflowing_sub(u64::from(borrowed));
            (*word, borrowed) = (less, first || second);
        }
    }

    fn double(&mut self) {
        let mut carry = 0;
        for word in &mut self.0 {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
    }
}
