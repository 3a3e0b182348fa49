//! Random numbers that repeat: a function of a seed and a counter, so that they do not depend on which thread asks.

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011).
#[derive(Clone, Copy, Debug)]
pub struct Philox {
    key: [u32; 2],
}

impl Philox {
    pub fn new(seed: u64) -> Self {
        Philox { key: [seed as u32, (seed >> 32) as u32] }
    }

    /// Four numbers for a counter.
    pub fn at(&self, counter: [u32; 4]) -> [u32; 4] {
        let (mut c, mut k) = (counter, self.key);
        for _ in 0..10 {
            let a = u64::from(c[0]) * 0xd251_1f53;
            let b = u64::from(c[2]) * 0xcd9e_8d57;
            c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
            k = [k[0].wrapping_add(0x9e37_79b9), k[1].wrapping_add(0xbb67_ae85)];
        }
        c
    }

    /// Two numbers in [0, 1), with 53 bits.
    pub fn uniform(&self, high: u64, low: u64) -> [f64; 2] {
        let n = self.at([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]);
        let number = |a: u32, b: u32| ((u64::from(a) << 32 | u64::from(b)) >> 11) as f64 / (1u64 << 53) as f64;
        [number(n[0], n[1]), number(n[2], n[3])]
    }
}
