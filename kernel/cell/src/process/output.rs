//! Output of a cell: pieces from the output pipe become text events in their order, and bytes that are not UTF-8 become
//! `\xNN`. Content blocks as of evcxr become displays, and output over the limit goes to a file. Output of threads and
//! child processes after the end of their cell goes to that cell.

mod other_processes;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use onrush_wire::display::{Content, Display};
use onrush_wire::host::{FromHost, OutputHeader, Stream};

use super::descriptors::{MessageReader, nonblocking};
use crate::interface::Event;
use crate::source_map::SourceMap;
use crate::types::without_crates;

/// Text of one cell that is shown; the rest is written to a file.
const SHOWN: usize = 2 << 20;
/// Bytes that a notebook writes to files at most: a loop that prints must not fill the disk.
const WRITTEN: usize = 256 << 20;
/// Reads of one [`Outputs::drain`]. They are more than a pipe holds, so that all earlier output is seen. They are
/// limited, because a cell may print faster than it is read.
const READS: usize = 64;
/// And between two cells, where a thread that prints without an end must not keep a processor busy.
const READS_BETWEEN: usize = 4;
const BEGIN: &str = "EVCXR_BEGIN_CONTENT";
const END: &str = "EVCXR_END_CONTENT";
const ASKS: &str = "EVCXR_INPUT_REQUEST";
/// For so long a block waits for others of its output.
const TOGETHER: Duration = Duration::from_millis(100);

pub struct Outputs {
    framed: File,
    plain: [File; 2],
    bytes: Vec<u8>,
    decoders: [Decoder; 2],
    contents: Contents,
    limit: Limit,
    /// The cell that runs, or ran last.
    cell: u64,
    runs: bool,
    /// The cell that was shown last: the plain pipes are its between two cells.
    shown: u64,
    /// Earlier cells that have printed something after their end.
    late: BTreeMap<u64, Late>,
    files: Files,
    stderr_tail: String,
    places: PositionMaps,
}

/// An earlier cell whose threads or child processes print.
#[derive(Default)]
struct Late {
    decoders: [Decoder; 2],
    limit: Limit,
}

/// How places in generated files lead to the user's.
#[derive(Clone, Debug, Default)]
pub struct PositionMaps {
    pub maps: BTreeMap<String, SourceMap>,
    /// The pieces of files that are made of several cells: the first and the last line of each piece, its cell, its
    /// first line there.
    pub pieces: BTreeMap<String, Vec<(u32, u32, u64, u32)>>,
}

impl PositionMaps {
    /// The user's name of a place in a generated file: `In [3]:1:2`.
    fn place(&self, file: &str, line: u32, column: Option<u32>) -> Option<String> {
        let (cell, line, column) = match (self.maps.get(file), self.pieces.get(file)) {
            (Some(map), _) => {
                let cell = file.strip_prefix("cell_")?.strip_suffix(".rs")?.parse().ok()?;
                (cell, line, column.map(|column| map.column(line, column)))
            }
            (None, Some(pieces)) => {
                let (first, _, cell, start) = pieces.iter().find(|(from, to, ..)| (*from..=*to).contains(&line))?;
                (*cell, start + line - first, column)
            }
            (None, None) => return None,
        };
        let column = column.map_or(String::new(), |column| format!(":{column}"));
        // Cells without a count have numbers that no notebook counts to.
        let cell = if cell < 1 << 32 { cell.to_string() } else { " ".to_string() };
        Some(format!("In [{cell}]:{line}{column}"))
    }

