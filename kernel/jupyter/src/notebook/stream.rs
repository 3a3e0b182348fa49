//! What a cell prints, in fewer and larger pieces: a loop that prints a million lines must not send a million messages,
//! and a cell that prints without end must not fill the notebook file.

use std::time::{Duration, Instant};

use onrush_wire::host::Stream;

/// At most 20 messages a second.
const INTERVAL: Duration = Duration::from_millis(50);
/// Jupyter's server drops output beyond about a megabyte a second, without saying what is missing.
const LIMIT: usize = 1 << 20;
/// Of what is over the limit, the end is kept.
const TAIL: usize = 32 << 10;

/// Merges consecutive pieces of one stream; keeps the order between streams.
pub struct Coalescer {
    waiting: Vec<(Stream, String)>,
    sent: Option<Instant>,
    shown: usize,
    /// Beyond the limit: bytes left out, and the last of them.
    left_out: usize,
    tail: Vec<(Stream, String)>,
}

impl Coalescer {
    pub fn new() -> Self {
        Coalescer { waiting: Vec::new(), sent: None, shown: 0, left_out: 0, tail: Vec::new() }
    }

    /// Adds a piece; gives what can be shown at once: the first piece always can.
    pub fn push(&mut self, stream: Stream, text: String, now: Instant) -> Vec<(Stream, String)> {
        if text.is_empty() {
            return Vec::new();
        }
        let room = LIMIT.saturating_sub(self.shown);
        if text.len() <= room {
            self.shown += text.len();
            append(&mut self.waiting, stream, &text);
        } else {
            let cut = floor_boundary(&text, room);
            if cut > 0 {
                append(&mut self.waiting, stream, &text[..cut]);
            }
            self.shown = LIMIT;
            self.keep_tail(stream, &text[cut..]);
        }
        self.take_due(now)
    }

    fn keep_tail(&mut self, stream: Stream, text: &str) {
        self.left_out += text.len();
        append(&mut self.tail, stream, text);
        let mut over = self.tail.iter().map(|(_, text)| text.len()).sum::<usize>().saturating_sub(TAIL);
        // Trimmed in large steps, so that many small pieces do not move it each time.
        if over < TAIL {
            return;
        }
        while over > 0 {
            let first = &mut self.tail[0].1;
            if first.len() <= over {
                over -= first.len();
                self.tail.remove(0);
            } else {
                let cut = floor_boundary(first, over).max(1);
                let cut = (cut..=first.len()).find(|at| first.is_char_boundary(*at)).unwrap_or(first.len());
                first.drain(..cut);
                over = 0;
            }
        }
    }

    /// How long what waits may still wait.
    pub fn due(&self, now: Instant) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        Some(self.sent.map_or(Duration::ZERO, |sent| (sent + INTERVAL).saturating_duration_since(now)))
    }

    pub fn take_due(&mut self, now: Instant) -> Vec<(Stream, String)> {
        if self.due(now) != Some(Duration::ZERO) {
            return Vec::new();
        }
        self.sent = Some(now);
        let pieces = std::mem::take(&mut self.waiting);
        // Streams that alternate quickly keep their order; those that alternate absurdly quickly are told apart instead.
        if pieces.len() <= 40 {
            return pieces;
        }
        let of =
            |wanted: Stream| pieces.iter().filter(|(s, _)| *s == wanted).map(|(_, t)| t.as_str()).collect::<String>();
        vec![(Stream::Stdout, of(Stream::Stdout)), (Stream::Stderr, of(Stream::Stderr))]
    }

    /// Everything, at once: before a display, a question, or the end of the cell. At the end, what was over the limit.
    pub fn take_all(&mut self) -> Vec<(Stream, String)> {
        let mut pieces = std::mem::take(&mut self.waiting);
        if self.left_out > 0 {
            let kept = self.tail.iter().map(|(_, text)| text.len()).sum::<usize>();
            let dropped = self.left_out - kept;
            if dropped > 0 {
                let note = format!(
                    "\n[… {} of output left out here: a cell shows {} of text; write more to a file …]\n",
                    bytes(dropped),
                    bytes(LIMIT)
                );
                append(&mut pieces, Stream::Stderr, &note);
            }
            pieces.append(&mut self.tail);
            self.left_out = 0;
        }
        pieces
    }
}

fn append(pieces: &mut Vec<(Stream, String)>, stream: Stream, text: &str) {
    match pieces.last_mut() {
        Some((last, collected)) if *last == stream => collected.push_str(text),
        _ => pieces.push((stream, text.to_string())),
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn bytes(count: usize) -> String {
    match count {
        0..1024 => format!("{count} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.1} MiB", count as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(pieces: &[(Stream, String)]) -> usize {
        pieces.iter().map(|(_, text)| text.len()).sum()
    }

    #[test]
    fn the_first_piece_goes_at_once_and_the_next_ones_together() {
        let start = Instant::now();
        let mut streams = Coalescer::new();
        assert_eq!(streams.push(Stream::Stdout, "a".into(), start), [(Stream::Stdout, "a".to_string())]);
        assert!(streams.push(Stream::Stdout, "b".into(), start).is_empty());
        assert!(streams.push(Stream::Stdout, "c".into(), start).is_empty());
        assert!(streams.push(Stream::Stderr, "e".into(), start).is_empty());
        let later = start + INTERVAL;
        let expected = [(Stream::Stdout, "bc".to_string()), (Stream::Stderr, "e".to_string())];
        assert_eq!(streams.take_due(later), expected);
        assert_eq!(streams.due(later), None);
    }

    #[test]
    fn ten_megabytes_are_cut_and_their_end_is_kept() {
        let mut streams = Coalescer::new();
        let mut out = Vec::new();
        let mut now = Instant::now();
        let line = format!("{}é\n", "x".repeat(97));
        for _ in 0..100_000 {
            now += Duration::from_millis(1);
            out.extend(streams.push(Stream::Stdout, line.clone(), now));
        }
        out.extend(streams.push(Stream::Stdout, "the end\n".into(), now));
        out.extend(streams.take_all());
        assert!(total(&out) > LIMIT && total(&out) < LIMIT + 3 * TAIL, "{}", total(&out));
        assert!(out.last().unwrap().1.ends_with("the end\n"));
        assert!(out.iter().any(|(_, text)| text.contains("MiB of output left out")));
    }
}
