//! The line under a cell that runs longer than half a second: the session's tasks, or what the kernel itself is doing
//! before the cell starts. One display, updated a few times a second, tidy at the end.

use std::time::{Duration, Instant};

use onrush_view::Bundle;
use onrush_wire::progress::{Task, TaskState};
use serde_json::Value;

use super::{Front, Output};
use crate::session::Session;

/// Quicker cells show nothing.
const DELAY: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(200);

pub struct Progress {
    shown: Option<Bundle>,
    working: Option<(String, Option<f32>)>,
    last: Instant,
    /// Tasks that ran long enough to be worth a line were seen.
    tasks_shown: bool,
}

impl Progress {
    pub fn new() -> Self {
        Progress { shown: None, working: None, last: Instant::now(), tasks_shown: false }
    }

    /// How long until [`Progress::tick`] has something to do.
    pub fn due(&self, now: Instant) -> Duration {
        (self.last + INTERVAL).saturating_duration_since(now).max(Duration::from_millis(1))
    }

    pub fn working(&mut self, what: &str, fraction: Option<f32>) {
        self.working = Some((what.to_string(), fraction));
    }

    pub fn working_done(&mut self, front: &mut dyn Front) {
        if self.working.take().is_some() && !self.tasks_shown {
            self.clear(front);
        }
    }

    /// Shows what has changed.
    pub fn tick(&mut self, started: Instant, session: &Session, front: &mut dyn Front) {
        let now = Instant::now();
        if now < self.last + INTERVAL {
            return;
        }
        self.last = now;
        if now < started + DELAY {
            return;
        }
        let tasks = session.tasks();
        let long = |task: &Task| is_open(task) && task.elapsed_ms >= DELAY.as_millis() as u64;
        if self.tasks_shown || tasks.iter().any(long) {
            self.tasks_shown = true;
            self.show(onrush_view::progress(&tasks), front);
        } else if let Some((what, fraction)) = &self.working {
            let bundle = working_bundle(what, *fraction, now - started);
            self.show(bundle, front);
        }
    }

    /// The line that stays, or nothing.
    pub fn finish(&mut self, session: &Session, ended_as: TaskState, front: &mut dyn Front) {
        self.working = None;
        if self.shown.is_none() {
            return;
        }
        let mut tasks = if self.tasks_shown { session.tasks() } else { Vec::new() };
        // The cell is over, so its tasks are, even where the event is still under way.
        for task in tasks.iter_mut().filter(|task| is_open(task)) {
            task.state = ended_as;
        }
        let bundle = if tasks.is_empty() { Bundle::new() } else { onrush_view::progress(&tasks) };
        if bundle.is_empty() {
            self.clear(front);
        } else {
            self.show(bundle, front);
        }
    }

    fn show(&mut self, data: Bundle, front: &mut dyn Front) {
        if data.is_empty() || self.shown.as_ref() == Some(&data) {
            return;
        }
        self.shown = Some(data.clone());
        front.output(Output::Progress { data });
    }

    /// A display cannot be taken back; an empty one takes no space.
    fn clear(&mut self, front: &mut dyn Front) {
        if self.shown.is_some() {
            let blank = ["text/html", "text/plain"].map(|mime| (mime.to_string(), Value::from("")));
            self.show(Bundle::from_iter(blank), front);
        }
    }
}

fn is_open(task: &Task) -> bool {
    matches!(task.state, TaskState::Queued | TaskState::Running)
}

/// `building the prelude for rustc 1.95: 40 %, 12 s`.
fn working_bundle(what: &str, fraction: Option<f32>, elapsed: Duration) -> Bundle {
    let seconds = elapsed.as_secs();
    let text = match fraction {
        Some(fraction) => format!("{what}: {:.0} %, {seconds} s", fraction.clamp(0.0, 1.0) * 100.0),
        None => format!("{what} … {seconds} s"),
    };
    let mut data = Bundle::new();
    data.insert("text/plain".into(), Value::from(text));
    data
}
