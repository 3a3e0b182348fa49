//! A cache of large blocks that were freed: the next allocation of the same size on the same stream gets one. The
//! driver's pool would split blocks for smaller allocations and map memory anew if the pieces do not fit. After queries
//! of other sizes that costs a query milliseconds. This module decides which blocks are cached; the caller frees the
//! others.

use std::collections::VecDeque;

use crate::backend::Handle;
use crate::ledger::UNIT;

/// Smaller ones are left to the driver, whose pool has pieces enough for them.
const MIN_BLOCK_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub address: u64,
    bytes: u64,
    pub stream: Handle,
}

/// The oldest first.
#[derive(Default)]
pub struct BlockCache {
    blocks: VecDeque<Block>,
    bytes: u64,
    limit: u64,
}

impl BlockCache {
    /// Keeps so many bytes at most from here on.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The block of this size that was freed last on the stream: its memory is used in that stream's order, as the
    /// driver's is.
    pub fn take(&mut self, bytes: u64, stream: Handle) -> Option<u64> {
        let bytes = bytes.next_multiple_of(UNIT);
        let fits = |block: &Block| block.bytes == bytes && block.stream == stream;
        let at = self.blocks.iter().rposition(fits)?;
        self.bytes -= bytes;
        self.blocks.remove(at).map(|block| block.address)
    }

    /// A block that is freed. Returns the blocks that do not stay: this one or older ones.
    pub fn put(&mut self, address: u64, bytes: u64, stream: Handle) -> Vec<Block> {
        let block = Block { address, bytes: bytes.next_multiple_of(UNIT), stream };
        if block.bytes < MIN_BLOCK_BYTES || block.bytes > self.limit {
            return vec![block];
        }
        self.bytes += block.bytes;
        self.blocks.push_back(block);
        let mut rest = Vec::new();
        while self.bytes > self.limit
            && let Some(oldest) = self.blocks.pop_front()
        {
            self.bytes -= oldest.bytes;
            rest.push(oldest);
        }
        rest
    }

    /// All of them, or those of one stream.
    pub fn drain(&mut self, stream: Option<Handle>) -> Vec<Block> {
        let (gone, left) = self.blocks.drain(..).partition(|block| stream.is_none_or(|stream| block.stream == stream));
        self.blocks = left;
        self.bytes = self.blocks.iter().map(|block| block.bytes).sum();
        Vec::from(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Handle = Handle(1);
    const B: Handle = Handle(2);

    fn addresses(blocks: &[Block]) -> Vec<u64> {
        blocks.iter().map(|block| block.address).collect()
    }

    #[test]
    fn a_block_is_taken_by_its_size_and_stream() {
        let mut kept = BlockCache::default();
        kept.set_limit(8 << 20);
        for (address, bytes, stream) in [
            (1, MIN_BLOCK_BYTES, A),
            (2, 2 * MIN_BLOCK_BYTES - 100, A),
            (3, MIN_BLOCK_BYTES, A),
            (4, MIN_BLOCK_BYTES, B),
        ] {
            assert_eq!(kept.put(address, bytes, stream), []);
        }
        assert_eq!(kept.take(MIN_BLOCK_BYTES, A), Some(3), "the last one: its memory may be in the cache");
        assert_eq!(kept.take(MIN_BLOCK_BYTES, A), Some(1));
        assert_eq!(kept.take(MIN_BLOCK_BYTES, A), None);
        assert_eq!(kept.take(2 * MIN_BLOCK_BYTES, A), Some(2), "of the units in which memory is handed out");
        assert_eq!(kept.take(MIN_BLOCK_BYTES, B), Some(4));
        assert_eq!(kept.bytes, 0);
    }

    #[test]
    fn the_oldest_go_and_small_or_huge_ones_are_not_kept() {
        let mut kept = BlockCache::default();
        assert_eq!(addresses(&kept.put(1, MIN_BLOCK_BYTES, A)), [1], "nothing before there is a limit");
        kept.set_limit(4 * MIN_BLOCK_BYTES);
        assert_eq!(addresses(&kept.put(2, MIN_BLOCK_BYTES - UNIT, A)), [2]);
        assert_eq!(addresses(&kept.put(3, 4 * MIN_BLOCK_BYTES + 1, A)), [3]);
        for address in 4..8 {
            assert_eq!(kept.put(address, MIN_BLOCK_BYTES, A), []);
        }
        assert_eq!(addresses(&kept.put(8, 2 * MIN_BLOCK_BYTES, A)), [4, 5]);
        assert_eq!(kept.bytes, 4 * MIN_BLOCK_BYTES);
    }

    #[test]
    fn a_stream_takes_its_blocks_along() {
        let mut kept = BlockCache::default();
        kept.set_limit(8 * MIN_BLOCK_BYTES);
        for (address, stream) in [(1, A), (2, B), (3, A)] {
            assert_eq!(kept.put(address, MIN_BLOCK_BYTES, stream), []);
        }
        assert_eq!(addresses(&kept.drain(Some(A))), [1, 3]);
        assert_eq!((kept.take(MIN_BLOCK_BYTES, A), kept.bytes), (None, MIN_BLOCK_BYTES));
        assert_eq!(addresses(&kept.drain(None)), [2]);
        assert_eq!(kept.bytes, 0);
    }
}
