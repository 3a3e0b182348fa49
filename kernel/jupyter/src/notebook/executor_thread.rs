//! The thread that owns the executor. All of its calls that start processes happen there. A child that asks to die with
//! its parent dies with the thread that made it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use onrush_cell::{Bell, Config, Event, Executor, Interrupt, Names, Origin, Outcome};
use onrush_wire::control::Change;
use onrush_wire::host::Stream;
use onrush_wire::{Class, Diagnostic, Generation};
use parking_lot::{Condvar, Mutex};

enum Command {
    Start,
    Execute { cell: u64, text: String, origin: Origin, events: Sender<Event>, ticket: Ticket },
    React { number: u64, change: Change, dropped: Vec<String>, events: Sender<Event>, ticket: Ticket },
    Stop,
}

/// The executor, as far as it is.
enum Slot {
    Starting(Option<(String, Option<f32>)>),
    Ready,
    Failed(Diagnostic),
    Stopped,
}

/// The state after [`ExecutorThread::wait`].
pub enum Readiness {
    Ready,
    /// The work under way, if it takes long.
    Starting(Option<(String, Option<f32>)>),
    Failed(Diagnostic),
}

struct ExecutorState {
    config: Config,
    slot: Mutex<Slot>,
    changed: Condvar,
    /// Only the worker's thread takes it.
    executor: Mutex<Option<Executor>>,
    names: Mutex<Arc<Names>>,
    interrupter: Mutex<Option<Arc<dyn Interrupt>>>,
    rustc: Mutex<Option<String>>,
    /// Rings when there is a command, while what earlier cells' threads print is read.
    bell: Option<Bell>,
    /// The receiver of that output. `None`: it waits for the next cell.
    late: Mutex<Option<Sender<Event>>>,
}

/// The place where the outcome of one cell appears.
#[derive(Clone)]
pub struct Ticket(Arc<Mutex<Option<Outcome>>>);

impl Ticket {
    /// Takes the outcome, once it is there.
    pub fn outcome(&self) -> Option<Outcome> {
        self.0.lock().take()
    }
}

/// The handle on the thread.
pub struct ExecutorThread {
    shared: Arc<ExecutorState>,
    commands: Sender<Command>,
}

impl ExecutorThread {
    /// Starts the thread, which starts the executor.
    pub fn spawn(config: Config) -> ExecutorThread {
        let shared = Arc::new(ExecutorState {
            config,
            slot: Mutex::new(Slot::Starting(None)),
            changed: Condvar::new(),
            executor: Mutex::new(None),
            names: Mutex::new(Arc::default()),
            interrupter: Mutex::new(None),
            rustc: Mutex::new(None),
            bell: Bell::new().ok(),
            late: Mutex::new(None),
        });
        let (commands, inbox) = mpsc::channel();
        let _ = commands.send(Command::Start);
        let for_thread = Arc::clone(&shared);
        let spawned = std::thread::Builder::new().name("cells".into()).stack_size(64 << 20).spawn(move || {
            serve(&for_thread, &inbox);
        });
        if let Err(error) = spawned {
            let message = format!("no thread could be started: {error}");
            *shared.slot.lock() = Slot::Failed(Diagnostic::error(Class::Resources, "no-thread", message));
        }
        ExecutorThread { shared, commands }
    }

    /// Waits up to `limit` for the executor. After a failure the next call tries again: the user may have installed
    /// what was missing.
    pub fn wait(&self, limit: Duration) -> Readiness {
        let mut slot = self.shared.slot.lock();
        let end = Instant::now() + limit;
        loop {
            match &*slot {
                Slot::Ready => return Readiness::Ready,
                Slot::Failed(diagnostic) => {
                    let diagnostic = diagnostic.clone();
                    *slot = Slot::Starting(None);
                    self.send(Command::Start);
                    return Readiness::Failed(diagnostic);
                }
                Slot::Stopped => {
                    let message = "the kernel is shutting down";
                    return Readiness::Failed(Diagnostic::error(Class::Interrupted, "shutdown", message));
                }
                Slot::Starting(working) => {
                    let working = working.clone();
                    if self.shared.changed.wait_until(&mut slot, end).timed_out() {
                        return Readiness::Starting(working);
                    }
                }
            }
        }
    }

    /// Hands a cell to the executor. Events arrive on the channel. The last one is an empty piece of output that only
    /// wakes the receiver, sent after the outcome is in the ticket.
    pub fn execute(&self, cell: u64, text: &str, origin: Origin, events: Sender<Event>) -> Ticket {
        let ticket = Ticket(Arc::new(Mutex::new(None)));
        let command = Command::Execute { cell, text: text.to_string(), origin, events, ticket: ticket.clone() };
        self.send(command);
        ticket
    }

    fn send(&self, command: Command) -> bool {
        let sent = self.commands.send(command).is_ok();
        if let Some(bell) = &self.shared.bell {
            bell.ring();
        }
        sent
    }

    /// Passes on output of threads and child processes of earlier cells from here on.
    pub fn pass_late_output_to(&self, events: Sender<Event>) {
        *self.shared.late.lock() = Some(events);
        if let Some(bell) = &self.shared.bell {
            bell.ring();
        }
    }

    /// As [`ExecutorThread::execute`], for the callbacks of changed controls.
    pub fn run_callbacks(&self, number: u64, change: Change, dropped: Vec<String>, events: Sender<Event>) -> Ticket {
        let ticket = Ticket(Arc::new(Mutex::new(None)));
        self.send(Command::React { number, change, dropped, events, ticket: ticket.clone() });
        ticket
    }

    pub fn interrupt(&self) {
        let interrupter = self.shared.interrupter.lock().clone();
        if let Some(interrupter) = interrupter {
            interrupter.interrupt();
        }
    }

