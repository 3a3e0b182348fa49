//! Answers to commands of a cell that the executor does not know: the session's engine and frames, and its processor
//! time.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onrush_cell::Times;
use onrush_wire::format_integer::grouped;
use onrush_wire::limits::size;
use onrush_wire::progress::{Task, TaskState};
use onrush_wire::session::{NamedFrame, NotebookUse};
use onrush_wire::{Class, Diagnostic, NotebookId, paths};

use crate::session::{self, Session};

/// `:engine`, or `:engine NAME`: for a session that is yet to start, or in which nothing is held, the engine that it
/// will have.
pub fn engine(choice: Option<&str>, session: &Arc<Session>) -> Result<String, Diagnostic> {
    if let Some(choice) = choice {
        let status = session::status(&paths::session_socket()).map(|(status, _)| status).ok();
        let running = status.as_ref().map(|status| status.engine.as_str());
        let is_own = |one: &NotebookUse| one.notebook.0.trim_end_matches(TABLES) == session.notebook().0;
        let is_empty = status.as_ref().is_some_and(|s| s.frames == 0 && s.notebooks.iter().all(is_own));
        let given = std::env::var(paths::ENGINE).ok();
        check_engine(choice, running.filter(|_| !is_empty), given.as_deref())?;
        match running {
            None => session.choose_engine(named(choice)),
            Some(running) if !["auto", running].contains(&named(choice)) => session.restart(named(choice))?,
            Some(_) => {}
        }
    }
    Ok(describe(session.engine().as_deref()))
}

fn named(choice: &str) -> &str {
    if choice == "gpu" { "cuda" } else { choice }
}

/// A session that runs has the engine that it was started with; one that does not gets what the kernel was started
/// with.
fn check_engine(choice: &str, running: Option<&str>, given: Option<&str>) -> Result<(), Diagnostic> {
    let no_engine = |message: String, help: &str| Diagnostic::error(Class::Environment, "engine", message).help(help);
    let choice = named(choice);
    if !["auto", "cpu", "cuda", "emulated"].contains(&choice) {
        return Err(no_engine(
            format!("there is no engine `{choice}`"),
            "engines are `auto`, `cpu`, `cuda` and `emulated`",
        ));
    }
    let given = given.filter(|given| running.is_none() && !given.is_empty() && *given != "auto");
    if let Some(given) = given.filter(|given| *given != choice) {
        return Err(no_engine(
            format!("this kernel was started with {}={given}, and its frames are on that engine", paths::ENGINE),
            "start it without that, or with another engine",
        ));
    }
    match running.filter(|running| choice != "auto" && *running != choice) {
        None => Ok(()),
        Some(running) => Err(no_engine(
            format!("the session runs on `{running}`: its engine is chosen when it starts"),
            &format!(
                "end the kernels of all notebooks, and say `:engine {choice}` before the first frame;\n\
                 `:engine auto` is what runs now"
            ),
        )),
    }
}

