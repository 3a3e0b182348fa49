//! Threads for calls, kept for the next ones: to start one takes longer than most calls.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use parking_lot::Mutex;

type Work = Box<dyn FnOnce() + Send>;

/// Idle threads that are kept; more end when their call does.
pub const KEPT: usize = 8;

/// Clones are the same threads.
#[derive(Clone)]
pub struct Threads {
    stack: usize,
    idle: Arc<Mutex<Vec<Sender<Work>>>>,
}

impl Threads {
    /// With stacks of so many bytes.
    pub fn new(stack: usize) -> Threads {
        Threads { stack, idle: Arc::default() }
    }

    /// Threads that wait for work.
    pub fn idle(&self) -> usize {
        self.idle.lock().len()
    }

    /// Runs the work on a separate thread. Returns `false` if the system has no more threads. The work must not panic.
    pub fn run(&self, work: impl FnOnce() + Send + 'static) -> bool {
        let mut work: Work = Box::new(work);
        loop {
            let Some(thread) = self.idle.lock().pop() else { break };
            match thread.send(work) {
                Ok(()) => return true,
                Err(back) => work = back.0,
            }
        }
        let idle = Arc::clone(&self.idle);
        let wait = move || {
            let (sender, receiver) = channel::<Work>();
            work();
            loop {
                {
                    let mut idle = idle.lock();
                    if idle.len() >= KEPT {
                        return;
                    }
                    idle.push(sender.clone());
                }
                match receiver.recv() {
                    Ok(work) => work(),
                    Err(_) => return,
                }
            }
        };
        std::thread::Builder::new().name("call".to_string()).stack_size(self.stack).spawn(wait).is_ok()
    }
}
