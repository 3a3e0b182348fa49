//! Small results on their way to the host: one kernel writes all buffers to mapped pinned memory. One copy for each
//! buffer takes ten times as long for ten columns.

use arrow::buffer::Buffer as HostBuffer;
use onrush_device::{Arguments, Buffer, Grid};
use onrush_kernels::{Program, headers};

use crate::Result;
use crate::launch::launch_grid;
use crate::launch::stream_context::StreamContext;

/// Pieces that a launch takes.
const PIECES: usize = 64;
const THREADS: u32 = 128;

/// The first bytes of some buffers, in the time of one copy if they are few. Waits for the lane.
pub fn gather_to_host(lane: &StreamContext, pieces: &[(&Buffer, usize)]) -> Result<Vec<HostBuffer>> {
    let room = |bytes: usize| bytes.next_multiple_of(64);
    let all: usize = pieces.iter().map(|(_, bytes)| room(*bytes)).sum();
    let is_within = pieces.iter().all(|(buffer, bytes)| *bytes as u64 <= buffer.bytes());
    if pieces.is_empty() || pieces.len() > PIECES || all > StreamContext::ROOM || !is_within {
        let read = |(buffer, bytes): &(&Buffer, usize)| buffer.read::<u8>(0..*bytes, &lane.context.stream);
        return pieces.iter().map(|piece| Ok(HostBuffer::from_slice_ref(read(piece)?))).collect();
    }
    let mut places = Vec::new();
    // For each piece: its address, its length and its destination.
    let mut words = [0_u64; 2 * PIECES];
    let mut at = 0;
    for (number, (buffer, bytes)) in pieces.iter().enumerate() {
        words[2 * number] = buffer.address();
        words[2 * number + 1] = (at as u64) << 32 | *bytes as u64;
        places.push((at, *bytes));
        at += room(*bytes);
    }
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) collect(const Pieces<{}> pieces, u8* room, u32* done, \
         volatile u64* told) {{\n  collect_pieces<{}>(pieces, room, done, told);\n}}\n",
        2 * PIECES,
        StreamContext::DONE,
    );
    let program = Program::new(&[&headers::READBACK], body, ["collect"]);
    let function = lane.context.library.function(&program, "collect")?;
    let arguments = Arguments::new()
        .value(words)
        .value(lane.mailbox.room_address())
        .value(lane.status.done())
        .value(lane.mailbox.address());
    lane.launch_and_wait(|| {
        launch_grid(&lane.context, &function, arguments, &Grid::new(pieces.len() as u32, THREADS))
    })?;
    let copy = |(at, bytes)| HostBuffer::from_slice_ref(lane.mailbox.copy::<u8>(at, bytes));
    Ok(places.into_iter().map(copy).collect())
}