/// `:top`: what the session is doing, and what each notebook holds in it. Starts none.
pub fn top(own: &NotebookId) -> Result<String, Diagnostic> {
    let socket = paths::session_socket();
    let Ok((status, _)) = session::status(&socket) else {
        return Ok("no session runs: it starts with the first frame\n".to_string());
    };
    let tasks = session::all_tasks(&socket)?;
    let held: Vec<&NotebookUse> =
        status.notebooks.iter().filter(|one| one.frames > 0 || !one.notebook.0.ends_with(TABLES)).collect();
    let named: Vec<&NotebookId> = held.iter().map(|one| &one.notebook).collect();
    let name = |notebook: &NotebookId| {
        let (id, of) = notebook.0.strip_suffix(TABLES).map_or((&*notebook.0, ""), |id| (id, ", a table"));
        match id == own.0 {
            true => format!("this one{of}"),
            false => short_name(id, &named) + of,
        }
    };
    // A task may be of a notebook that was closed just now.
    let names = named.iter().copied().chain(tasks.iter().map(|task| &task.notebook)).map(name);
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0).max(10);
    let mut text = format!(
        "session   {} of {} in use, up {}\n\n{:<width$}  frames      memory\n",
        size(status.resident_bytes),
        size(status.memory_limit),
        duration(status.uptime_ms),
        "notebook",
    );
    if let Some(used) = status.device_bytes {
        text.insert_str(text.find('\n').unwrap_or(0), &format!(", {} on its device ({})", size(used), status.engine));
    }
    let spent = status.spent.iter().filter(|(_, time)| *time >= 1000);
    let spent: Vec<String> = spent.map(|(phase, time)| format!("{phase} {:.1} ms", *time as f64 / 1e3)).collect();
    if !spent.is_empty() {
        let at = text.find('\n').unwrap_or(0);
        text.insert_str(at, &format!("\ntime      {}", spent.join(", ")));
    }
    for one in held {
        let _ = writeln!(text, "{:<width$} {:>7} {:>11}", name(&one.notebook), one.frames, size(one.bytes));
    }
    let is_open = |task: &&Task| matches!(task.state, TaskState::Queued | TaskState::Running);
    let open: Vec<&Task> = tasks.iter().filter(is_open).collect();
    if open.is_empty() {
        text.push_str("\nno task runs\n");
        return Ok(text);
    }
    let _ = writeln!(text, "\n{:<width$}      time      memory  task", "notebook");
    for task in open {
        let (time, memory) = (duration(task.elapsed_ms), size(task.memory_bytes));
        let _ = writeln!(text, "{:<width$} {time:>9} {memory:>11}  {}", name(&task.notebook), task.title);
    }
    Ok(text)
}

/// Ends the ids by which a notebook's tables ask the session.
pub const TABLES: &str = " tables";
/// Between the name of a notebook's file and what tells it from others of that name.
const APART: char = '#';

/// An id for a notebook of this file that no other has.
pub fn notebook_id(file: Option<&Path>) -> NotebookId {
    const LONGEST: usize = 40;
    let unique = uuid::Uuid::new_v4();
    let name = file.and_then(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).unwrap_or_default();
    // Control characters would break the lines that name it.
    let name: String = name.chars().filter(|c| !c.is_control() && *c != APART).take(LONGEST).collect();
    if name.is_empty() { NotebookId(unique.to_string()) } else { NotebookId(format!("{name}{APART}{unique}")) }
}

/// The name by which a user knows a notebook; also the first figures of the id if several have that name.
fn short_name(notebook: &str, all: &[&NotebookId]) -> String {
    let Some((name, unique)) = notebook.split_once(APART) else { return notebook.chars().take(8).collect() };
    let alike = all.iter().filter(|one| one.0.split_once(APART).is_some_and(|(other, _)| other == name)).count();
    let figures = unique.chars().take(4).collect::<String>();
    if alike > 1 { format!("{name} ({figures})") } else { name.to_string() }
}

/// The session as it is now, or the engine that was `chosen` for the next. Starts none.
fn describe(chosen: Option<&str>) -> String {
    let socket = paths::session_socket();
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<8} {value}");
    };
    match session::status(&socket) {
        Ok((status, engine)) => {
            line("engine", format!("{engine} (DataFusion)"));
            line("device", device(&engine));
            line(
                "memory",
                format!(
                    "{} of {} held by {}",
                    size(status.resident_bytes),
                    size(status.memory_limit),
                    counted(status.frames, "frame")
                ),
            );
            let process = match status.engine_pid {
                Some(pid) => format!("process {}, engine {pid}", status.pid),
                None => format!("process {}, its engine starts with the next frame", status.pid),
            };
            let notebooks = counted(status.notebooks.len() as u64, "notebook");
            line("session", format!("{process}; up {}, {notebooks}", duration(status.uptime_ms)));
            if status.engine_starts > 1 {
                line("", format!("the engine was started {} times", status.engine_starts));
            }
        }
        Err(_) => {
            let given = std::env::var(paths::ENGINE).ok().filter(|given| !given.is_empty());
            let engine = chosen.map(str::to_string).or(given).unwrap_or_else(|| "auto".to_string());
            line("engine", engine.clone());
            line("device", device(&engine));
            line("session", "none runs: the first frame starts it with this engine".to_string());
        }
    }
    text
}

