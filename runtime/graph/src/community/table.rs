//! Sums of weights by community: a hash table with open addressing that is emptied by the list of its entries.

const EMPTY: u32 = u32::MAX;

/// Sums by key. Keys are below `u32::MAX`.
#[derive(Default)]
pub(super) struct Table {
    keys: Vec<u32>,
    sums: Vec<u64>,
    /// Places that have a key, in the order in which keys came.
    used: Vec<u32>,
    mask: usize,
}

impl Table {
    /// Empties the table, and enlarges it for `entries` keys.
    pub fn clear(&mut self, entries: usize) {
        for place in self.used.drain(..) {
            self.keys[place as usize] = EMPTY;
        }
        let size = (2 * entries).next_power_of_two().max(16);
        if self.keys.len() < size {
            self.keys.resize(size, EMPTY);
            self.sums.resize(size, 0);
        }
        self.mask = size - 1;
    }

    #[inline]
    pub fn add(&mut self, key: u32, weight: u64) {
        let place = self.place(key);
        if self.keys[place] == key {
            self.sums[place] += weight;
        } else {
            self.keys[place] = key;
            self.sums[place] = weight;
            self.used.push(place as u32);
        }
    }

    /// 0 if the key has no entry.
    pub fn get(&self, key: u32) -> u64 {
        let place = self.place(key);
        if self.keys[place] == key { self.sums[place] } else { 0 }
    }

    /// Keys and sums in the order in which keys came.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.used.iter().map(|place| (self.keys[*place as usize], self.sums[*place as usize]))
    }

    pub fn len(&self) -> usize {
        self.used.len()
    }

    /// The place of a key, or an empty one for it.
    #[inline]
    fn place(&self, key: u32) -> usize {
        let mut place = (key.wrapping_mul(0x9e37_79b1) >> 7) as usize & self.mask;
        while self.keys[place] != key && self.keys[place] != EMPTY {
            place = (place + 1) & self.mask;
        }
        place
    }
}
