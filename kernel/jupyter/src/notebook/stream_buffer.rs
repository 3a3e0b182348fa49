//! Output of a cell, in fewer and larger pieces: a loop that prints a million lines must not send a million messages.
//! How much of it is shown at all is the executor's decision (`kernel/cell`).

use std::time::{Duration, Instant};

use onrush_wire::host::Stream;

/// At most 20 messages a second.
const INTERVAL: Duration = Duration::from_millis(50);
/// Alternations between the streams that are kept within one interval.
const MOST: usize = 40;
/// Alternations that a cell has in reserve: Jupyter's server passes on a thousand messages a second.
const RESERVE: usize = 1000;

/// Merges consecutive pieces of one stream; keeps the order between streams.
pub struct Coalescer {
    waiting: Vec<(Stream, String)>,
    sent: Option<Instant>,
    reserve: usize,
}

impl Coalescer {
    pub fn new() -> Self {
        Coalescer { waiting: Vec::new(), sent: None, reserve: RESERVE }
    }

    /// Adds a piece; gives what can be shown at once: the first piece always can.
    pub fn push(&mut self, stream: Stream, text: String, now: Instant) -> Vec<(Stream, String)> {
        if text.is_empty() {
            return Vec::new();
        }
        append(&mut self.waiting, stream, &text);
        self.take_due(now)
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
        self.take_all()
    }

    /// Everything, at once: before a display, a question, or the end of the cell.
    pub fn take_all(&mut self) -> Vec<(Stream, String)> {
        let pieces = std::mem::take(&mut self.waiting);
        // Streams that alternate quickly keep their order; those that alternate absurdly quickly are told apart
        // instead.
        if pieces.len() <= MOST {
            return pieces;
        }
        if let Some(left) = self.reserve.checked_sub(pieces.len()) {
            self.reserve = left;
            return pieces;
        }
        let of =
            |wanted: Stream| pieces.iter().filter(|(s, _)| *s == wanted).map(|(_, t)| t.as_str()).collect::<String>();
        vec![(Stream::Stdout, of(Stream::Stdout)), (Stream::Stderr, of(Stream::Stderr))]
    }
}

fn append(pieces: &mut Vec<(Stream, String)>, stream: Stream, text: &str) {
    match pieces.last_mut() {
        Some((last, collected)) if *last == stream => collected.push_str(text),
        _ => pieces.push((stream, text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn streams_that_alternate_at_every_word_are_told_apart() {
        let now = Instant::now();
        let mut streams = Coalescer::new();
        streams.push(Stream::Stdout, "first".into(), now);
        for _ in 0..600 {
            streams.push(Stream::Stdout, "o".into(), now);
            streams.push(Stream::Stderr, "e".into(), now);
        }
        let expected = [(Stream::Stdout, "o".repeat(600)), (Stream::Stderr, "e".repeat(600))];
        assert_eq!(streams.take_due(now + INTERVAL), expected);
    }
}
