//! Seeded pseudorandom number generators: NumPy's MT19937 and the counter-based Philox.
//!
//! [`Mt19937`] is NumPy's legacy generator (`numpy.random.RandomState`; Matsumoto and Nishimura 1998). Shuffles, splits
//! and samples with a seed give the rows of scikit-learn. [`Philox`] is a counter (Salmon, Moraes, Dror and Shaw 2011):
//! the numbers of a row or a node do not depend on which thread asks.

/// `numpy.random.RandomState(seed)`.
pub struct Mt19937 {
    state: [u32; 624],
    next: usize,
    /// The second normal number of a pair.
    gauss: Option<f64>,
}

impl Mt19937 {
    pub fn new(seed: u32) -> Self {
        let mut state = [0u32; 624];
        state[0] = seed;
        for i in 1..624 {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Mt19937 { state, next: 624, gauss: None }
    }

    pub fn next_u32(&mut self) -> u32 {
        if self.next == 624 {
            for i in 0..624 {
                let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
                let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % 624] ^ (y >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// `random_sample()`: in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        let (a, b) = (self.next_u32() >> 5, self.next_u32() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// `random_interval(max)` of NumPy: 0 to `max`, both included, by masked rejection.
    pub fn interval(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        let mask = u64::MAX >> max.leading_zeros();
        loop {
            let value = match max <= u64::from(u32::MAX) {
                true => u64::from(self.next_u32()) & mask,
                false => ((u64::from(self.next_u32()) << 32) | u64::from(self.next_u32())) & mask,
            };
            if value <= max {
                return value;
            }
        }
    }

    /// `randint(low, high)`: `high` is excluded.
    pub fn randint(&mut self, low: u64, high: u64) -> u64 {
        low + self.interval(high - low - 1)
    }

    /// `shuffle(values)`.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            let j = self.interval(i as u64) as usize;
            values.swap(i, j);
        }
    }

    /// `permutation(n)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        self.shuffle(&mut all);
        all
    }

    /// `choice(n, size, replace=False)`: different positions below `n`.
    pub fn choice(&mut self, n: usize, size: usize) -> Vec<usize> {
        let mut all = self.permutation(n);
        all.truncate(size);
        all
    }

    /// `sklearn.utils.random.sample_without_replacement(n, size)`: different numbers below `n`, in the order of that
    /// function. At most `n` of them.
    pub fn sample_without_replacement(&mut self, n: u64, size: usize) -> Vec<u64> {
        let size = size.min(usize::try_from(n).unwrap_or(usize::MAX));
        let ratio = if n == 0 { 1.0 } else { size as f64 / n as f64 };
        if ratio > 0.01 && ratio < 0.99 {
            return self.choice(n as usize, size).into_iter().map(|i| i as u64).collect();
        }
        if ratio < 0.2 {
            let mut taken = std::collections::HashSet::new();
            let mut out = Vec::with_capacity(size);
            while out.len() < size {
                let number = self.randint(0, n);
                if taken.insert(number) {
                    out.push(number);
                }
            }
            return out;
        }
        // Reservoir sampling.
        let mut out: Vec<u64> = (0..size as u64).collect();
        for number in size as u64..n {
            let place = self.randint(0, number + 1);
            if place < size as u64 {
                out[place as usize] = number;
            }
        }
        out
    }

    /// `sklearn.utils.extmath._approximate_mode`: how many of `draws` come from each class, near the mode of the
    /// multivariate hypergeometric distribution. Ties are broken at random.
    pub fn approximate_mode(&mut self, counts: &[usize], draws: usize) -> Vec<usize> {
        let total = counts.iter().sum::<usize>() as f64;
        let continuous: Vec<f64> = counts.iter().map(|n| *n as f64 / total * draws as f64).collect();
        let mut out: Vec<usize> = continuous.iter().map(|c| c.floor() as usize).collect();
        let mut missing = draws.saturating_sub(out.iter().sum::<usize>());
        let rest: Vec<f64> = continuous.iter().map(|c| c - c.floor()).collect();
        let mut values = rest.clone();
        values.sort_by(|a, b| b.total_cmp(a));
        values.dedup();
        for value in values {
            if missing == 0 {
                break;
            }
            let tied: Vec<usize> = (0..counts.len()).filter(|class| rest[*class] == value).collect();
            let add = missing.min(tied.len());
            self.choice(tied.len(), add).into_iter().for_each(|i| out[tied[i]] += 1);
            missing -= add;
        }
        out
    }

    /// `standard_normal()`: the polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(second) = self.gauss.take() {
            return second;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let r = x * x + y * y;
            if r < 1.0 && r != 0.0 {
                let f = (-2.0 * r.ln() / r).sqrt();
                self.gauss = Some(f * x);
                return f * y;
            }
        }
    }
}

/// Philox4x32-10 as a function of a seed and a counter.
#[derive(Clone, Copy, Debug)]
pub struct Philox {
    key: [u32; 2],
}

impl Philox {
    /// `stream` keeps purposes apart.
    pub fn new(seed: u32, stream: u32) -> Self {
        Philox { key: [seed, stream] }
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

    /// In [0, 1), with 53 bits.
    pub fn uniform(&self, high: u64, low: u64) -> f64 {
        let n = self.at([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]);
        let bits = (u64::from(n[0]) << 32 | u64::from(n[1])) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }

    /// An integer below `n`.
    pub fn below(&self, high: u64, low: u64, n: usize) -> usize {
        ((self.uniform(high, low) * n as f64) as usize).min(n - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_numpy() {
        // numpy.random.RandomState(42): random_sample(3), then permutation(10) of another one, randint(0, 1000, 5),
        // standard_normal(3).
        let mut r = Mt19937::new(42);
        let uniform = [r.uniform(), r.uniform(), r.uniform()];
        assert_eq!(uniform, [0.374_540_118_847_362_5, 0.950_714_306_409_916_2, 0.731_993_941_811_405_1]);
        assert_eq!(Mt19937::new(42).permutation(10), [8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
        let mut r = Mt19937::new(0);
        let normal = [r.normal(), r.normal(), r.normal()];
        let wanted = [1.764_052_345_967_664, 0.400_157_208_367_223_3, 0.978_737_984_105_739_4];
        assert!(normal.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-15), "{normal:?}");
    }

    #[test]
    fn the_counter_has_the_vectors_of_random123() {
        // kat_vectors of Random123: philox4x32 10 rounds.
        assert_eq!(Philox { key: [0, 0] }.at([0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let all = u32::MAX;
        assert_eq!(Philox { key: [all, all] }.at([all; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }
}
