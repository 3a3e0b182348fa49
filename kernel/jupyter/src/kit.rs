//! `onrush kit`: builds the prelude that cells link against, by starting a notebook's executor once.

use std::io::{IsTerminal, Write};
use std::sync::mpsc;

use onrush_cell::{Config, Event, Executor};
use onrush_wire::{NotebookId, paths};

/// Prints what is being done; returns when the prelude is there.
pub fn build() -> Result<(), String> {
    let (events, working) = mpsc::channel();
    let printer = std::thread::spawn(move || {
        let live = std::io::stderr().is_terminal();
        let mut last = String::new();
        while let Ok(event) = working.recv() {
            let Event::Working { what, fraction } = event else { continue };
            let line = match fraction {
                Some(fraction) => format!("{what}: {:.0} %", fraction * 100.0),
                None => what.clone(),
            };
            if live {
                eprint!("\r\x1b[K{line}");
                let _ = std::io::stderr().flush();
            } else if what != last {
                eprintln!("{line}");
            }
            last = what;
        }
        if live && !last.is_empty() {
            eprintln!();
        }
    });
    let config = Config {
        notebook: NotebookId("kit".into()),
        folder: std::env::temp_dir(),
        session_socket: paths::session_socket(),
        cache: None,
    };
    let executor = Executor::start(config, &events).map_err(|diagnostic| diagnostic.to_string())?;
    let version = executor.rustc_version().to_string();
    executor.shutdown();
    drop(events);
    let _ = printer.join();
    println!("The prelude for rustc {version} is ready in {}", paths::cache_dir().display());
    Ok(())
}
