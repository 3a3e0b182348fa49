//! A cell that another process runs, such as Python: what it prints is output of the cell.

use std::sync::mpsc::Sender;

use onrush_wire::host::Stream;

use super::CellProcess;
use crate::interface::Event;

impl CellProcess {
    /// Text of the cell that runs, by another process than the cell process.
    pub fn print(&mut self, stream: Stream, text: String, events: &Sender<Event>) {
        self.ends.outputs.print(stream, text, events);
    }

    /// The same as bytes, of which some may be no text.
    pub fn print_bytes(&mut self, stream: Stream, bytes: &[u8], events: &Sender<Event>) {
        self.ends.outputs.print_bytes(stream, bytes, events);
    }

    /// Text of a cell that has ended, by another process than the cell process.
    pub fn print_late(&mut self, cell: u64, stream: Stream, bytes: &[u8], events: &Sender<Event>) {
        self.ends.outputs.print_late(cell, stream, bytes, events);
    }

    /// Passes on what threads of earlier cells print while another process runs the cell.
    pub fn drain(&mut self, events: &Sender<Event>) {
        self.ends.outputs.drain(events, &mut self.ends.control);
    }

    /// Another process has ended the cell: what was held back of its output is shown.
    pub fn finish_prints(&mut self, events: &Sender<Event>) {
        self.ends.outputs.finish(events);
    }
}
