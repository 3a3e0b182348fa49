//! The lines under a cell that runs longer than half a second. They show the session's tasks and the cell's loops, or
//! the kernel's own work before the cell starts. One display, updated a few times a second; one line of it stays.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onrush_view::Bundle;
use onrush_view::progress::{Line, Work};
use onrush_wire::TaskId;
use onrush_wire::progress::{Loop, Task, TaskState};
use serde_json::Value;

use super::{CellSink, Output};
use crate::session::Session;

/// Quicker cells show nothing.
const DELAY: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(200);

pub struct Progress {
    shown: Option<Bundle>,
    working: Option<(String, Option<f32>)>,
    last: Instant,
    /// The line about the kernel's own work that stays, in place of a blank one.
    stays: Option<String>,
    /// Work that ran long enough to be worth a line was seen.
    work_shown: bool,
    /// In the order in which they were first seen.
    order: Vec<Key>,
    /// How many loops were open when a task was first seen.
    depths: BTreeMap<TaskId, u32>,
    loops: BTreeMap<u64, Loop>,
    /// When each loop was last heard of.
    heard: BTreeMap<u64, Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Task(TaskId),
    Loop(u64),
}

impl Progress {
    pub fn new() -> Self {
        Progress {
            shown: None,
            working: None,
            stays: None,
            last: Instant::now(),
            work_shown: false,
            order: Vec::new(),
            depths: BTreeMap::new(),
            loops: BTreeMap::new(),
            heard: BTreeMap::new(),
        }
    }

    /// How long until [`Progress::tick`] has something to do.
    pub fn due(&self, now: Instant) -> Duration {
        (self.last + INTERVAL).saturating_duration_since(now).max(Duration::from_millis(1))
    }

    pub fn working(&mut self, what: &str, fraction: Option<f32>) {
        self.working = Some((what.to_string(), fraction));
    }

    /// The kernel's own work is over, and this is said of it.
    pub fn worked(&mut self, line: String, sink: &mut dyn CellSink) {
        self.working = None;
        self.show(plain_bundle(&line), sink);
        self.stays = Some(line);
    }

    pub fn working_done(&mut self, sink: &mut dyn CellSink) {
        if self.working.take().is_some() && !self.work_shown {
            self.clear(sink);
        }
    }

    /// A loop of the cell says how far it is.
    pub fn looping(&mut self, one: Loop) {
        if !self.loops.contains_key(&one.id) {
            // It began before the tasks that were seen in it.
            let inside = self.order.iter().position(|key| match key {
                Key::Task(_) => false,
                Key::Loop(id) => {
                    self.loops.get(id).is_some_and(|other| other.depth > one.depth && !is_over(other.state))
                }
            });
            self.order.insert(inside.unwrap_or(self.order.len()), Key::Loop(one.id));
        }
        self.heard.insert(one.id, Instant::now());
        self.loops.insert(one.id, one);
    }

    /// A loop speaks at its steps only; time goes on.
    fn go_on(&mut self, now: Instant) {
        for (id, one) in self.loops.iter_mut().filter(|(_, one)| !is_over(one.state)) {
            if let Some(heard) = self.heard.insert(*id, now) {
                one.elapsed_ms += now.saturating_duration_since(heard).as_millis() as u64;
            }
        }
    }

    /// Shows what has changed.
    pub fn tick(&mut self, started: Instant, session: &Session, sink: &mut dyn CellSink) {
        let now = Instant::now();
        if now < self.last + INTERVAL {
            return;
        }
        self.last = now;
        if now < started + DELAY {
            return;
        }
        self.go_on(now);
        let tasks = session.tasks();
        self.see(&tasks);
        let long = |task: &Task| !is_over(task.state) && task.elapsed_ms >= DELAY.as_millis() as u64;
        let long_loop = |one: &Loop| !is_over(one.state) && one.elapsed_ms >= DELAY.as_millis() as u64;
        if self.work_shown || self.loops.values().any(long_loop) || tasks.iter().any(long) {
            self.work_shown = true;
            let bundle = self.draw(&tasks);
            // Between two pieces of work the last state stays.
            if self.is_open(&tasks) {
                self.show(bundle, sink);
            }
        } else if let Some((what, fraction)) = &self.working {
            let bundle = working_bundle(what, *fraction, now - started);
            self.show(bundle, sink);
        }
    }

    /// The line that stays, or nothing.
    pub fn finish(&mut self, session: &Session, ended_as: TaskState, sink: &mut dyn CellSink) {
        self.working = None;
        if self.shown.is_none() {
            return;
        }
        let mut tasks = if self.work_shown { session.tasks() } else { Vec::new() };
        self.see(&tasks);
        // The cell is over, so its work is, even where the event is still under way.
        tasks.iter_mut().map(|task| &mut task.state).for_each(|state| end(state, ended_as));
        self.loops.values_mut().map(|one| &mut one.state).for_each(|state| end(state, ended_as));
        let bundle = self.draw(&tasks);
        if bundle.is_empty() {
            self.clear(sink);
        } else {
            self.show(bundle, sink);
        }
    }

    fn see(&mut self, tasks: &[Task]) {
        let open = self.loops.values().filter(|one| !is_over(one.state)).count() as u32;
        for task in tasks {
            self.depths.entry(task.id).or_insert_with(|| {
                self.order.push(Key::Task(task.id));
                open
            });
        }
    }

    fn is_open(&self, tasks: &[Task]) -> bool {
        tasks.iter().any(|task| !is_over(task.state)) || self.loops.values().any(|one| !is_over(one.state))
    }

    fn draw(&self, tasks: &[Task]) -> Bundle {
        let lines: Vec<Line<'_>> = self
            .order
            .iter()
            .filter_map(|key| match key {
                Key::Task(id) => {
                    let task = tasks.iter().find(|task| task.id == *id)?;
                    Some(Line { depth: self.depths[id], work: Work::Task(task) })
                }
                Key::Loop(id) => self.loops.get(id).map(|one| Line { depth: one.depth, work: Work::Loop(one) }),
            })
            .collect();
        onrush_view::progress::progress(&lines)
    }

    fn show(&mut self, data: Bundle, sink: &mut dyn CellSink) {
        if data.is_empty() || self.shown.as_ref() == Some(&data) {
            return;
        }
        self.shown = Some(data.clone());
        sink.output(Output::Progress { data });
    }

    /// A display cannot be taken back; an empty one takes no space.
    fn clear(&mut self, sink: &mut dyn CellSink) {
        if let Some(line) = &self.stays {
            self.show(plain_bundle(line), sink);
        } else if self.shown.is_some() {
            let blank = ["text/html", "text/plain"].map(|mime| (mime.to_string(), Value::from("")));
            self.show(Bundle::from_iter(blank), sink);
        }
    }
}

fn is_over(state: TaskState) -> bool {
    !matches!(state, TaskState::Queued | TaskState::Running)
}

fn end(state: &mut TaskState, ended_as: TaskState) {
    if !is_over(*state) {
        *state = ended_as;
    }
}

/// `building the prelude for rustc 1.95: 40 %, 12 s`.
fn working_bundle(what: &str, fraction: Option<f32>, elapsed: Duration) -> Bundle {
    let seconds = elapsed.as_secs();
    let text = match fraction {
        Some(fraction) => format!("{what}: {:.0} %, {seconds} s", fraction.clamp(0.0, 1.0) * 100.0),
        None => format!("{what} … {seconds} s"),
    };
    plain_bundle(&text)
}

fn plain_bundle(text: &str) -> Bundle {
    Bundle::from_iter([("text/plain".to_string(), Value::from(text))])
}
