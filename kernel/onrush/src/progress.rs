//! A line of progress under a loop.

use std::time::{Duration, Instant};

use onrush_wire::display::{Content, Display};

use crate::host;

/// Shown after this time, and as often.
const FIRST: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(200);

/// Goes through `items`, and shows after half a second how far it is: `for x in progress(0..1_000_000) { ... }`.
pub fn progress<I: IntoIterator>(items: I) -> Progress<I::IntoIter> {
    let items = items.into_iter();
    let total = match items.size_hint() {
        (low, Some(high)) if low == high => Some(high),
        _ => None,
    };
    Progress { items, line: Line { done: 0, total, started: Instant::now(), next: FIRST, id: None } }
}

/// An iterator that shows how far it is; see [`progress`].
pub struct Progress<I> {
    items: I,
    line: Line,
}

struct Line {
    done: usize,
    total: Option<usize>,
    started: Instant,
    next: Duration,
    id: Option<String>,
}

impl Line {
    /// Asks the clock every time: a step of a loop worth watching takes longer than that.
    fn step(&mut self) {
        self.done += 1;
        let elapsed = self.started.elapsed();
        if elapsed >= self.next {
            self.next = elapsed + EVERY;
            self.draw(elapsed);
        }
    }

    #[inline(never)]
    fn draw(&mut self, elapsed: Duration) {
        let done = self.done;
        let text = match self.total {
            Some(total) if done < total => {
                let share = done as f64 / total as f64;
                let left = elapsed.mul_f64((1.0 - share) / share.max(1e-9));
                let filled = (share * 20.0) as usize;
                let bar: String = (0..20).map(|i| if i < filled { '█' } else { '░' }).collect();
                format!("{bar} {:.0} % · {done} of {total} · {} left", share * 100.0, seconds(left))
            }
            _ => format!("{done} in {}", seconds(elapsed)),
        };
        let update = self.id.is_some();
        let id = self.id.get_or_insert_with(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            format!("progress-{}-{:x}", std::process::id(), now.as_nanos())
        });
        host::display(Display { content: Content::Text(text), display_id: Some(id.clone()), update, is_result: false });
    }

    fn end(&mut self) {
        if self.id.is_some() {
            self.total = None;
            self.draw(self.started.elapsed());
            self.id = None;
        }
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        s => format!("{} min {:02} s", s / 60, s % 60),
    }
}

impl<I: Iterator> Iterator for Progress<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next();
        match item {
            Some(_) => self.line.step(),
            None => self.line.end(),
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Progress<I> {}

impl<I> Drop for Progress<I> {
    fn drop(&mut self) {
        self.line.end();
    }
}