    /// Replaces every `cell_3.rs:1:190` by the place as errors name it.
    fn users(&self, text: String) -> String {
        if !text.contains(".rs:") {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(".rs:") {
            let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
            let name = rest[..at].chars().rev().take_while(is_name).map(char::len_utf8).sum::<usize>();
            let (name_start, line_start) = (at - name, at + ".rs:".len());
            let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let line_end = line_start + digits(&rest[line_start..]);
            let after = rest[line_end..].strip_prefix(':').map_or("", |s| &s[..digits(s)]);
            let column = after.parse::<u32>().ok();
            let end = if column.is_some() { line_end + 1 + after.len() } else { line_end };
            let line = rest[line_start..line_end].parse::<u32>().ok();
            let file = &rest[name_start..at + ".rs".len()];
            let line = line.filter(|_| !rest[..name_start].ends_with('/'));
            let place = line.and_then(|line| Some((self.place(file, line, column)?, end)));
            match place {
                Some((place, end)) => {
                    out.push_str(&rest[..name_start]);
                    out.push_str(&place);
                    rest = &rest[end..];
                }
                None => {
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
    pub fn new(framed: File, plain: [File; 2], folder: &Path) -> io::Result<Self> {
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
            cell: 0,
            runs: false,
            shown: 0,
            late: BTreeMap::new(),
            files: Files { folder: folder.to_path_buf(), names: Vec::new(), written: 0 },
            stderr_tail: String::new(),
            places: PositionMaps::default(),
        })
    }

    /// Output from here on is this cell's.
    pub fn begin(&mut self, cell: u64) {
        let earlier = std::mem::take(&mut self.limit);
        if earlier.shown > 0 {
            self.late.entry(self.cell).or_default().limit = earlier;
        }
        self.cell = cell;
        self.limit = self.late.remove(&cell).unwrap_or_default().limit;
        self.runs = true;
        self.stderr_tail.clear();
    }

    /// The cell that runs is on the screen.
    pub fn show_children(&mut self) {
        self.shown = self.cell;
    }

    /// How the places that the cell prints lead to the user's.
    pub fn know(&mut self, places: PositionMaps) {
        self.places = places;
    }

    /// The cell that ran is over, with all that may follow its code.
    pub fn end(&mut self) {
        self.runs = false;
        self.limit.close();
    }

    /// A snapshot has taken over: it prints into the pipe of `fresh`. The plain pipes stay.
    pub fn reconnect(&mut self, fresh: Outputs) {
        self.framed = fresh.framed;
        self.bytes.clear();
    }

    /// Takes over from a process that was started in place of another one, with what was shown of each cell.
    pub fn inherit(&mut self, old: &mut Outputs) {
        std::mem::swap(self, old);
        std::mem::swap(&mut self.framed, &mut old.framed);
        std::mem::swap(&mut self.plain, &mut old.plain);
        self.bytes.clear();
    }

    /// The files of long outputs go with the notebook.
    pub fn remove_files(&mut self) {
        for path in self.files.names.drain(..) {
            let _ = std::fs::remove_file(path);
        }
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
        self.read(READS, events, control);
    }

    /// Passes on what is printed between two cells, some of it if it is much. `false`: nothing was there.
    pub fn drain_between(&mut self, events: &Sender<Event>, control: &mut MessageReader) -> bool {
        self.read(READS_BETWEEN, events, control)
    }

    fn read(&mut self, reads: usize, events: &Sender<Event>, control: &mut MessageReader) -> bool {
        let mut found = false;
        let mut buffer = [0u8; 65536];
        for _ in 0..reads {
            match self.framed.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            }
            found = true;
            self.pieces(events, control);
        }
        if !found && self.contents.since.is_some_and(|since| since.elapsed() > TOGETHER) {
            // The cell does something else now.
            self.contents.show(events);
        }
        for (i, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            for _ in 0..reads {
                match self.plain[i].read(&mut buffer) {
                    Ok(n) if n > 0 => {
                        found = true;
                        let cell = if self.runs { self.cell } else { self.shown };
                        self.piece(cell, stream, &buffer[..n], events);
                    }
                    _ => break,
                }
            }
        }
        found
    }

    fn pieces(&mut self, events: &Sender<Event>, control: &mut MessageReader) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = bytes.as_slice();
        // Neighbouring pieces of one stream are one event.
        let mut run: Option<(u64, Stream, Vec<u8>)> = None;
        while let Some((header, body)) = rest.split_first_chunk::<{ OutputHeader::LEN }>() {
            if header[0] == OutputHeader::MARKER {
                if let Some((cell, stream, text)) = run.take() {
                    self.piece(cell, stream, &text, events);
                }
                self.flush_decoders(events);
                match control.wait_for_output() {
                    Ok(FromHost::Display(mut display)) => {
                        if let Content::Text(text) | Content::Plan(text) = &mut display.content {
                            *text = named(self.places.users(std::mem::take(text)));
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
            let same = |(cell, stream, _): &(u64, Stream, Vec<u8>)| (*cell, *stream) == (header.cell, header.stream);
            match &mut run {
                Some(last) if same(last) => last.2.extend_from_slice(&body[..length]),
                _ => {
                    let next = (header.cell, header.stream, body[..length].to_vec());
                    if let Some((cell, stream, text)) = run.replace(next) {
                        self.piece(cell, stream, &text, events);
                    }
                }
            }
            rest = &body[length..];
        }
        self.bytes = rest.to_vec();
        if let Some((cell, stream, text)) = run {
            self.piece(cell, stream, &text, events);
        }
    }

    /// Text of a cell: of the one that runs, or of an earlier one.
    fn piece(&mut self, cell: u64, stream: Stream, bytes: &[u8], events: &Sender<Event>) {
        if self.runs && cell == self.cell {
            return self.text(stream, bytes, events);
        }
        // The state of the cell that ran last is still here.
        let mut last = (cell == self.cell)
            .then(|| Late { decoders: std::mem::take(&mut self.decoders), limit: std::mem::take(&mut self.limit) });
        let late = match &mut last {
            Some(last) => last,
            None => self.late.entry(cell).or_default(),
        };
        let text = named(self.places.users(late.decoders[stream as usize].decode(bytes)));
        let is_cut = late.limit.over > 0;
        let shown = late.limit.take(text, cell, &mut self.files);
        late.limit.close();
        if !shown.is_empty() {
            let _ = events.send(Event::Late { cell, stream, text: shown });
        }
        if !is_cut && late.limit.over > 0 {
            let _ = events.send(Event::Late { cell, stream: Stream::Stderr, text: late.limit.goes_on(&self.files) });
        }
        if let Some(last) = last {
            (self.decoders, self.limit) = (last.decoders, last.limit);
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
            self.contents.show(events);
            self.limit.send(stream, text, self.cell, &mut self.files, events);
        } else {
            let text = named(self.places.users(text));
            let mut sink = Sink { limit: &mut self.limit, cell: self.cell, files: &mut self.files };
            self.contents.feed(&text, &mut sink, events);
        }
    }

    /// The prompt in evcxr's form for the next line that is read.
    pub fn asked(&mut self) -> Option<(String, bool)> {
        self.contents.asked.take()
    }

    fn flush_decoders(&mut self, events: &Sender<Event>) {
        let mut sink = Sink { limit: &mut self.limit, cell: self.cell, files: &mut self.files };
        self.contents.flush(&mut sink, events);
    }

    /// The cell is over: what was held back as an unfinished character or block is shown as it is.
    pub fn finish(&mut self, events: &Sender<Event>) {
        let mut sink = Sink { limit: &mut self.limit, cell: self.cell, files: &mut self.files };
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = self.decoders[stream as usize].finish();
            match stream {
                Stream::Stdout => self.contents.feed(&rest, &mut sink, events),
                Stream::Stderr => sink.send(stream, rest, events),
            }
        }
        self.contents.finish(&mut sink, events);
        if let Some(text) = self.limit.said(&self.files) {
            let _ = events.send(Event::Output { stream: Stream::Stderr, text });
        }
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

/// evcxr's conventions. Between a line `EVCXR_BEGIN_CONTENT mime/type` and a line `EVCXR_END_CONTENT` there is data to
/// show. Blocks of different types without anything between them are forms of one output. A line
/// `EVCXR_INPUT_REQUEST:prompt` says what the line that is read next is for.
#[derive(Default)]
struct Contents {
    /// The start of a line that may become a marker, or a whole block so far.
    held: String,
    /// The MIME type of the block that has begun.
    inside: Option<String>,
    /// The end of line after a block belongs to it.
    ends_line: bool,
    /// Blocks that are not shown yet: others may belong to them.
    bundle: Vec<(String, String)>,
    /// When the first of them was there.
    since: Option<Instant>,
    /// The prompt of the next question, and whether it asks for a password.
    asked: Option<(String, bool)>,
}

impl Contents {
    fn feed(&mut self, text: &str, sink: &mut Sink<'_>, events: &Sender<Event>) {
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
                let mime = mime.clone();
                if self.bundle.iter().any(|(earlier, _)| *earlier == mime) {
                    self.show(events);
                }
                self.bundle.push((mime, data));
                self.since.get_or_insert_with(Instant::now);
                self.held.drain(..end + END.len());
                self.inside = None;
                self.ends_line = true;
                continue;
            }
            let found = [BEGIN, ASKS].iter().filter_map(|marker| self.held.find(marker)).min();
            if let Some(start) = found {
                let before: String = self.held.drain(..start).collect();
                self.print(before, sink, events);
                let Some(line_end) = self.held.find('\n') else { return };
                let line: String = self.held.drain(..=line_end).collect();
                match line.strip_prefix(BEGIN) {
                    Some(mime) => self.inside = Some(mime.trim().to_string()),
                    None => self.ask(&line[ASKS.len()..]),
                }
                continue;
            }
            // Hold back only what may be the beginning of a marker.
            let begins =
                |n: usize| [BEGIN, ASKS].iter().any(|m| m.get(..n).is_some_and(|start| self.held.ends_with(start)));
            let keep = (1..BEGIN.len().max(ASKS.len())).rev().find(|&n| begins(n)).unwrap_or(0);
            let shown = self.held.len() - keep;
            let text: String = self.held.drain(..shown).collect();
            self.print(text, sink, events);
            return;
        }
    }

    /// The rest of a line that asks: `:prompt`, or `_PASSWORD:prompt`.
    fn ask(&mut self, rest: &str) {
        let (password, rest) = rest.strip_prefix("_PASSWORD").map_or((false, rest), |rest| (true, rest));
        self.asked = Some((rest.strip_prefix(':').unwrap_or(rest).trim_end_matches('\n').to_string(), password));
    }

    fn print(&mut self, text: String, sink: &mut Sink<'_>, events: &Sender<Event>) {
        if !text.is_empty() {
            self.show(events);
            sink.send(Stream::Stdout, text, events);
        }
    }

    /// Shows the blocks so far as one output.
    fn show(&mut self, events: &Sender<Event>) {
        self.since = None;
        if !self.bundle.is_empty() {
            let content = Content::Mime(std::mem::take(&mut self.bundle));
            let _ = events.send(Event::Display(Display { content, display_id: None, update: false, is_result: false }));
        }
    }

    fn flush(&mut self, sink: &mut Sink<'_>, events: &Sender<Event>) {
        self.show(events);
        if self.inside.is_none() {
            sink.send(Stream::Stdout, std::mem::take(&mut self.held), events);
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>, events: &Sender<Event>) {
        self.inside = None;
        self.asked = None;
        if self.held.trim().is_empty() {
            self.show(events);
        }
        self.flush(sink, events);
    }
}

/// The receiver of the running cell's text.
struct Sink<'a> {
    limit: &'a mut Limit,
    cell: u64,
    files: &'a mut Files,
}

impl Sink<'_> {
    fn send(&mut self, stream: Stream, text: String, events: &Sender<Event>) {
        self.limit.send(stream, text, self.cell, self.files, events);
    }
}

/// The files of a notebook's long outputs.
struct Files {
    folder: PathBuf,
    names: Vec<PathBuf>,
    /// Bytes in all of them.
    written: usize,
}

impl Files {
    fn create(&mut self, cell: u64) -> Option<(File, PathBuf)> {
        let path = self.folder.join(format!("output-{}-cell_{cell}.txt", std::process::id()));
        std::fs::create_dir_all(&self.folder).ok()?;
        let file = File::create(&path).ok()?;
        self.names.push(path.clone());
        Some((file, path))
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.written + bytes <= WRITTEN
    }
}

/// How much of a cell was shown, and where the rest is.
#[derive(Default)]
struct Limit {
    shown: usize,
    /// The file of the rest, if it was written.
    path: Option<PathBuf>,
    /// That file while its cell runs: a notebook may have thousands of such cells.
    file: Option<File>,
    is_unwritable: bool,
    /// Bytes that were not shown, and those that were not written either.
    over: usize,
    lost: usize,
    /// `over` when it was last said.
    told: usize,
}

impl Limit {
    fn send(&mut self, stream: Stream, text: String, cell: u64, files: &mut Files, events: &Sender<Event>) {
        let text = self.take(text, cell, files);
        if !text.is_empty() {
            let _ = events.send(Event::Output { stream, text });
        }
    }

    /// The part of the text that is shown; the rest is written.
    fn take(&mut self, mut text: String, cell: u64, files: &mut Files) -> String {
        let room = SHOWN.saturating_sub(self.shown);
        if text.len() > room {
            let rest = text.split_off(text.floor_char_boundary(room));
            self.shown = SHOWN;
            self.write(&rest, cell, files);
        } else {
            self.shown += text.len();
        }
        text
    }

    fn write(&mut self, text: &str, cell: u64, files: &mut Files) {
        self.over += text.len();
        let is_kept = self.lost == 0 && files.has_room(text.len());
        let written = is_kept && self.open(cell, files).is_some_and(|mut file| file.write_all(text.as_bytes()).is_ok());
        *(if written { &mut files.written } else { &mut self.lost }) += text.len();
    }

    /// The file, made or opened again.
    fn open(&mut self, cell: u64, files: &mut Files) -> Option<&File> {
        if self.file.is_none() {
            self.file = match &self.path {
                Some(path) => File::options().append(true).open(path).ok(),
                None => {
                    let (file, path) = files.create(cell).unzip();
                    self.path = path;
                    file
                }
            };
            self.is_unwritable = self.path.is_none();
        }
        self.file.as_ref()
    }

    /// More may be written later.
    fn close(&mut self) {
        self.file = None;
    }

    /// The text that was not shown since the last call.
    fn said(&mut self, files: &Files) -> Option<String> {
        let more = self.over - self.told;
        self.told = self.over;
        (more > 0).then(|| format!("\n[the cell printed {:.1} MB more; {}]\n", more as f64 / 1e6, self.place(files)))
    }

    /// Said at once where nobody knows when the output ends.
    fn goes_on(&mut self, files: &Files) -> String {
        self.told = self.over;
        format!("\n[threads or programs of this cell print more lines; {}]\n", self.place(files))
    }

    fn place(&self, files: &Files) -> String {
        let full = format!("a notebook keeps {} MiB of long outputs at most", WRITTEN >> 20);
        match &self.path {
            None if self.is_unwritable => {
                format!("they were not kept: no file can be made in {}", files.folder.display())
            }
            None => format!("they were not kept: {full}"),
            Some(path) if self.lost == 0 => format!("they are in {} until the notebook is closed", path.display()),
            Some(path) => format!(
                "the first of them are in {} until the notebook is closed, and {:.1} MB were not kept: {full}",
                path.display(),
                self.lost as f64 / 1e6,
            ),
        }
    }
}

/// Files of long outputs that a kernel which was killed has left.
pub fn remove_left_files(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix("output-")?.split_once("-cell_")?.0.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_file(entry.path());
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
        let cell = crate::parse::parse_cell("dbg!(1);\ndbg!(2);");
        let notebook = crate::notebook::Notebook::default();
        let request = crate::generate::Request::new(&cell, "onrush_cell_1", "cell_1.rs", &notebook);
        let generated = crate::generate::generate(&request);
        let start = generated.files[1].1.find("dbg!").unwrap() + 1;
        let mut places =
            PositionMaps { maps: [("cell_1.rs".to_string(), generated.map)].into(), ..PositionMaps::default() };
        let printed = format!("[cell_1.rs:1:{start}] 1, │main.rs:7:300, │cell_1.rs:2:1, cell_1.rs:2, /a/cell_1.rs:2:1");
        let users = "[In [1]:1:1] 1, │main.rs:7:300, │In [1]:2:1, In [1]:2, /a/cell_1.rs:2:1";
        assert_eq!(places.users(printed), users);
        // The second piece, of lines 4 to 6, begins in line 10 of the cell 3.
        places.pieces.insert("tests_5.rs".to_string(), vec![(2, 2, 1, 1), (4, 6, 3, 10)]);
        assert_eq!(places.users("at tests_5.rs:5:9: tests_5.rs:9:1".into()), "at In [3]:11:9: tests_5.rs:9:1");
    }

    #[test]
    fn evcxr_blocks_become_displays_wherever_the_pieces_are_cut() {
        let text = "before\nEVCXR_BEGIN_CONTENT text/html\n<b>x</b>\nEVCXR_END_CONTENT\nafter\n";
        for cut in 0..text.len() {
            let (send, receive) = std::sync::mpsc::channel();
            let mut contents = Contents::default();
            let mut files = Files { folder: std::env::temp_dir(), names: Vec::new(), written: 0 };
            let mut sink = Sink { limit: &mut Limit::default(), cell: 1, files: &mut files };
            contents.feed(&text[..cut], &mut sink, &send);
            contents.feed(&text[cut..], &mut sink, &send);
            contents.finish(&mut sink, &send);
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

    /// As evcxr's kernel makes one result of all blocks, and asks for a line when it is told so.
    #[test]
    fn evcxr_blocks_of_several_types_are_one_output_and_questions_are_not_shown() {
        let block = |mime: &str, text: &str| format!("EVCXR_BEGIN_CONTENT {mime}\n{text}\nEVCXR_END_CONTENT\n");
        let all = [block("text/plain", "a"), block("text/html", "<b>a</b>"), block("text/html", "b")].concat();
        let asks = "EVCXR_INPUT_REQUEST:Name? \ny\nEVCXR_INPUT_REQUEST_PASSWORD:Key\n";
        let text = format!("{all}x\n{asks}{}", block("text/html", "c"));
        for cut in 0..text.len() {
            let (send, receive) = std::sync::mpsc::channel();
            let (mut contents, mut limit) = (Contents::default(), Limit::default());
            let mut files = Files { folder: std::env::temp_dir(), names: Vec::new(), written: 0 };
            let mut sink = Sink { limit: &mut limit, cell: 1, files: &mut files };
            contents.feed(&text[..cut], &mut sink, &send);
            if cut == text.find("y\n").unwrap() {
                assert_eq!(contents.asked.take(), Some(("Name? ".to_string(), false)));
            }
            contents.feed(&text[cut..], &mut sink, &send);
            assert_eq!(contents.asked, Some(("Key".to_string(), true)));
            contents.finish(&mut sink, &send);
            drop(send);
            let (mut plain, mut displays) = (String::new(), Vec::new());
            for event in receive {
                match event {
                    Event::Output { text, .. } => plain.push_str(&text),
                    Event::Display(Display { content: Content::Mime(bundle), is_result, .. }) => {
                        let texts: Vec<String> = bundle.into_iter().map(|(_, text)| text).collect();
                        displays.push((texts.join(","), is_result));
                    }
                    _ => {}
                }
            }
            assert_eq!(plain, "x\ny\n");
            assert_eq!(displays, [("a,<b>a</b>", false), ("b", false), ("c", false)].map(|(t, r)| (t.to_string(), r)));
        }
    }

    #[test]
    fn what_is_too_long_goes_to_a_file_up_to_a_limit_and_with_the_notebook() {
        let folder = std::env::temp_dir().join(format!("onrush-outputs-{}", std::process::id()));
        let mut files = Files { folder: folder.clone(), names: Vec::new(), written: 0 };
        let mut limit = Limit::default();
        assert_eq!(limit.take("a".repeat(SHOWN + 5), 1, &mut files).len(), SHOWN);
        let said = limit.said(&files).unwrap();
        let path = files.names[0].clone();
        assert!(said.contains(&path.display().to_string()) && std::fs::read(&path).unwrap() == b"aaaaa", "{said}");
        assert_eq!(limit.said(&files), None, "it is said once");
        // After the end of the cell the file is not open, and more is added to it.
        limit.close();
        limit.take("b".into(), 1, &mut files);
        limit.close();
        assert_eq!((std::fs::read(&path).unwrap(), limit.said(&files).is_some()), (b"aaaaab".to_vec(), true));
        files.written = WRITTEN - 1;
        limit.take("bb".into(), 1, &mut files);
        let said = limit.said(&files).unwrap();
        assert!(said.contains("256 MiB of long outputs at most"), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), b"aaaaab");
        // Another cell gets no file, since nothing would be in it.
        let mut other = Limit::default();
        other.take("a".repeat(SHOWN + 5), 2, &mut files);
        assert!(other.said(&files).unwrap().contains("not kept: a notebook keeps 256 MiB"));
        assert_eq!(files.names.len(), 1);
        // A process of this number cannot be.
        let of_another = folder.join("output-4194305-cell_1.txt");
        std::fs::write(&of_another, "x").unwrap();
        remove_left_files(&folder);
        assert!(path.exists() && !of_another.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
