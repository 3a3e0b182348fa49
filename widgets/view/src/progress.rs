//! Progress of running tasks as one line each, and the one line that stays at the end.

use std::fmt::Write as _;

use onrush_wire::format_integer::{grouped, thousands};
use onrush_wire::learn::Detail;
use onrush_wire::progress::{Loop, Task, TaskState};
use serde_json::{Value, json};

use crate::bundle::Bundle;
use crate::html::{bytes, escape};

/// The MIME type that the extension draws, with a stop button.
pub const MIME: &str = "application/vnd.onrush.progress.v1+json";

/// Width of the text bar, in cells.
const BAR: u64 = 20;
/// Maximum number of lines; of more tasks only the number is shown.
const MOST: usize = 8;
/// Tasks that took less are not named at the end.
const SHORT_MS: u64 = 500;

/// One task, and its nesting depth.
pub struct Line<'a> {
    pub depth: u32,
    pub work: Work<'a>,
}

pub enum Work<'a> {
    Task(&'a Task),
    Loop(&'a Loop),
}

impl Work<'_> {
    fn state(&self) -> TaskState {
        match self {
            Work::Task(task) => task.state,
            Work::Loop(one) => one.state,
        }
    }

    fn title(&self) -> &str {
        match self {
            Work::Task(task) => &task.title,
            Work::Loop(one) => &one.title,
        }
    }

    fn elapsed_ms(&self) -> u64 {
        match self {
            Work::Task(task) => task.elapsed_ms,
            Work::Loop(one) => one.elapsed_ms,
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state(), TaskState::Done | TaskState::Failed | TaskState::Cancelled)
    }

    /// The fraction done, from 0 to 1; by bytes if rows are unknown.
    fn part(&self) -> Option<f64> {
        let of = |done: u64, total: Option<u64>| total.filter(|t| *t > 0).map(|t| (done as f64 / t as f64).min(1.0));
        match self {
            Work::Task(task) => match task.steps {
                Some((done, total)) => of(done, Some(total)),
                None => of(task.rows, task.total_rows).or_else(|| of(task.bytes, task.total_bytes)),
            },
            Work::Loop(one) => of(one.done, one.total),
        }
    }
}

