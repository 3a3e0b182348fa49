//! Work under way: what it is, where it is, who is told, and how it is stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use onrush_wire::progress::{Task, TaskState};
use onrush_wire::session::Event;
use onrush_wire::{NotebookId, TaskId};

use super::engine_process::Link;

/// Work that ends sooner is not reported: a notebook makes hundreds of such calls.
const QUIET: Duration = Duration::from_millis(100);
/// How many ended tasks are remembered for `Tasks`.
const REMEMBERED: usize = 50;

/// Stops one task; shared with the thread that waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop {
    set: Arc<AtomicBool>,
    /// By the button of this task alone: what it has so far is wanted.
    keeps: Arc<AtomicBool>,
}

impl Stop {
    pub fn set(&self) {
        self.set.store(true, Ordering::Release);
    }

    /// Stops the task; a search then gives its best model so far.
    pub fn set_and_keep(&self) {
        self.keeps.store(true, Ordering::Release);
        self.set();
    }

    /// Stops the task, also if it was stopped by its button before.
    pub fn set_at_once(&self) {
        self.keeps.store(false, Ordering::Release);
        self.set();
    }

    pub fn keeps(&self) -> bool {
        self.keeps.load(Ordering::Acquire)
    }

    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }
}

struct Entry {
    task: Task,
    started: Instant,
    stop: Stop,
    announced: bool,
    /// Where its progress comes from, once it was sent to an engine.
    source: Option<(Arc<Link>, u64)>,
}

#[derive(Default)]
pub(super) struct Tasks {
    next: u64,
    entries: BTreeMap<TaskId, Entry>,
    subscribers: Vec<(NotebookId, mpsc::Sender<Event>)>,
}

impl Tasks {
    pub fn begin(&mut self, notebook: NotebookId, title: String) -> (TaskId, Stop) {
        self.next += 1;
        let id = TaskId(self.next);
        let stop = Stop::default();
        let task = Task {
            id,
            notebook,
            title,
            stage: String::new(),
            state: TaskState::Running,
            rows: 0,
            total_rows: None,
            bytes: 0,
            total_bytes: None,
            elapsed_ms: 0,
            memory_bytes: 0,
            device_bytes: None,
            steps: None,
            detail: None,
        };
        let entry = Entry { task, started: Instant::now(), stop: stop.clone(), announced: false, source: None };
        self.entries.insert(id, entry);
        (id, stop)
    }

    pub fn sent(&mut self, id: TaskId, link: Arc<Link>, call: u64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.source = Some((link, call));
        }
    }

    pub fn end(&mut self, id: TaskId, state: TaskState) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.refresh();
        entry.task.state = state;
        entry.source = None;
        if entry.announced {
            let task = entry.task.clone();
            self.send(&task);
        }
        // What was never announced was too short to be remembered.
        let ended: Vec<TaskId> = self
            .entries
            .iter()
            .filter(|(_, e)| e.task.state != TaskState::Running)
            .map(|(id, e)| (*id, e.announced))
            .filter_map(|(id, announced)| (!announced).then_some(id))
            .collect();
        for id in ended {
            self.entries.remove(&id);
        }
        let ended: Vec<TaskId> =
            self.entries.iter().filter(|(_, e)| e.task.state != TaskState::Running).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
            self.entries.remove(id);
        }
    }

    /// Called a few times a second: reads progress and tells those who listen.
    pub fn tick(&mut self) {
        let mut news = Vec::new();
        for entry in self.entries.values_mut() {
            if entry.task.state == TaskState::Running && entry.started.elapsed() >= QUIET {
                entry.refresh();
                entry.announced = true;
                news.push(entry.task.clone());
            }
        }
        for task in &news {
            self.send(task);
        }
    }

    /// Stops the running tasks of a notebook, or one of them.
    pub fn cancel(&mut self, notebook: &NotebookId, only: Option<TaskId>) {
        for (id, entry) in &self.entries {
            if entry.task.notebook == *notebook && only.is_none_or(|o| o == *id) {
                match only {
                    Some(_) => entry.stop.set_and_keep(),
                    None => entry.stop.set_at_once(),
                }
            }
        }
    }

    pub fn list(&mut self, notebook: Option<&NotebookId>) -> Vec<Task> {
        self.entries
            .values_mut()
            .filter(|e| notebook.is_none_or(|n| e.task.notebook == *n))
            .map(|e| {
                e.refresh();
                e.task.clone()
            })
            .collect()
    }

    pub fn subscribe(&mut self, notebook: NotebookId) -> mpsc::Receiver<Event> {
        let (sender, receiver) = mpsc::channel();
        self.subscribers.push((notebook, sender));
        receiver
    }

    pub fn broadcast(&mut self, event: &Event) {
        self.subscribers.retain(|(_, s)| s.send(event.clone()).is_ok());
    }

    fn send(&mut self, task: &Task) {
        self.subscribers.retain(|(n, s)| *n != task.notebook || s.send(Event::Task(task.clone())).is_ok());
    }
}

impl Entry {
    fn refresh(&mut self) {
        if self.task.state != TaskState::Running {
            return;
        }
        self.task.elapsed_ms = self.started.elapsed().as_millis() as u64;
        let Some(p) = self.source.as_ref().and_then(|(link, call)| link.progress(*call)) else { return };
        self.task.stage = p.stage;
        self.task.rows = p.rows;
        self.task.total_rows = p.total_rows;
        self.task.bytes = p.bytes;
        self.task.total_bytes = p.total_bytes;
        self.task.memory_bytes = p.memory;
        self.task.device_bytes = p.device;
        self.task.steps = p.steps;
        self.task.detail = p.detail;
    }
}
