//! What a cell prints: pieces from the output pipe become text events in their order, bytes that are no UTF-8 become `\xNN`,
//! evcxr's content blocks become displays, and what is over the limit goes to a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use onrush_wire::display::{Content, Display};
use onrush_wire::host::{FromHost, OutputHeader, Stream};

use super::descriptors::{MessageReader, nonblocking};
use crate::executor::Event;
use crate::generate::SourceMap;
use crate::types::without_crates;

/// Text of one cell that is shown; the rest is written to a file.
const SHOWN: usize = 2 << 20;
/// What is written there at most: a loop that prints must not fill the disk.
const WRITTEN: usize = 1 << 30;
/// Reads of one [`Outputs::drain`]: more than a pipe holds, so that all that was written before is seen, and not without an end
/// where a cell prints faster than it is read.
const READS: usize = 64;
/// As in `kernel/onrush`: a piece that stands for a message on the control socket.
const MARKER: u8 = 3;
const BEGIN: &str = "EVCXR_BEGIN_CONTENT";
const END: &str = "EVCXR_END_CONTENT";

pub struct Outputs {
    framed: File,
    plain: [File; 2],
    bytes: Vec<u8>,
    decoders: [Decoder; 2],
    contents: Contents,
    limit: Limit,
    stderr_tail: String,
    places: Places,
}

/// How the columns of generated files lead to the user's.
#[derive(Clone, Debug, Default)]
pub struct Places(pub BTreeMap<String, SourceMap>);

impl Places {
    /// Replaces the column in every `cell_3.rs:1:190`.
    fn users(&self, text: String) -> String {
        if !text.contains(".rs:") {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(".rs:") {
            let name_start = rest[..at].rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |i| i + 1);
            let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let line_start = at + 4;
            let line_end = line_start + digits(&rest[line_start..]);
            let map = self.0.get(&rest[name_start..at + 3]);
            let column_start = line_end + 1;
            let column = rest[line_end..]
                .strip_prefix(':')
                .map(|s| &s[..digits(s)])
                .and_then(|s| Some((s, s.parse::<u32>().ok()?)));
            match (map, rest[line_start..line_end].parse::<u32>(), column) {
                (Some(map), Ok(line), Some((written, column))) => {
                    out.push_str(&rest[..column_start]);
                    out.push_str(&map.column(line, column).to_string());
                    rest = &rest[column_start + written.len()..];
                }
                _ => {
                    out.push_str(&rest[..line_start]);
                    rest = &rest[line_start..];
                }
            }
        }
        out.push_str(rest);
        out
    }
}

impl Outputs {
    pub fn new(framed: File, plain: [File; 2]) -> io::Result<Self> {
        for file in [&framed, &plain[0], &plain[1]] {
            nonblocking(file.as_raw_fd())?;
        }
        Ok(Outputs {
            framed,
            plain,
            bytes: Vec::new(),
            decoders: Default::default(),
            contents: Contents::default(),
            limit: Limit::default(),
            stderr_tail: String::new(),
            places: Places::default(),
        })
    }

    pub fn begin(&mut self, cell: u64, overflow: &Path, places: Places) {
        self.places = places;
        self.limit = Limit {
            shown: 0,
            path: overflow.join(format!("output-{}-cell_{cell}.txt", std::process::id())),
            file: None,
        };
        self.stderr_tail.clear();
    }

    pub fn descriptors(&self) -> Vec<RawFd> {
        vec![self.framed.as_raw_fd(), self.plain[0].as_raw_fd(), self.plain[1].as_raw_fd()]
    }

    /// The last text on standard error, where the runtime says why it aborts.
    pub fn stderr_tail(&self) -> &str {
        &self.stderr_tail
    }