    pub fn rustc_version(&self) -> Option<String> {
        self.shared.rustc.lock().clone()
    }

    /// The names that the last finished cell left. Waits up to `limit` for an executor that is just starting.
    pub fn names(&self, limit: Duration) -> Arc<Names> {
        let end = Instant::now() + limit;
        let mut slot = self.shared.slot.lock();
        while matches!(*slot, Slot::Starting(_)) && !self.shared.changed.wait_until(&mut slot, end).timed_out() {}
        drop(slot);
        Arc::clone(&self.shared.names.lock())
    }

    /// Ends the executor and waits for that, but not longer than `limit`.
    pub fn stop(&self, limit: Duration) {
        if !self.send(Command::Stop) {
            return;
        }
        let end = Instant::now() + limit;
        let mut slot = self.shared.slot.lock();
        // One that is just starting has nothing to lose: what it does ends with this process.
        while !matches!(*slot, Slot::Stopped | Slot::Starting(_)) {
            if self.shared.changed.wait_until(&mut slot, end).timed_out() {
                return;
            }
        }
    }
}

fn serve(shared: &Arc<ExecutorState>, inbox: &Receiver<Command>) {
    while let Some(command) = next(shared, inbox) {
        match command {
            Command::Start => start(shared),
            Command::Execute { cell, text, origin, events, ticket } => {
                let outcome = execute(shared, &events, |executor| executor.execute_from(origin, cell, &text, &events));
                finish(&ticket, outcome, &events);
            }
            Command::React { number, change, dropped, events, ticket } => {
                let outcome =
                    execute(shared, &events, |executor| executor.run_callbacks(number, change, dropped, &events));
                finish(&ticket, outcome, &events);
            }
            Command::Stop => {
                if let Some(executor) = shared.executor.lock().take() {
                    let _ = catch_unwind(AssertUnwindSafe(|| executor.shutdown()));
                }
                *shared.slot.lock() = Slot::Stopped;
                shared.changed.notify_all();
                return;
            }
        }
    }
}

/// The next command. Until it comes, what earlier cells' threads print is passed on.
fn next(shared: &Arc<ExecutorState>, inbox: &Receiver<Command>) -> Option<Command> {
    loop {
        match inbox.try_recv() {
            Ok(command) => return Some(command),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        let late = shared.late.lock().clone();
        let mut executor = shared.executor.lock();
        match (&mut *executor, &shared.bell, late) {
            (Some(executor), Some(bell), Some(late)) => executor.between(bell, &late),
            _ => {
                drop(executor);
                return inbox.recv().ok();
            }
        }
    }
}

fn start(shared: &Arc<ExecutorState>) {
    if shared.executor.lock().is_some() {
        return;
    }
    let (events, working) = mpsc::channel();
    let status = Arc::clone(shared);
    let _ = std::thread::Builder::new().name("start events".into()).spawn(move || {
        while let Ok(event) = working.recv() {
            if let Event::Working { what, fraction } = event {
                let mut slot = status.slot.lock();
                if matches!(*slot, Slot::Starting(_)) {
                    *slot = Slot::Starting(Some((what, fraction)));
                    status.changed.notify_all();
                }
            }
        }
    });
    let started = catch_unwind(AssertUnwindSafe(|| Executor::start(shared.config.clone(), &events)));
    let slot = match started {
        Ok(Ok(executor)) => {
            *shared.interrupter.lock() = Some(executor.interrupter());
            *shared.rustc.lock() = Some(executor.rustc_version().to_string()).filter(|version| !version.is_empty());
            *shared.names.lock() = Arc::new(executor.names());
            *shared.executor.lock() = Some(executor);
            Slot::Ready
        }
        Ok(Err(diagnostic)) => Slot::Failed(diagnostic),
        Err(_) => Slot::Failed(Diagnostic::error(Class::Internal, "internal", "starting the cell process panicked")),
    };
    *shared.slot.lock() = slot;
    shared.changed.notify_all();
}

fn finish(ticket: &Ticket, outcome: Outcome, events: &Sender<Event>) {
    *ticket.0.lock() = Some(outcome);
    let _ = events.send(Event::Output { stream: Stream::Stdout, text: String::new() });
}

fn execute(
    shared: &Arc<ExecutorState>,
    events: &Sender<Event>,
    work: impl FnOnce(&mut Executor) -> Outcome,
) -> Outcome {
    let mut guard = shared.executor.lock();
    let Some(executor) = guard.as_mut() else { return lost() };
    match catch_unwind(AssertUnwindSafe(|| work(executor))) {
        Ok(outcome) => {
            *shared.names.lock() = Arc::new(executor.names());
            outcome
        }
        Err(_) => {
            // Its state may be half changed: start anew rather than go on with that.
            if let Some(executor) = guard.take() {
                let _ = catch_unwind(AssertUnwindSafe(|| executor.shutdown()));
            }
            drop(guard);
            *shared.slot.lock() = Slot::Starting(None);
            start(shared);
            let _ = events.send(Event::Lost);
            let diagnostic =
                Diagnostic::error(Class::Internal, "internal", "a bug in the kernel: running the cell panicked")
                    .note("variables and items of earlier cells are lost; frames in the session are not")
                    .help("run the earlier cells again; the kernel's console has the details");
            Outcome::Failed { generation: Generation(0), diagnostics: vec![diagnostic], ran: true }
        }
    }
}

/// The outcome of a cell whose worker is gone.
pub fn lost() -> Outcome {
    let diagnostic =
        Diagnostic::error(Class::Internal, "no-executor", "the cell process is not running").help("restart the kernel");
    Outcome::Failed { generation: Generation(0), diagnostics: vec![diagnostic], ran: false }
}
