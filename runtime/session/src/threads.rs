//! Threads for calls, kept for the next ones: to start one takes longer than most calls.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use parking_lot::Mutex;

type Work = Box<dyn FnOnce() + Send>;

/// Idle threads that are kept; more end when their call does.
const KEPT: usize = 8;

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn work_runs_beside_other_work_and_threads_are_used_again() {
        let threads = Threads::new(1 << 20);
        let (sender, receiver) = channel();
        // All run at once, so each has a separate thread.
        let all = Arc::new(Barrier::new(20));
        for _ in 0..20 {
            let (all, sender) = (Arc::clone(&all), sender.clone());
            assert!(threads.run(move || {
                all.wait();
                sender.send(std::thread::current().id()).unwrap();
            }));
        }
        let first: HashSet<_> = receiver.iter().take(20).collect();
        assert_eq!(first.len(), 20);
        // One after the other: those that were kept.
        while threads.idle.lock().len() < KEPT {
            std::thread::yield_now();
        }
        for _ in 0..20 {
            let sender = sender.clone();
            assert!(threads.run(move || sender.send(std::thread::current().id()).unwrap()));
            assert!(first.contains(&receiver.recv().unwrap()));
            while threads.idle.lock().len() < KEPT {
                std::thread::yield_now();
            }
        }
    }
}