    /// Passes on everything that is there. A marker takes the message that it stands for from `control`.
    pub fn drain(&mut self, events: &Sender<Event>, control: &mut MessageReader) {
        let mut buffer = [0u8; 65536];
        for _ in 0..READS {
            match self.framed.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            }
            self.pieces(events, control);
        }
        for (i, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            for _ in 0..READS {
                match self.plain[i].read(&mut buffer) {
                    Ok(n) if n > 0 => self.text(stream, &buffer[..n], events),
                    _ => break,
                }
            }
        }
    }

    fn pieces(&mut self, events: &Sender<Event>, control: &mut MessageReader) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = bytes.as_slice();
        // Neighbouring pieces of one stream are one event.
        let mut run: Option<(Stream, Vec<u8>)> = None;
        while let Some((header, body)) = rest.split_first_chunk::<{ OutputHeader::LEN }>() {
            if header[0] == MARKER {
                if let Some((stream, text)) = run.take() {
                    self.text(stream, &text, events);
                }
                self.flush_decoders(events);
                match control.wait_for_output() {
                    Ok(FromHost::Display(mut display)) => {
                        if let Content::Text(text) | Content::Plan(text) = &mut display.content {
                            *text = named(std::mem::take(text));
                        }
                        let _ = events.send(Event::Display(display));
                    }
                    Ok(FromHost::Capture) => drop(events.send(Event::Capture)),
                    Ok(FromHost::ClearOutput { wait }) => drop(events.send(Event::ClearOutput { wait })),
                    _ => {}
                }
                rest = body;
                continue;
            }
            let Some(header) = OutputHeader::from_bytes(*header) else {
                // Not our framing: a cell wrote to the descriptor itself.
                rest = &rest[1..];
                continue;
            };
            let length = header.length as usize;
            if body.len() < length {
                break;
            }
            match &mut run {
                Some((stream, text)) if *stream == header.stream => text.extend_from_slice(&body[..length]),
                _ => {
                    if let Some((stream, text)) = run.replace((header.stream, body[..length].to_vec())) {
                        self.text(stream, &text, events);
                    }
                }
            }
            rest = &body[length..];
        }
        self.bytes = rest.to_vec();
        if let Some((stream, text)) = run {
            self.text(stream, &text, events);
        }
    }

    fn text(&mut self, stream: Stream, bytes: &[u8], events: &Sender<Event>) {
        let text = self.decoders[stream as usize].decode(bytes);
        if stream == Stream::Stderr {
            self.stderr_tail.push_str(&text);
            let over = self.stderr_tail.len().saturating_sub(2000);
            let cut = (over..self.stderr_tail.len()).find(|&i| self.stderr_tail.is_char_boundary(i)).unwrap_or(0);
            self.stderr_tail.drain(..cut);
            let text = named(self.places.users(text));
            self.limit.send(stream, text, events);
        } else {
            self.contents.feed(&named(text), &mut self.limit, events);
        }
    }

    fn flush_decoders(&mut self, events: &Sender<Event>) {
        self.contents.flush(&mut self.limit, events);
    }

    /// The cell is over: what was held back as an unfinished character or block is shown as it is.
    pub fn finish(&mut self, events: &Sender<Event>) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = self.decoders[stream as usize].finish();
            match stream {
                Stream::Stdout => self.contents.feed(&rest, &mut self.limit, events),
                Stream::Stderr => self.limit.send(stream, rest, events),
            }
        }
        self.contents.finish(&mut self.limit, events);
        self.limit.finish(events);
    }
}

/// Types by the names that the user gave them: `std::any::type_name` knows the generated crate's.
fn named(text: String) -> String {
    if text.contains("onrush_cell_") { without_crates(&text) } else { text }
}

/// UTF-8 in pieces; what is none becomes `\xNN`.
#[derive(Default)]
struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut rest = self.pending.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(length) = error.error_len() else {
                        rest = bad;
                        break;
                    };
                    escape(&bad[..length], &mut text);
                    rest = &bad[length..];
                }
            }
        }
        self.pending = rest.to_vec();
        text
    }

    fn finish(&mut self) -> String {
        let mut text = String::new();
        escape(&std::mem::take(&mut self.pending), &mut text);
        text
    }
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        text.push_str(&format!("\\x{byte:02X}"));
    }
}

/// evcxr's convention: between a line `EVCXR_BEGIN_CONTENT mime/type` and a line `EVCXR_END_CONTENT` there is data to show.
#[derive(Default)]
struct Contents {
    /// The start of a line that may become a marker, or a whole block so far.
    held: String,
    /// The MIME type of the block that has begun.
    inside: Option<String>,
    /// The end of line after a block belongs to it.
    ends_line: bool,
}

impl Contents {
    fn feed(&mut self, text: &str, limit: &mut Limit, events: &Sender<Event>) {
        self.held.push_str(text);
        loop {
            if self.ends_line && !self.held.is_empty() {
                self.ends_line = false;
                if self.held.starts_with('\n') {
                    self.held.remove(0);
                }
            }
            if let Some(mime) = &self.inside {
                let Some(end) = self.held.find(END) else { return };
                let data = self.held[..end].strip_suffix('\n').unwrap_or(&self.held[..end]).to_string();
                let after = end + END.len();
                let rest = self.held[after..].to_string();
                let display = Display {
                    content: Content::Mime(vec![(mime.clone(), data)]),
                    display_id: None,
                    update: false,
                    is_result: false,
                };
                let _ = events.send(Event::Display(display));
                self.held = rest;
                self.inside = None;
                self.ends_line = true;
                continue;
            }
            if let Some(start) = self.held.find(BEGIN) {
                let Some(line_end) = self.held[start..].find('\n').map(|i| start + i) else {
                    let before: String = self.held.drain(..start).collect();
                    limit.send(Stream::Stdout, before, events);
                    return;
                };
                let mime = self.held[start + BEGIN.len()..line_end].trim().to_string();
                let before = self.held[..start].to_string();
                limit.send(Stream::Stdout, before, events);
                self.held.drain(..=line_end);
                self.inside = Some(mime);
                continue;
            }
            // Hold back only what may be the beginning of the marker.
            let keep = (1..BEGIN.len()).rev().find(|&n| self.held.ends_with(&BEGIN[..n])).unwrap_or(0);
            let shown = self.held.len() - keep;
            let text: String = self.held.drain(..shown).collect();
            limit.send(Stream::Stdout, text, events);
            return;
        }
    }

