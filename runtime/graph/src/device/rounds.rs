//! Loops of kernels: launches in batches, with a look at the loop's state between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_device::{Buffer, CompletionFlag};
use onrush_kernels::{Context, graph};

use super::{DeviceGraph, Result};
use crate::run::Run;

/// Iterations of a batch at most.
const MOST_ITERATIONS: u64 = 16;
/// A batch that takes longer is halved, one that takes a quarter is doubled: the user may stop the work between
/// batches.
const BATCH_TIME: Duration = Duration::from_millis(20);

/// One call of an algorithm on a device: its stream, a completion flag for the state of loops, and the [`Run`]. The
/// stream has passed all of its work when it is dropped.
pub struct DeviceRounds<'a> {
    pub graph: &'a DeviceGraph,
    pub context: &'a Context,
    pub run: &'a Run<'a>,
    flag: Arc<CompletionFlag>,
}

impl<'a> DeviceRounds<'a> {
    /// # Errors
    /// Errors of the device.
    pub fn new(graph: &'a DeviceGraph, context: &'a Context, run: &'a Run<'a>) -> Result<DeviceRounds<'a>> {
        Ok(DeviceRounds { graph, context, run, flag: graph.take_flag(context)? })
    }

    /// Waits for the stream and copies the first words of `state`. About 5 us where the stream is idle.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn look<const N: usize>(&self, state: &Buffer) -> Result<[u64; N]> {
        Ok(graph::look(self.context, &self.flag, state)?)
    }

    /// [`DeviceRounds::look`], and makes the words 0 for the next iteration.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn look_and_clear<const N: usize>(&self, state: &Buffer) -> Result<[u64; N]> {
        Ok(graph::look_and_clear(self.context, &self.flag, state)?)
    }

    /// Waits for the stream, so that results may be read on others.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn finish(&self) -> Result<()> {
        Ok(self.context.stream.synchronize()?)
    }

    /// Calls `step` with 0, 1, ... to enqueue iterations, at most `most`, until the first word of `state` is not 0.
    /// Returns the state. Kernels must do nothing once the word is set: up to 15 more iterations follow.
    ///
    /// `seen` gets the state after each batch, and how many iterations were enqueued. `algorithm` is the name in the
    /// error of a run that the user stops.
    ///
    /// # Errors
    /// If the user stops it, and those of `step` and of the device.
    pub fn until_done<const N: usize>(
        &self,
        algorithm: &str,
        most: u64,
        state: &Buffer,
        mut step: impl FnMut(u64) -> Result<()>,
        mut seen: impl FnMut(&[u64; N], u64),
    ) -> Result<[u64; N]> {
        let (mut done, mut batch) = (0, 2);
        let mut found = [0; N];
        while done < most && found[0] == 0 {
            self.run.check(|| format!("{done} iterations of {algorithm}"))?;
            let begun = Instant::now();
            let end = most.min(done + batch);
            for iteration in done..end {
                step(iteration)?;
            }
            found = self.look(state)?;
            done = end;
            seen(&found, done);
            let took = begun.elapsed();
            if took > BATCH_TIME {
                batch = (batch / 2).max(1);
            } else if took < BATCH_TIME / 4 {
                batch = (2 * batch).min(MOST_ITERATIONS);
            }
        }
        Ok(found)
    }
}

impl Drop for DeviceRounds<'_> {
    fn drop(&mut self) {
        // Buffers of the graph may be freed on other streams afterwards. The next call reports an error.
        let _ = self.context.stream.synchronize();
        self.graph.keep_flag(Arc::clone(&self.flag));
    }
}
