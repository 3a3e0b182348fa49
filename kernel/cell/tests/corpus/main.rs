//! Tests of the notebooks of `tests/cells`. Each notebook is a test, with the real compiler and a separate cell
//! process. Another test has rustc compile the notebooks as one program, which must print the same.
//!
//! `ONRUSH_CELLS=update` writes the results of the cells into the files. Read them before you commit them.

mod format;
mod program;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::{env, fs, panic, thread};

use onrush_cell::{Config, Event, Executor, Outcome, prelude_build};
use onrush_wire::display::Content;
use onrush_wire::host::Stream;
use onrush_wire::{Diagnostic, NotebookId, Severity, paths};

use format::Notebook;

/// The test that compiles the notebooks as one program.
const PROGRAM: &str = "one_program";
/// Notebooks that are tested at the same time.
const PARALLEL: usize = 2;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cells")
}

/// `types/closures` and its file, in order.
fn files() -> Vec<(String, PathBuf)> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        entries.map(|entry| entry.unwrap_or_else(|e| panic!("{e}")).path()).collect()
    };
    let mut files = Vec::new();
    for area in list(&folder()).into_iter().filter(|path| path.is_dir()) {
        for path in list(&area).into_iter().filter(|path| path.extension().is_some_and(|e| e == "txt")) {
            let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.push((format!("{}/{}", name(&area), name(&path)), path));
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> Notebook {
    format::parse(&fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// A cache with the prelude build and without compiled cells. `Drop` removes it.
struct Cache(PathBuf);

impl Cache {
    fn new() -> Self {
        let usual = paths::cache_dir();
        prelude_build::ensure(&usual, &mut |_, _| {}).unwrap_or_else(|e| panic!("{e:#?}"));
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("onrush-cells-{}-{count}", std::process::id()));
        fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        std::os::unix::fs::symlink(usual.join("kit"), folder.join("kit")).unwrap_or_else(|e| panic!("{e}"));
        Cache(folder)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a notebook's cells, and gives the lines of each.
fn execute(notebook: &Notebook) -> Vec<Vec<String>> {
    let cache = Cache::new();
    let config = Config {
        notebook: NotebookId("cells".into()),
        folder: cache.0.clone(),
        session_socket: cache.0.join("no-session.sock"),
        cache: Some(cache.0.clone()),
        file: None,
    };
    let (events, _receiver) = channel();
    let mut executor = Executor::start(config, &events).unwrap_or_else(|e| panic!("{e:#?}"));
    let mut lines = Vec::new();
    for (number, cell) in (1..).zip(&notebook.cells) {
        let (events, receiver) = channel();
        let reader = thread::spawn(move || collect(receiver, number));
        let outcome = executor.execute(number, &cell.code, &events);
        drop(events);
        let mut given = reader.join().unwrap_or_else(|_| panic!("the events of a cell"));
        if let Outcome::Failed { diagnostics, .. } = outcome {
            diagnostics.iter().for_each(|diagnostic| describe(diagnostic, number, &mut given));
        }
        lines.push(given);
    }
    executor.shutdown();
    lines
}

fn collect(events: Receiver<Event>, number: u64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Text whose line has not ended, and its mark.
    let mut open: Option<(&str, String)> = None;
    let close = |open: &mut Option<(&str, String)>, lines: &mut Vec<String>| {
        if let Some((mark, text)) = open.take() {
            lines.push(format!("{mark} {text}\\"));
        }
    };
    for event in events {
        if !matches!(event, Event::Output { .. } | Event::Late { .. }) {
            close(&mut open, &mut lines);
        }
        match event {
            Event::Output { stream, text } | Event::Late { stream, text, .. } => {
                let mark = if stream == Stream::Stdout { "//>" } else { "//2>" };
                if open.as_ref().is_some_and(|(other, _)| *other != mark) {
                    close(&mut open, &mut lines);
                }
                // A return of the carriage would be taken for the end of a line in the file.
                let text = open.take().map_or_else(String::new, |(_, text)| text) + &text.replace('\r', "␍");
                let mut pieces: Vec<&str> = text.split('\n').collect();
                let last = pieces.pop().filter(|text| !text.is_empty());
                lines.extend(pieces.into_iter().map(|line| format!("{mark} {line}")));
                open = last.map(|text| (mark, text.to_string()));
            }
            Event::Display(display) => match display.content {
                Content::Text(text) | Content::Plan(text) => {
                    lines.extend(text.split('\n').map(|line| format!("//= {line}")))
                }
                Content::Mime(bundle) => {
                    for (kind, data) in bundle {
                        lines.extend(data.trim_end().split('\n').map(|line| format!("//= {kind}: {line}")));
                    }
                }
                Content::Table(table) | Content::Frame { preview: table, .. } => {
                    let rows = table.head.iter().chain(&table.tail);
                    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
                    lines.push(format!("//= table of {}: {}", table.total_rows, names.join(", ")));
                    lines.extend(rows.map(|row| format!("//= {row:?}")));
                }
                Content::Panel(panel) => {
                    let shown = panel.controls.iter().filter(|control| !control.label.is_empty());
                    lines.extend(shown.map(|control| format!("//= control {}: {:?}", control.label, control.setting)));
                }
                Content::Model(card) => lines.push(format!("//= {}", card.title)),
                Content::GraphCard(card) => {
                    lines.push(format!("//= a graph of {} nodes and {} edges", card.nodes, card.edges));
                }
                Content::Plot(_) | Content::Raster { .. } => lines.push("//= a plot".to_string()),
                Content::Dashboard { data, .. } => lines.push(format!("//= a dashboard of {} rows", data.rows)),
                Content::Graph(plot) | Content::GraphView { plot, .. } => {
                    lines.push(format!("//= a picture of {} nodes and {} edges", plot.nodes, plot.edges));
                }
            },
            Event::Begin { reply, .. } => drop(reply.send(Ok(()))),
            Event::Input { prompt, reply, .. } => {
                lines.push(format!("//= asks {prompt}"));
                drop(reply.send(Some("typed".to_string())));
            }
            Event::Warning(warning) => describe(&warning, number, &mut lines),
            Event::SavePicture { reply, .. } => drop(reply.send(Ok(()))),
            Event::NeedSession { reply } => drop(reply.send(Ok(()))),
            // Not an output. A question whose reply is dropped has no answer.
            _ => {}
        }
    }
    close(&mut open, &mut lines);
    lines
}

/// `//! error[E0382]: message @ 2:5`, and a line for each of its labels, notes and helps.
fn describe(diagnostic: &Diagnostic, number: u64, lines: &mut Vec<String>) {
    let place = |span: &onrush_wire::Span| {
        let own = span.file == onrush_cell::executor::cell_file(number);
        let file = span.file.trim_end_matches(".rs").replace('_', " ");
        format!("{}{}:{}", if own { String::new() } else { format!("{file}, ") }, span.line, span.column)
    };
    let kind = if diagnostic.severity == Severity::Warning { "warning" } else { "error" };
    let primary = diagnostic.labels.iter().find(|label| label.primary);
    let at = primary.map_or_else(String::new, |label| format!(" @ {}", place(&label.span)));
    let message = diagnostic.message.replace('\n', "⏎");
    lines.push(format!("//! {kind}[{}]: {message}{at}", diagnostic.code));
    for label in diagnostic.labels.iter().filter(|label| !label.text.is_empty()) {
        lines.push(format!("//!   label: {} @ {}", label.text.replace('\n', "⏎"), place(&label.span)));
    }
    lines.extend(diagnostic.notes.iter().map(|note| format!("//!   note: {}", note.replace('\n', "⏎"))));
    lines.extend(diagnostic.help.iter().map(|help| format!("//!   help: {}", help.replace('\n', "⏎"))));
}

fn test_notebook(name: &str, path: &Path) {
    let notebook = read(path);
    assert!(notebook.header.starts_with("//! "), "{name} does not begin with `//! ` and what it is about");
    let actual = execute(&notebook);
    if env::var_os("ONRUSH_CELLS").is_some_and(|mode| mode == "update") {
        let text = format::write(&notebook, &actual);
        return fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    assert!(notebook.cells.iter().any(|cell| !cell.expected.is_empty()), "{name} expects nothing");
    let mut wrong = Vec::new();
    for (number, (cell, lines)) in (1..).zip(notebook.cells.iter().zip(&actual)) {
        if let Some(difference) = format::difference(&cell.expected, lines) {
            let indented = |text: &str| text.replace('\n', "\n    ");
            let given = indented(&lines.join("\n"));
            wrong.push(format!("cell {number}: {}\n  {difference}\n  it gave:\n    {given}", indented(&cell.code)));
        }
    }
    assert!(wrong.is_empty(), "tests/cells/{name}.txt\n{}", wrong.join("\n"));
}

fn test(name: &str, path: Option<&Path>) -> bool {
    let run = || match path {
        Some(path) => test_notebook(name, path),
        None => program::test(&files().into_iter().map(|(name, path)| (name, read(&path))).collect::<Vec<_>>()),
    };
    panic::catch_unwind(run).is_ok()
}

/// The part of libtest that cargo and nextest use: `--list`, `--exact NAME`, and names to filter by.
fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let filters: Vec<&String> = filters.into_iter().filter(|word| *word != "terse").collect();
    let fits = |name: &String| match flag("--exact") {
        true => filters.contains(&name),
        false => filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())),
    };
    let named = files().into_iter().map(|(name, path)| (name, Some(path)));
    let tests: Vec<_> = named.chain([(PROGRAM.to_string(), None)]).filter(|(name, _)| fits(name)).collect();
    if flag("--list") {
        // There are no ignored ones.
        if !flag("--ignored") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    // The message says which file and which cell; where in this file it was found helps nobody.
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
        eprintln!("{}", text.unwrap_or("a panic without a text"));
    }));
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some((name, path)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let passed = test(name, path.as_deref());
                    failed.fetch_add(usize::from(!passed), Ordering::Relaxed);
                    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
                }
            });
        }
    });
    let failed = failed.into_inner();
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {} passed; {failed} failed; 0 ignored", tests.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
