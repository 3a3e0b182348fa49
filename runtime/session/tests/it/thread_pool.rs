//! Threads of calls.

use std::collections::HashSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

use onrush_session::thread_pool::{KEPT, Threads};

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
    while threads.idle() < KEPT {
        std::thread::yield_now();
    }
    for _ in 0..20 {
        let sender = sender.clone();
        assert!(threads.run(move || sender.send(std::thread::current().id()).unwrap()));
        assert!(first.contains(&receiver.recv().unwrap()));
        while threads.idle() < KEPT {
            std::thread::yield_now();
        }
    }
}
