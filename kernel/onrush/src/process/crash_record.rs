//! The facts that must outlive a cell's process, however it ends: files opened for writing, its panics, its fault. They
//! are noted down in memory that the process shares with its snapshot, without locks and allocations. Any thread, a
//! signal handler and a process that is about to end can do that.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use onrush_wire::Span;
use onrush_wire::host::{Address, Fault, LastPanic, LastWords};

/// Room for notes; what does not fit is not noted down.
const ROOM: usize = 64 << 10;
/// Longer paths and messages are cut, in bytes.
const LONGEST: usize = 1000;

const FILE: u8 = 1;
const PANIC: u8 = 2;
/// Eight bytes of an offset, and the path of a shared object.
const CALL: u8 = 3;

/// Notes are a kind, two bytes of length and the text, one after another. The kind is written last: 0 is one that was
/// begun.
struct Page {
    fault: AtomicU32,
    address: AtomicU64,
    used: AtomicUsize,
    notes: [std::sync::atomic::AtomicU8; ROOM],
}

static PAGE: AtomicUsize = AtomicUsize::new(0);

fn page() -> Option<&'static Page> {
    let address = PAGE.load(Ordering::Acquire);
    // SAFETY: `start` put the address of a mapping there that has room for a `Page` and is never unmapped. It holds
    // only atomics, for which zeros are valid.
    (address != 0).then(|| unsafe { &*(address as *const Page) })
}

/// Makes the shared memory; without it nothing is noted down.
pub fn start() {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new, separate mapping.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), std::mem::size_of::<Page>(), access, kind, -1, 0) };
    if memory != libc::MAP_FAILED {
        PAGE.store(memory as usize, Ordering::Release);
    }
}

/// Forgets everything: a cell begins.
pub fn begin() {
    let Some(page) = page() else { return };
    let used = page.used.load(Ordering::Acquire).min(ROOM);
    page.notes[..used].iter().for_each(|byte| byte.store(0, Ordering::Relaxed));
    page.fault.store(0, Ordering::Relaxed);
    page.used.store(0, Ordering::Release);
}

fn note(kind: u8, text: &[u8]) {
    note_parts(kind, &[], text);
}

fn note_parts(kind: u8, head: &[u8], text: &[u8]) {
    let Some(page) = page() else { return };
    let text = &text[..text.len().min(LONGEST)];
    let size = head.len() + text.len();
    let start = page.used.fetch_add(3 + size, Ordering::AcqRel);
    let Some(place) = page.notes.get(start..start.saturating_add(3 + size)) else {
        // So that it cannot wrap around, however much is noted.
        page.used.store(ROOM, Ordering::Release);
        return;
    };
    let length = (size as u16).to_le_bytes();
    for (byte, value) in place[1..].iter().zip(length.iter().chain(head).chain(text)) {
        byte.store(*value, Ordering::Relaxed);
    }
    place[0].store(kind, Ordering::Release);
}

/// A file was opened for writing, or written in the cell's name.
pub fn wrote(path: &[u8]) {
    note(FILE, path);
}

/// The main thread panics.
pub fn panicked(message: &str, span: Option<&Span>) {
    // Without an allocation there is no text: the place first, because it is short.
    let place = span.map(|s| format!("{}\n{}\n{}", s.file, s.line, s.column)).unwrap_or_default();
    note(PANIC, format!("{place}\0{message}").as_bytes());
}

/// The process ends by a fault. Called in a signal handler.
pub fn fault(fault: Fault) {
    let Some(page) = page() else { return };
    let (kind, address) = match fault {
        Fault::Stack => (1, 0),
        Fault::ThreadStack => (2, 0),
        Fault::Address(address) => (3, address),
        Fault::Channel => (4, 0),
        Fault::Abandoned => (5, 0),
        Fault::Sent(process) => (6, u64::from(process)),
        Fault::Signal => (7, 0),
    };
    page.address.store(address, Ordering::Relaxed);
    page.fault.store(kind, Ordering::Release);
}

/// One of the calls that led to a fault: a place in a shared object. Called in a signal handler.
pub fn call(library: &[u8], offset: u64) {
    note_parts(CALL, &offset.to_le_bytes(), library);
}

/// Everything that was noted down since [`begin`].
pub fn read() -> LastWords {
    let mut words = LastWords::default();
    let Some(page) = page() else { return words };
    words.fault = match page.fault.load(Ordering::Acquire) {
        1 => Some(Fault::Stack),
        2 => Some(Fault::ThreadStack),
        3 => Some(Fault::Address(page.address.load(Ordering::Relaxed))),
        4 => Some(Fault::Channel),
        5 => Some(Fault::Abandoned),
        6 => Some(Fault::Sent(page.address.load(Ordering::Relaxed) as u32)),
        7 => Some(Fault::Signal),
        _ => None,
    };
    let used = page.used.load(Ordering::Acquire).min(ROOM);
    let bytes: Vec<u8> = page.notes[..used].iter().map(|byte| byte.load(Ordering::Acquire)).collect();
    let mut rest = bytes.as_slice();
    while let [kind, low, high, after @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let Some((text, next)) = after.split_at_checked(length) else { break };
        if let (CALL, Some((offset, path))) = (*kind, text.split_first_chunk::<8>()) {
            let library = String::from_utf8_lossy(path).into_owned();
            words.calls.push(Address { library, offset: u64::from_le_bytes(*offset) });
            rest = next;
            continue;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        match *kind {
            FILE if !words.written.contains(&text) => words.written.push(text),
            PANIC => words.panics.push(panic_of(&text)),
            FILE => {}
            // One that was begun and never finished: where the next one starts is not known.
            _ => break,
        }
        rest = next;
    }
    words
}

fn panic_of(text: &str) -> LastPanic {
    let (place, message) = text.split_once('\0').unwrap_or(("", text));
    let mut parts = place.split('\n');
    let span = (|| {
        let file = parts.next().filter(|file| !file.is_empty())?.to_string();
        let (line, column) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Span { file, line, column, length: 1 })
    })();
    LastPanic { message: message.to_string(), span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read() {
        start();
        begin();
        let span = Span { file: "cell_1.rs".into(), line: 2, column: 3, length: 1 };
        panicked("first\nof two lines", Some(&span));
        wrote(b"a.txt");
        wrote(b"a.txt");
        wrote(&[b'x'; 5000]);
        panicked("second", None);
        fault(Fault::Address(8));
        call(b"/lib/a.so", 0x1234);
        let words = read();
        assert_eq!(words.panics[0], LastPanic { message: "first\nof two lines".into(), span: Some(span) });
        assert_eq!(words.panics[1], LastPanic { message: "second".into(), span: None });
        assert_eq!((words.written.len(), words.written[0].as_str()), (2, "a.txt"));
        assert_eq!(words.written[1].len(), LONGEST);
        assert_eq!(words.fault, Some(Fault::Address(8)));
        assert_eq!(words.calls, [Address { library: "/lib/a.so".into(), offset: 0x1234 }]);
        fault(Fault::Sent(77));
        assert_eq!(read().fault, Some(Fault::Sent(77)));
        for _ in 0..200 {
            wrote(&[b'y'; 900]);
        }
        assert!(read().written.len() == 3 && read().panics.len() == 2);
        begin();
        assert_eq!(read(), LastWords::default());
    }
}
