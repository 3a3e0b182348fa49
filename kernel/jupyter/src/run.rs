//! `onrush run`: executes a notebook without Jupyter and Python, with the core of the Jupyter kernel.

mod check;
mod ipynb;
mod parameters;
mod terminal;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::Args;

use crate::notebook::{Answer, CellError, CellSink, Notebook, Output};
use crate::options::{CellArgs, EngineArgs};
use ipynb::{Document, DocumentError};
use terminal::Terminal;

#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The notebook (nbformat 4)
    #[arg(value_name = "IN.ipynb")]
    input: PathBuf,
    /// Write the notebook with its outputs here; without it they are printed
    #[arg(long, short, value_name = "OUT.ipynb")]
    output: Option<PathBuf>,
    /// Run it and compare the outputs with the stored ones; print what differs
    #[arg(long, conflicts_with = "output")]
    check: bool,
    /// Give a variable of the cell tagged `parameters` another value; may be repeated
    #[arg(
        long = "parameter",
        short = 'p',
        value_name = "NAME=VALUE",
        value_parser = parameters::named,
        conflicts_with = "check"
    )]
    parameters: Vec<(String, String)>,
    /// Stop a cell that runs longer, such as 90s or 10m [default: none]
    #[arg(long, value_name = "TIME", value_parser = crate::options::duration)]
    timeout: Option<Duration>,
    /// Go on after a cell that fails
    #[arg(long)]
    allow_errors: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub cells: CellArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("{0}")]
    Parameter(String),
    #[error("signals cannot be received: {0}")]
    Signals(#[source] std::io::Error),
}

/// True if all cells did what they should. Everything that went wrong in a cell has been printed.
pub fn run(arguments: &Arguments) -> Result<bool, RunError> {
    let mut document = Document::read(&arguments.input)?;
    if !arguments.parameters.is_empty() {
        let notes = parameters::inject(&mut document, &arguments.parameters).map_err(RunError::Parameter)?;
        notes.iter().for_each(|note| eprintln!("note: {}", onrush_view::plain(note)));
    }
    let stored = if arguments.check { Some(Document::read(&arguments.input)?) } else { None };
    if let Some(output) = &arguments.output {
        ipynb::check_writable(output)?;
    }
    // Paths in cells are relative to the notebook, as in Jupyter.
    let folder = arguments.input.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let notebook = Notebook::open(folder.unwrap_or_else(|| PathBuf::from(".")), Some(arguments.input.clone()), false);
    let stopped = Arc::new(AtomicBool::new(false));
    catch_interrupts(Arc::clone(&notebook), Arc::clone(&stopped)).map_err(RunError::Signals)?;

    let begun = Instant::now();
    let mut terminal = Terminal::new(arguments.output.is_some() || arguments.check);
    let mut errors: HashMap<usize, String> = HashMap::new();
    let cells = document.code_cells();
    let total = cells.len();
    let mut count = 0;
    let mut failures: Vec<String> = Vec::new();
    document.clear_outputs();
    for (position, cell) in cells.into_iter().enumerate() {
        if !check::is_run(&cell) {
            continue;
        }
        count += 1;
        document.start_cell(cell.index, count);
        terminal.cell(count, position + 1, total, &cell.source);
        let watch = arguments.timeout.map(|limit| Watch::start(limit, Arc::clone(&notebook)));
        let mut sink = RunSink { document: &mut document, terminal: &mut terminal, cell: cell.index, count };
        let mut result = notebook.run_cell(count, &cell.source, &mut sink);
        if let Some(limit) = watch.and_then(Watch::expired)
            && let Err(error) = &mut result
        {
            *error = timeout_error(limit);
        }
        terminal.end_of_cell();
        if let Err(error) = result {
            document.add_error(cell.index, &error);
            // A check says of each failure whether it was expected.
            let expected = arguments.check || cell.has_tag("raises-exception");
            terminal.error(&error, expected);
            errors.insert(cell.index, error.evalue.clone());
            if stopped.load(Ordering::Relaxed) {
                failures.push(format!("cell {} of {total} (In [{count}]) was interrupted", position + 1));
                break;
            }
            if !expected {
                failures.push(format!("cell {} of {total} (In [{count}]) failed: {}", position + 1, error.evalue));
                if !arguments.allow_errors {
                    break;
                }
            }
        }
    }
    notebook.shutdown();
    if let Some(output) = &arguments.output {
        document.set_language(notebook.rustc_version());
        document.set_lock();
        document.write(output)?;
    }
    if let (Some(stored), true) = (&stored, failures.is_empty()) {
        return Ok(report(&arguments.input, stored, &document, &errors, begun.elapsed()));
    }
    for failure in &failures {
        terminal.failure(failure);
    }
    if let (Some(output), true) = (&arguments.output, failures.is_empty()) {
        eprintln!("{count} cells in {:.1} s: {}", begun.elapsed().as_secs_f64(), output.display());
    }
    Ok(failures.is_empty())
}

