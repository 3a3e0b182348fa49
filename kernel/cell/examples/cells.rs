//! Runs cells from a file, separated by lines of `---`, and prints what they show: the executor without Jupyter.
//!
//! `cargo run -p onrush-cell --example cells -- FILE`

use std::sync::mpsc::channel;

use onrush_cell::{Config, Event, Executor, Outcome};
use onrush_wire::display::Content;
use onrush_wire::{Diagnostic, NotebookId, paths};

fn print_diagnostic(kind: &str, d: &Diagnostic) {
    println!("  {kind}[{}] {:?}: {}", d.code, d.class, d.message);
    for label in &d.labels {
        let s = &label.span;
        let mark = if label.primary { "^" } else { "-" };
        println!("    {mark} {}:{}:{}+{} {}", s.file, s.line, s.column, s.length, label.text);
    }
    d.notes.iter().for_each(|n| println!("    note: {n}"));
    d.help.iter().for_each(|h| println!("    help: {h}"));
}

fn main() {
    let path = std::env::args().nth(1).expect("the file with the cells");
    let text = std::fs::read_to_string(path).expect("the file is readable");
    let config = Config {
        notebook: NotebookId(format!("example-{}", std::process::id())),
        folder: std::env::current_dir().expect("a folder"),
        session_socket: paths::session_socket(),
        cache: None,
        file: None,
    };
    let (events, progress) = channel();
    let printer = std::thread::spawn(move || {
        for event in progress {
            if let Event::Working { what, .. } = event {
                println!("{what}");
            }
        }
    });
    let mut executor = Executor::start(config, &events).unwrap_or_else(|d| {
        print_diagnostic("error", &d);
        #[expect(clippy::disallowed_methods, reason = "an example: there is nothing to clean up yet")]
        std::process::exit(1);
    });
    drop(events);
    let _ = printer.join();
    for (i, cell) in text.split("\n---\n").enumerate() {
        println!("In [{}]: {}", i + 1, cell.replace('\n', "\n        "));
        let (events, receiver) = channel();
        let reader = std::thread::spawn(move || {
            for event in receiver {
                match event {
                    Event::Output { stream, text } => println!("  {stream:?}: {text:?}"),
                    Event::Late { cell, stream, text } => println!("  {stream:?} of cell {cell}: {text:?}"),
                    Event::Display(display) => match display.content {
                        Content::Text(text) | Content::Plan(text) => println!("  shows {text}"),
                        other => println!("  shows {other:?}"),
                    },
                    Event::Begin { reply, .. } => drop(reply.send(Ok(()))),
                    Event::Input { reply, .. } => drop(reply.send(Some("typed".to_string()))),
                    Event::SavePicture { reply, .. } => drop(reply.send(Ok(()))),
                    Event::NeedSession { reply } => {
                        let none = Diagnostic::error(onrush_wire::Class::Environment, "no-session", "no session here");
                        drop(reply.send(Err(none)));
                    }
                    Event::Warning(warning) => print_diagnostic("warning", &warning),
                    Event::Timed(times) => println!("  {times:?}"),
                    Event::Engine { reply, .. } => drop(reply.send(Ok("engine   none\n".to_string()))),
                    Event::Frames { reply } => drop(reply.send(Vec::new())),
                    Event::ReadControl { reply, .. } => drop(reply.send(None)),
                    Event::Top { reply } => drop(reply.send(Ok(String::new()))),
                    // A question whose reply is dropped has no answer.
                    Event::Cluster { .. } => {}
                    Event::Loop(_) | Event::Control(_) | Event::Filter { .. } | Event::Capture | Event::Lost => {}
                    Event::Worked(line) => println!("  {line}"),
                    Event::Raised { traceback, .. } => println!("  {}", traceback.join("\n  ")),
                    Event::ClearOutput { .. } | Event::Working { .. } | Event::Flow(_) => {}
                }
            }
        });
        let start = std::time::Instant::now();
        let outcome = executor.execute(i as u64 + 1, cell, &events);
        let took = start.elapsed();
        drop(events);
        let _ = reader.join();
        if let Outcome::Failed { diagnostics, .. } = &outcome {
            diagnostics.iter().for_each(|d| print_diagnostic("error", d));
        }
        println!("  ({:.0} ms)", took.as_secs_f64() * 1e3);
    }
    executor.shutdown();
}
