//! Launches of grid-stride kernels.

use onrush_device::{Arguments, Function, Grid};

use crate::error::Result;
use crate::library::Context;

/// As many blocks as the items need, and no more than are resident at once.
pub(crate) fn fill(
    context: &Context,
    function: &Function,
    arguments: Arguments,
    items: u64,
    threads: u32,
    shared: u32,
) -> Result<()> {
    let most = function.resident_blocks(threads, shared)?;
    let blocks = items.div_ceil(u64::from(threads)).min(u64::from(most)) as u32;
    // SAFETY: the callers pass the parameters of their programs. Tables and outputs have the lengths that are passed,
    // and columns are views inside of their buffers.
    unsafe { function.launch(&Grid::new(blocks, threads).shared(shared), arguments, &context.stream)? };
    Ok(())
}