/// Prints what a check has found; true if the stored outputs follow.
fn report(path: &Path, stored: &Document, fresh: &Document, errors: &HashMap<usize, String>, took: Duration) -> bool {
    let report = check::compare(stored, fresh, &|index| errors.get(&index).cloned());
    let mut text: String = report.lines.iter().map(|line| format!("{line}\n")).collect();
    let (path, seconds) = (path.display(), took.as_secs_f64());
    let cells = |count: usize| format!("{count} cell{}", if count == 1 { "" } else { "s" });
    text.push_str(&match (report.compared, report.different) {
        (0, 0) => {
            format!("{path}: no outputs are stored, so there is nothing to compare; no cell fails ({seconds:.1} s)")
        }
        (0, failed) => format!("{path}: no outputs are stored, and {} failed", cells(failed)),
        (all, 0) => {
            format!(
                "{path}: the outputs of {} follow from running the notebook from top to bottom ({seconds:.1} s)",
                cells(all)
            )
        }
        (all, different) => {
            format!("{path}: {different} of {} do not follow from running the notebook from top to bottom", cells(all))
        }
    });
    println!("{text}");
    report.different == 0
}

/// The first Ctrl-C stops the cell, and with it the run; the second ends the program.
fn catch_interrupts(notebook: Arc<Notebook>, stopped: Arc<AtomicBool>) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = {
        let _inside = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            while interrupts.recv().await.is_some() {
                if stopped.swap(true, Ordering::Relaxed) {
                    notebook.shutdown();
                    #[expect(clippy::disallowed_methods, reason = "the second Ctrl-C ends the program at once")]
                    std::process::exit(130);
                }
                notebook.interrupt_cell();
            }
        });
    })?;
    Ok(())
}

/// Interrupts a cell that runs too long.
struct Watch {
    limit: Duration,
    expired: Arc<AtomicBool>,
    /// Dropped at the end of the cell.
    _done: mpsc::Sender<()>,
}

impl Watch {
    fn start(limit: Duration, notebook: Arc<Notebook>) -> Watch {
        let (done, ended) = mpsc::channel::<()>();
        let expired = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&expired);
        std::thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::Relaxed);
                notebook.interrupt_cell();
            }
        });
        Watch { limit, expired, _done: done }
    }

    /// The limit, if it was reached.
    fn expired(self) -> Option<Duration> {
        self.expired.load(Ordering::Relaxed).then_some(self.limit)
    }
}

fn timeout_error(limit: Duration) -> CellError {
    let text = format!("the cell ran longer than the limit of {} s and was stopped", limit.as_secs_f64());
    let help = "help: give it more time with --timeout".to_string();
    CellError { ename: "timeout".into(), evalue: text.clone(), traceback: vec![text, help] }
}

/// Outputs go into the document and onto the terminal.
struct RunSink<'a> {
    document: &'a mut Document,
    terminal: &'a mut Terminal,
    cell: usize,
    count: u64,
}

impl CellSink for RunSink<'_> {
    fn output(&mut self, output: Output) {
        self.terminal.output(&output, self.count);
        self.document.add_output(self.cell, output, self.count);
    }

    fn input(&mut self, prompt: &str, password: bool, interrupted: &dyn Fn() -> bool) -> Answer {
        if !std::io::stdin().is_terminal() {
            return Answer::Unavailable("nobody can be asked here: standard input is not a terminal".to_string());
        }
        self.terminal.prompt(prompt);
        let hidden = password.then(Hidden::new).flatten();
        if password && hidden.is_none() {
            return Answer::Unavailable("this terminal would show what is typed".to_string());
        }
        // Reading cannot be interrupted: a thread does it, which an interrupted run leaves behind.
        let (sender, line) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = sender.send(std::io::stdin().read_line(&mut line).map(|read| (read > 0).then_some(line)));
        });
        let answer = loop {
            match line.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(Some(line))) => break Answer::Line(line.trim_end_matches(['\n', '\r']).to_string()),
                Ok(Ok(None)) => break Answer::Unavailable("standard input has ended".to_string()),
                Ok(Err(error)) => break Answer::Unavailable(format!("standard input cannot be read: {error}")),
                Err(mpsc::RecvTimeoutError::Timeout) if !interrupted() => {}
                Err(_) => break Answer::Interrupted,
            }
        };
        if hidden.is_some() || matches!(answer, Answer::Interrupted) {
            println!();
        }
        answer
    }
}

/// The terminal shows nothing of what is typed as long as this lives.
struct Hidden;

impl Hidden {
    fn new() -> Option<Hidden> {
        stty("-echo").then_some(Hidden)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        stty("echo");
    }
}

fn stty(mode: &str) -> bool {
    Command::new("stty").arg(mode).status().is_ok_and(|status| status.success())
}
