//! Launches of generated kernels: a grid-stride loop over items, or one tile for each block. Callers choose the
//! kernel and its arguments.

pub mod kernel_cache;
pub mod stream_context;

use onrush_device::{Arguments, Function, Grid};
use onrush_kernels::Context;

use crate::Result;

/// Launches a kernel that loops over `items`, with as many blocks as the device holds at once.
pub fn launch(
    context: &Context,
    function: &Function,
    arguments: Arguments,
    items: u64,
    threads: u32,
    shared: u32,
) -> Result<()> {
    launch_blocks(context, function, arguments, items, (threads, u32::MAX), shared)
}

/// As [`launch`], with at most so many blocks.
pub fn launch_blocks(
    context: &Context,
    function: &Function,
    arguments: Arguments,
    items: u64,
    (threads, most): (u32, u32),
    shared: u32,
) -> Result<()> {
    let resident = function.resident_blocks(threads, shared)?.min(most);
    // One at least: without rows, too, there is a result.
    let blocks = items.div_ceil(u64::from(threads)).clamp(1, u64::from(resident)) as u32;
    let grid = Grid::new(blocks, threads).shared(shared);
    // SAFETY: the arguments were declared with the parameters of this kernel. Buffers among them are as long as the
    // number of rows, slots or blocks that is passed with them. They live until the stream has passed, because they are
    // freed in its order.
    unsafe { function.launch(&grid, arguments, &context.stream)? };
    Ok(())
}

/// Launches a kernel whose blocks take a tile each; one at least, so that there is a result without rows, too.
pub fn launch_tiles(
    context: &Context,
    function: &Function,
    arguments: Arguments,
    tiles: u64,
    threads: u32,
) -> Result<()> {
    launch_grid(context, function, arguments, &Grid::new(tiles.max(1) as u32, threads))
}

/// Launches a kernel as the caller says.
pub fn launch_grid(context: &Context, function: &Function, arguments: Arguments, grid: &Grid) -> Result<()> {
    // SAFETY: as in `launch_blocks`; the state that is passed has a word for each tile, and what is written has been
    // counted before.
    unsafe { function.launch(grid, arguments, &context.stream)? };
    Ok(())
}