/// The device of an engine.
fn device(engine: &str) -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = format!("processor, {threads} {}", plural(threads, "thread"));
    match engine {
        "cpu" => processor,
        "auto" => format!("a GPU where one works, else {processor}"),
        other => format!("{other}; {processor} for what it cannot do"),
    }
}

/// Describes a frame of a variable by its size and place, and gives its bytes if its rows are held. Nothing is run.
pub fn frame(frame: &NamedFrame) -> (String, Option<u64>) {
    let columns = frame.schema.fields.len() as u64;
    let size = match frame.rows {
        Some(rows) => format!("{} × {}", grouped(rows, ','), grouped(columns, ',')),
        None => counted(columns, "column"),
    };
    match &frame.held {
        Some(held) => (format!("{size} on {}", held.place), Some(held.bytes)),
        None => (format!("planned, {size}"), None),
    }
}

/// The lines of `%%time`. `session`: processor time of the session's processes meanwhile.
pub fn times(times: &Times, session: Option<Duration>) -> String {
    let mut text =
        format!("wall {} · processor {} user, {} system", short(times.wall), short(times.user), short(times.system));
    // The session's work for other notebooks and between cells is not worth a word.
    if let Some(session) = session.filter(|time| *time >= Duration::from_millis(10)) {
        let _ = write!(text, " · session {}", short(session));
    }
    let how = if times.from_cache { "found compiled" } else { "compiled" };
    let _ = writeln!(text, "\n{how} in {} before that", short(times.compile));
    text
}

/// Processor time of processes since they began.
pub fn processor_time(pids: &[u32]) -> Duration {
    let of = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(Duration::from_millis(ticks * 10))
    };
    pids.iter().filter_map(of).sum()
}

/// `1.23 s`, `45.6 ms`, `789 µs`.
fn short(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s if s > 0.0 => format!("{:.0} µs", s * 1e6),
        _ => "0 ms".to_string(),
    }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { what.to_string() } else { format!("{what}s") }
}

/// `1 frame`, `336,776 rows`.
fn counted(count: u64, what: &str) -> String {
    format!("{} {}", grouped(count, ','), plural(count.try_into().unwrap_or(usize::MAX), what))
}

fn duration(milliseconds: u64) -> String {
    match milliseconds / 1000 {
        s if s < 120 => format!("{s} s"),
        s if s < 7200 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_two_lines() {
        let ms = Duration::from_millis;
        let measured = Times { compile: ms(98), from_cache: false, wall: ms(1234), user: ms(1100), system: ms(5) };
        let expected =
            "wall 1.23 s · processor 1.10 s user, 5.0 ms system · session 2.00 s\ncompiled in 98.0 ms before that\n";
        assert_eq!(times(&measured, Some(ms(2000))), expected);
        assert!(!times(&measured, Some(ms(0))).contains("session"));
    }

    #[test]
    fn engines_that_do_not_run_are_said() {
        for (name, running) in [("quantum", None), ("cuda", Some("cpu")), ("gpu", Some("cpu")), ("cpu", Some("cuda"))] {
            let error = check_engine(name, running, None).unwrap_err();
            assert!(error.message.contains(running.unwrap_or(name)) && !error.help.is_empty(), "{error:?}");
        }
        for (name, running) in [("cuda", None), ("auto", Some("cpu")), ("emulated", Some("emulated"))] {
            assert!(check_engine(name, running, None).is_ok());
        }
        let error = check_engine("emulated", None, Some("cpu")).unwrap_err();
        assert!(error.message.contains("ONRUSH_ENGINE=cpu"), "{error:?}");
        assert!(check_engine("gpu", None, Some("cuda")).is_ok() && check_engine("cpu", None, Some("auto")).is_ok());
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(counted(336776, "row"), "336,776 rows");
        assert_eq!(counted(1, "frame"), "1 frame");
        assert_eq!(size(3_600_000), "4 MB");
    }
}
