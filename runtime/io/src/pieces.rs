//! Files are read as pieces that depend on the file alone, by all cores, in file order.
//!
//! Rows, batches and errors are thus the same on any number of cores.

use std::ops::Range;

use std::sync::atomic::{AtomicUsize, Ordering};

use onrush_frame::{CancelError, TaskHandle};
use parking_lot::Mutex;

/// Rows of a batch in memory: of a Parquet file rows `i * CHUNK..(i + 1) * CHUNK`, of a large text file about as many.
pub(crate) const CHUNK: usize = 131_072;
/// Bytes of text that one core takes at a time, at least.
const PIECE: usize = 2 << 20;
/// A text file is cut into no fewer pieces for the sake of larger batches: each core of a large machine has some.
const PIECES: usize = 64;
/// Bytes at the start of a text file whose lines say how long a line is.
const SAMPLE: usize = 64 << 10;

/// How a file is divided and by how many threads it is read. The result never depends on `threads`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    pub threads: usize,
    /// Bytes of text.
    pub piece: usize,
    /// Rows of a batch.
    pub chunk: usize,
}

impl Default for Division {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Division { threads, piece: PIECE, chunk: CHUNK }
    }
}

impl Division {
    /// Bytes of a piece of this text. Pieces of a large file have the lines of a batch, if [`PIECES`] of them remain.
    pub fn bytes(&self, text: &[u8]) -> usize {
        let sample = &text[..text.len().min(SAMPLE)];
        let lines = memchr::memchr_iter(b'\n', sample).count().max(1);
        let batch = (sample.len() / lines).saturating_mul(self.chunk);
        batch.min(text.len() / PIECES).max(self.piece)
    }

    /// Runs `work` for every job on the threads.
    ///
    /// Returns the results in the order of the jobs, up to and with the earliest error. The error thus does not depend
    /// on timing.
    pub fn run<J: Sync, T: Send, E: Send + From<CancelError>>(
        &self,
        jobs: &[J],
        task: &TaskHandle,
        work: impl Fn(&J) -> Result<T, E> + Sync,
    ) -> Vec<Result<T, E>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Option<Result<T, E>>>> = Mutex::new((0..jobs.len()).map(|_| None).collect());
        let worker = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(i) else { return };
                let result = task.check().map_err(E::from).and_then(|()| work(job));
                if result.is_err() {
                    // No further jobs; the jobs before this one have started and will end.
                    next.store(jobs.len(), Ordering::Relaxed);
                }
                done.lock()[i] = Some(result);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(jobs.len()) {
                scope.spawn(worker);
            }
            worker();
        });
        let done = done.into_inner();
        let mut results = Vec::with_capacity(jobs.len());
        for result in done.into_iter().map_while(|result| result) {
            let failed = result.is_err();
            results.push(result);
            if failed {
                break;
            }
        }
        results
    }
}

/// Ranges of about `piece` bytes that end after a line feed or at the end of the text.
pub(crate) fn lines(text: &[u8], piece: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(text.len() / piece.max(1) + 1);
    let mut start = 0;
    while start < text.len() {
        let from = (start + piece.max(1) - 1).min(text.len());
        let end = memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |i| from + i + 1);
        pieces.push(start..end);
        start = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use onrush_wire::{Class, Diagnostic};

    use super::*;

    #[test]
    fn lines_are_never_cut() {
        let cut = |piece| lines(b"ab\n\ncde\nf", piece);
        assert_eq!(cut(1), [0..3, 3..4, 4..8, 8..9]);
        assert_eq!(cut(3), [0..3, 3..8, 8..9]);
        assert_eq!(cut(4), [0..4, 4..8, 8..9]);
        assert_eq!(cut(100), vec![0..9; 1]);
        assert!(lines(b"", 4).is_empty());
    }

    #[test]
    fn pieces_grow_with_the_file() {
        let division = Division { threads: 1, piece: 1000, chunk: 50 };
        assert_eq!(division.bytes(&b"0123456789abcdef\n".repeat(100)), 1000);
        // 64 pieces of a larger file.
        assert_eq!(division.bytes(&b"0123456789abcde\n".repeat(40_000)), 1000);
        let long = [vec![b'x'; 999], vec![b'\n']].concat();
        assert_eq!(division.bytes(&long.repeat(640)), 10_000);
        assert_eq!(division.bytes(&long.repeat(6400)), 50 * 1008);
    }

    #[test]
    fn the_earliest_error_wins() {
        let jobs: Vec<usize> = (0..100).collect();
        for threads in [1, 2, 3, 16] {
            let division = Division { threads, ..Division::default() };
            let results = division.run(&jobs, &TaskHandle::new(), |job| match job {
                30 | 31 | 90 => Err(Diagnostic::error(Class::Data, "x", job.to_string())),
                job => Ok(*job),
            });
            assert_eq!(results.len(), 31);
            assert_eq!(results[30].as_ref().unwrap_err().message, "30");
        }
    }
}