    fn flush(&mut self, limit: &mut Limit, events: &Sender<Event>) {
        if self.inside.is_none() {
            limit.send(Stream::Stdout, std::mem::take(&mut self.held), events);
        }
    }

    fn finish(&mut self, limit: &mut Limit, events: &Sender<Event>) {
        self.inside = None;
        self.flush(limit, events);
    }
}

#[derive(Default)]
struct Limit {
    shown: usize,
    path: PathBuf,
    file: Option<(File, usize)>,
}

impl Limit {
    fn send(&mut self, stream: Stream, text: String, events: &Sender<Event>) {
        if text.is_empty() {
            return;
        }
        if self.shown < SHOWN {
            let room = SHOWN - self.shown;
            let cut = if text.len() <= room {
                text.len()
            } else {
                (0..=room).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
            };
            self.shown += text.len();
            let (now, rest) = text.split_at(cut);
            let _ = events.send(Event::Output { stream, text: now.to_string() });
            if !rest.is_empty() {
                self.shown = SHOWN;
                self.write(rest);
            }
        } else {
            self.write(&text);
        }
    }

    fn write(&mut self, text: &str) {
        if self.file.is_none() {
            let _ = self.path.parent().map(std::fs::create_dir_all);
            self.file = File::create(&self.path).ok().map(|f| (f, 0));
        }
        if let Some((file, bytes)) = &mut self.file {
            if *bytes < WRITTEN {
                let _ = file.write_all(text.as_bytes());
            }
            *bytes += text.len();
        }
    }

    fn finish(&mut self, events: &Sender<Event>) {
        if let Some((_, bytes)) = self.file.take() {
            let what = if bytes < WRITTEN { "they are" } else { "the first of them are" };
            let text =
                format!("\n[the cell printed {:.1} MB more; {what} in {}]\n", bytes as f64 / 1e6, self.path.display());
            let _ = events.send(Event::Output { stream: Stream::Stderr, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_escaped_and_characters_may_be_cut() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"a\xffb\xc3"), "a\\xFFb");
        assert_eq!(decoder.decode(b"\xa4"), "ä");
        assert_eq!(decoder.decode(b"\xe2\x82"), "");
        assert_eq!(decoder.finish(), "\\xE2\\x82");
    }

    #[test]
    fn printed_places_are_the_users() {
        let cell = crate::split::split("dbg!(1);\ndbg!(2);");
        let notebook = crate::notebook::Notebook::default();
        let request = crate::generate::Request::new(&cell, "onrush_cell_1", "cell_1.rs", &notebook);
        let generated = crate::generate::generate(&request);
        let start = generated.files[1].1.find("dbg!").unwrap() + 1;
        let places = Places([("cell_1.rs".to_string(), generated.map)].into());
        let printed = format!("[cell_1.rs:1:{start}] 1 = 1, main.rs:7:300, cell_1.rs:2:1, a.rs: x");
        assert_eq!(places.users(printed), "[cell_1.rs:1:1] 1 = 1, main.rs:7:300, cell_1.rs:2:1, a.rs: x");
    }

    #[test]
    fn evcxr_blocks_become_displays_wherever_the_pieces_are_cut() {
        let text = "before\nEVCXR_BEGIN_CONTENT text/html\n<b>x</b>\nEVCXR_END_CONTENT\nafter\n";
        for cut in 0..text.len() {
            let (send, receive) = std::sync::mpsc::channel();
            let mut contents = Contents::default();
            let mut limit = Limit::default();
            contents.feed(&text[..cut], &mut limit, &send);
            contents.feed(&text[cut..], &mut limit, &send);
            contents.finish(&mut limit, &send);
            drop(send);
            let (mut plain, mut bundles) = (String::new(), Vec::new());
            for event in receive {
                match event {
                    Event::Output { text, .. } => plain.push_str(&text),
                    Event::Display(Display { content: Content::Mime(bundle), .. }) => bundles.extend(bundle),
                    _ => {}
                }
            }
            assert_eq!(plain, "before\nafter\n");
            assert_eq!(bundles, [("text/html".to_string(), "<b>x</b>".to_string())]);
        }
    }
}
