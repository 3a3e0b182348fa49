//! Output of a cell by another process than the cell process. It counts against the same limit.

use std::sync::mpsc::Sender;

use onrush_wire::host::Stream;

use super::Outputs;
use crate::interface::Event;

impl Outputs {
    /// Text of the cell that runs.
    pub fn print(&mut self, stream: Stream, text: String, events: &Sender<Event>) {
        self.limit.send(stream, text, self.cell, &mut self.files, events);
    }

    /// Bytes of the cell that runs.
    pub fn print_bytes(&mut self, stream: Stream, bytes: &[u8], events: &Sender<Event>) {
        let text = self.decoders[stream as usize].decode(bytes);
        self.print(stream, text, events);
    }

    /// Bytes of a cell that has ended.
    pub fn print_late(&mut self, cell: u64, stream: Stream, bytes: &[u8], events: &Sender<Event>) {
        self.piece(cell, stream, bytes, events);
    }
}