/// The lines while tasks run; if all have ended, the line that stays (empty: nothing stays).
pub fn progress(lines: &[Line<'_>]) -> Bundle {
    if lines.iter().all(|line| line.work.is_over()) { over(lines) } else { under_way(lines) }
}

fn under_way(lines: &[Line<'_>]) -> Bundle {
    let open: Vec<&Line<'_>> = lines.iter().filter(|line| !line.work.is_over()).collect();
    let (shown, hidden) = open.split_at(open.len().min(MOST));
    let done: Vec<&Line<'_>> = lines.iter().filter(|line| line.work.is_over() && is_long(line)).collect();
    let ended = (!done.is_empty()).then(|| folded(&done, thousands));
    let more = (!hidden.is_empty()).then(|| format!("and {} more", hidden.len()));
    let mut html = String::new();
    let mut text = Vec::new();
    if let Some(ended) = &ended {
        let _ = writeln!(html, "{}{}</div>", division(0, ".65"), escape(ended));
        text.push(folded(&done, |n| grouped(n, '_')));
    }
    for line in shown {
        html.push_str(&html_line(line));
        html.push_str(&crate::model::detail_html(detail(line)));
        text.push(text_line(line));
    }
    if let Some(more) = &more {
        let _ = writeln!(html, "{}{more}</div>", division(0, ".65"));
        text.push(more.clone());
    }
    // For front ends without buttons.
    html.push_str("<div style=\"font-size:.8em;opacity:.65\">the interrupt button (■) stops it</div>\n");
    let rows: Vec<Value> = shown.iter().map(|line| json_line(line)).collect();
    let mut bundle = Bundle::new();
    bundle.insert(MIME.into(), json!({ "version": 1, "ended": ended, "lines": rows, "more": more }));
    bundle.insert("text/html".into(), html.into());
    bundle.insert("text/plain".into(), text.join("\n").into());
    bundle
}

/// The line that stays: long tasks, their time and rows. `None` if all were quick.
fn over(lines: &[Line<'_>]) -> Bundle {
    let mut bundle = Bundle::new();
    let long: Vec<&Line<'_>> =
        lines.iter().filter(|line| is_long(line) || line.work.state() == TaskState::Cancelled).collect();
    if long.is_empty() {
        return bundle;
    }
    let (line, plain) = (folded(&long, thousands), folded(&long, |n| grouped(n, '_')));
    let html = match long.len() {
        1 => format!("{}{}</div>\n", division(0, ".75"), escape(&line)),
        _ => {
            let each: String = long.iter().take(50).map(|line| html_line(line)).collect();
            format!(
                "<details style=\"font-size:.9em\"><summary style=\"opacity:.75\">{}</summary>\n{each}</details>\n",
                escape(&line)
            )
        }
    };
    bundle.insert("text/html".into(), html.into());
    bundle.insert("text/plain".into(), plain.into());
    bundle
}

fn is_long(line: &Line<'_>) -> bool {
    line.work.elapsed_ms() >= SHORT_MS
}

/// Several finished tasks in one line.
fn folded(lines: &[&Line<'_>], number: impl Fn(u64) -> String + Copy) -> String {
    if let [line] = lines {
        let mut text = line.work.title().to_string();
        for fact in facts(&line.work, number) {
            let _ = write!(text, " · {fact}");
        }
        return text;
    }
    let outer = lines.iter().map(|line| line.depth).min().unwrap_or(0);
    // The time of inner tasks is part of the outer ones.
    let seconds = lines.iter().filter(|l| l.depth == outer).map(|l| l.work.elapsed_ms()).sum::<u64>() as f64 / 1000.0;
    let count: u64 = lines.iter().map(|line| if let Work::Task(task) = line.work { task.rows } else { 0 }).sum();
    let mut text = format!("{} steps", lines.len());
    if count > 0 {
        let _ = write!(text, " · {}", rows(count, number));
    }
    let of = |state: TaskState| lines.iter().filter(|line| line.work.state() == state).count();
    for (state, word) in [(TaskState::Cancelled, "stopped"), (TaskState::Failed, "failed")] {
        if of(state) > 0 {
            let _ = write!(text, " · {} {word}", of(state));
        }
    }
    let _ = write!(text, " · {}", span(seconds));
    text
}

fn division(depth: u32, opacity: &str) -> String {
    let indent = f64::from(depth.min(8)) * 1.5;
    format!(
        "<div style=\"font-size:.9em;line-height:1.6;white-space:nowrap;padding-left:{indent}em;opacity:{opacity}\">"
    )
}

fn html_line(line: &Line<'_>) -> String {
    let work = &line.work;
    let mut out = division(line.depth, "1");
    if work.state() == TaskState::Running
        && let Some(part) = work.part()
    {
        let percent = (part * 100.0).floor();
        let _ = write!(
            out,
            "<progress max=\"100\" value=\"{percent}\" style=\"width:8em;vertical-align:middle\"></progress> {percent}% · "
        );
    }
    let _ = write!(out, "<b>{}</b>", escape(work.title()));
    for fact in facts(work, thousands) {
        let _ = write!(out, " · {}", escape(&fact));
    }
    out.push_str("</div>\n");
    out
}

fn text_line(line: &Line<'_>) -> String {
    let work = &line.work;
    let mut out = "  ".repeat(line.depth.min(8) as usize);
    if work.state() == TaskState::Running
        && let Some(part) = work.part()
    {
        let full = (part * BAR as f64).floor() as u64;
        let bar: String = (0..BAR).map(|i| if i < full { '#' } else { '-' }).collect();
        let _ = write!(out, "[{bar}] {:.0}% ", (part * 100.0).floor());
    }
    out.push_str(work.title());
    for fact in facts(work, |n| grouped(n, '_')) {
        let _ = write!(out, " · {fact}");
    }
    out
}

fn json_line(line: &Line<'_>) -> Value {
    let task = if let Work::Task(task) = line.work { Some(task.id.0) } else { None };
    json!({
        "depth": line.depth, "title": line.work.title(), "part": line.work.part(), "facts": facts(&line.work, thousands),
        "task": task, "table": crate::model::detail_json(detail(line)),
    })
}

/// The trials or the curve of a training under way.
fn detail<'a>(line: &Line<'a>) -> Option<&'a Detail> {
    match line.work {
        Work::Task(task) if task.state == TaskState::Running => task.detail.as_ref(),
        _ => None,
    }
}

/// Stage, rows, bytes, rate, elapsed time and remaining time, as far as they are known.
fn facts(work: &Work<'_>, number: impl Fn(u64) -> String) -> Vec<String> {
    let seconds = work.elapsed_ms() as f64 / 1000.0;
    let mut facts = Vec::new();
    match work.state() {
        TaskState::Queued => return vec!["waiting".to_string()],
        TaskState::Cancelled => return vec![format!("stopped after {}", span(seconds))],
        TaskState::Failed => return vec![format!("failed after {}", span(seconds))],
        TaskState::Done | TaskState::Running => {}
    }
    match work {
        Work::Task(task) => facts_of_task(task, seconds, number, &mut facts),
        Work::Loop(one) => {
            match one.total {
                Some(total) if total > 0 => facts.push(format!("{} of {}", number(one.done.min(total)), number(total))),
                _ => facts.push(number(one.done)),
            }
            if seconds >= 0.5 && one.done > 0 {
                let rate = one.done as f64 / seconds;
                facts.push(if rate >= 10.0 { format!("{}/s", number(rate as u64)) } else { format!("{rate:.2}/s") });
            }
        }
    }
    facts.push(span(seconds));
    // An early estimate would only fluctuate.
    if work.state() == TaskState::Running
        && let Some(part) = work.part()
        && (0.02..1.0).contains(&part)
        && seconds >= 1.0
    {
        facts.push(format!("about {} left", span(seconds * (1.0 - part) / part)));
    }
    facts
}

fn facts_of_task(task: &Task, seconds: f64, number: impl Fn(u64) -> String, facts: &mut Vec<String>) {
    let is_running = task.state == TaskState::Running;
    if is_running && !task.stage.is_empty() && task.stage != task.title {
        facts.push(task.stage.clone());
    }
    if let Some((done, of)) = task.steps.filter(|_| is_running) {
        facts.push(format!("{} of {}", number(done.min(of)), number(of)));
        // Its columns were read before: their rows say nothing of where the training is.
        return;
    }
    match task.total_rows.filter(|_| is_running) {
        Some(total) if total > 0 => facts.push(format!("{} of {}", number(task.rows.min(total)), rows(total, &number))),
        _ if task.rows > 0 => facts.push(rows(task.rows, &number)),
        _ => {}
    }
    match task.total_bytes.filter(|_| is_running) {
        Some(total) if total > 0 => facts.push(format!("{} of {}", bytes(task.bytes.min(total)), bytes(total))),
        _ if task.bytes > 0 => facts.push(bytes(task.bytes)),
        _ => {}
    }
    if seconds >= 0.5 && is_running {
        if task.bytes > 0 {
            facts.push(format!("{}/s", bytes((task.bytes as f64 / seconds) as u64)));
        } else if task.rows > 0 {
            facts.push(format!("{}/s", rows((task.rows as f64 / seconds) as u64, &number)));
        }
    }
    if task.memory_bytes > 0 && is_running {
        facts.push(format!("{} memory", bytes(task.memory_bytes)));
    }
    if let Some(held) = task.device_bytes.filter(|held| *held > 0 && is_running) {
        facts.push(format!("{} on the device", bytes(held)));
    }
}

/// `1 row`, `250_000 rows`.
fn rows(count: u64, number: impl Fn(u64) -> String) -> String {
    format!("{} {}", number(count), if count == 1 { "row" } else { "rows" })
}

/// `0.8 s`, `42 s`, `3 min 5 s`, `2 h 10 min`.
fn span(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::{NotebookId, TaskId};

    use super::*;

    fn task(state: TaskState) -> Task {
        Task {
            id: TaskId(1),
            notebook: NotebookId("n".into()),
            title: "read <flights>.csv".into(),
            stage: "scan".into(),
            state,
            rows: 250_000,
            total_rows: Some(1_000_000),
            bytes: 30_000_000,
            total_bytes: None,
            elapsed_ms: 2_000,
            memory_bytes: 0,
            device_bytes: None,
            steps: None,
            detail: None,
        }
    }

    fn files(state: TaskState) -> Loop {
        Loop { id: 1, depth: 0, title: "files".into(), done: 3, total: Some(12), elapsed_ms: 6_000, state }
    }

    fn text(lines: &[Line<'_>]) -> String {
        progress(lines)["text/plain"].as_str().unwrap_or("").to_string()
    }

    fn line<'a>(depth: u32, work: Work<'a>) -> Line<'a> {
        Line { depth, work }
    }

    #[test]
    fn a_running_task_is_one_line() {
        let (running, done) = (task(TaskState::Running), task(TaskState::Done));
        let bundle = progress(&[line(0, Work::Task(&running))]);
        // A quarter in 2 s leaves 6 s; 30 MB in 2 s are 15 MB/s.
        assert_eq!(
            bundle["text/plain"],
            "[#####---------------] 25% read <flights>.csv · scan · 250_000 of 1_000_000 rows · 30.0 MB · 15.0 MB/s · 2.0 s · about 6.0 s left"
        );
        let html = bundle["text/html"].as_str().unwrap();
        assert!(html.contains("<b>read &lt;flights&gt;.csv</b>"), "{html}");
        assert!(html.contains("value=\"25\""), "{html}");
        assert_eq!(bundle[MIME]["lines"][0]["task"], 1);
        assert_eq!(bundle[MIME]["lines"][0]["part"], 0.25);
        // A task that ended before it is one line too.
        let both = text(&[line(0, Work::Task(&done)), line(0, Work::Task(&running))]);
        assert!(both.starts_with("read <flights>.csv · 250_000 rows · 30.0 MB · 2.0 s\n[#####"), "{both}");
    }

    #[test]
    fn what_is_inside_of_a_loop_stands_under_it() {
        let (files, inner) = (files(TaskState::Running), task(TaskState::Running));
        let text = text(&[line(0, Work::Loop(&files)), line(1, Work::Task(&inner))]);
        assert!(
            text.starts_with("[#####---------------] 25% files · 3 of 12 · 0.50/s · 6.0 s · about 18 s left\n  [#####"),
            "{text}"
        );
    }

    #[test]
    fn one_line_stays() {
        assert!(progress(&[]).is_empty());
        let quick = Task { elapsed_ms: 400, ..task(TaskState::Done) };
        assert!(progress(&[line(0, Work::Task(&quick))]).is_empty());
        let [done, stopped, failed, queued] =
            [TaskState::Done, TaskState::Cancelled, TaskState::Failed, TaskState::Queued].map(task);
        assert_eq!(text(&[line(0, Work::Task(&done))]), "read <flights>.csv · 250_000 rows · 30.0 MB · 2.0 s");
        assert_eq!(text(&[line(0, Work::Task(&stopped))]), "read <flights>.csv · stopped after 2.0 s");
        assert_eq!(text(&[line(0, Work::Task(&failed))]), "read <flights>.csv · failed after 2.0 s");
        assert_eq!(text(&[line(0, Work::Task(&queued))]), "read <flights>.csv · waiting");
        let ended = files(TaskState::Done);
        let lines = [line(0, Work::Loop(&ended)), line(1, Work::Task(&done)), line(1, Work::Task(&stopped))];
        assert_eq!(text(&lines), "3 steps · 500_000 rows · 1 stopped · 6.0 s");
        let html = progress(&lines);
        assert!(html["text/html"].as_str().unwrap().starts_with("<details"), "{html:?}");
        assert!(html.get(MIME).is_none(), "what is over needs no button");
    }

    #[test]
    fn of_very_many_only_the_number_is_said() {
        let running = task(TaskState::Running);
        let lines: Vec<Line<'_>> = (0..20).map(|_| line(0, Work::Task(&running))).collect();
        assert!(text(&lines).ends_with("\nand 12 more"));
    }

    #[test]
    fn times() {
        assert_eq!(span(0.84), "0.8 s");
        assert_eq!(span(59.9), "1 min 0 s");
        assert_eq!(span(7800.0), "2 h 10 min");
    }
}
