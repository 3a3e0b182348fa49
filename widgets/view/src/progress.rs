//! Tasks under way as one line each, and the line that stays when they have ended.

use std::fmt::Write as _;

use onrush_wire::progress::{Task, TaskState};

use crate::Bundle;
use crate::html::{bytes, escape, grouped, thousands};

/// Cells of the bar in text.
const BAR: u64 = 20;

/// See [`crate::progress`].
pub fn progress(tasks: &[Task]) -> Bundle {
    let mut bundle = Bundle::new();
    let ended = |t: &Task| matches!(t.state, TaskState::Done | TaskState::Failed | TaskState::Cancelled);
    // Once all is over only what the user stopped is worth a line: a result is its own sign, an error has its own output,
    // and a notebook that is run again should not differ by a duration.
    let shown: Vec<&Task> = if tasks.iter().all(ended) {
        tasks.iter().filter(|t| t.state == TaskState::Cancelled).collect()
    } else {
        tasks.iter().filter(|t| !ended(t)).collect()
    };
    if shown.is_empty() {
        return bundle;
    }
    let html: String = shown.iter().map(|t| html_line(t)).collect();
    let text: Vec<String> = shown.iter().map(|t| text_line(t)).collect();
    bundle.insert("text/html".into(), html.into());
    bundle.insert("text/plain".into(), text.join("\n").into());
    bundle
}

fn html_line(task: &Task) -> String {
    let mut out = "<div style=\"font-size:.9em;line-height:1.6;white-space:nowrap\">".to_string();
    let running = task.state == TaskState::Running;
    if running && let Some(part) = part(task) {
        let percent = (part * 100.0).floor();
        let _ = write!(
            out,
            "<progress max=\"100\" value=\"{percent}\" style=\"width:8em;vertical-align:middle\"></progress> {percent}% · "
        );
    }
    let _ = write!(out, "<b>{}</b>", escape(&task.title));
    for fact in facts(task, thousands) {
        let _ = write!(out, " · {}", escape(&fact));
    }
    out.push_str("</div>\n");
    out
}

fn text_line(task: &Task) -> String {
    let mut out = String::new();
    if task.state == TaskState::Running
        && let Some(part) = part(task)
    {
        let full = (part * BAR as f64).floor() as u64;
        let bar: String = (0..BAR).map(|i| if i < full { '#' } else { '-' }).collect();
        let _ = write!(out, "[{bar}] {:.0}% ", (part * 100.0).floor());
    }
    out.push_str(&task.title);
    for fact in facts(task, |n| grouped(n, '_')) {
        let _ = write!(out, " · {fact}");
    }
    out
}

/// Stage, rows, bytes, rate, time so far and time left, as far as they are known.
fn facts(task: &Task, number: impl Fn(u64) -> String) -> Vec<String> {
    let mut facts = Vec::new();
    let seconds = task.elapsed_ms as f64 / 1000.0;
    match task.state {
        TaskState::Queued => {
            facts.push("waiting".to_string());
            return facts;
        }
        TaskState::Cancelled => {
            facts.push(format!("stopped after {}", span(seconds)));
            return facts;
        }
        TaskState::Failed | TaskState::Done => {}
        TaskState::Running if !task.stage.is_empty() && task.stage != task.title => facts.push(task.stage.clone()),
        TaskState::Running => {}
    }
    match task.total_rows {
        Some(total) if total > 0 => facts.push(format!("{} of {} rows", number(task.rows.min(total)), number(total))),
        _ if task.rows > 0 => facts.push(format!("{} rows", number(task.rows))),
        _ => {}
    }
    match task.total_bytes {
        Some(total) if total > 0 => facts.push(format!("{} of {}", bytes(task.bytes.min(total)), bytes(total))),
        _ if task.bytes > 0 => facts.push(bytes(task.bytes)),
        _ => {}
    }
    if seconds >= 0.5 {
        if task.bytes > 0 {
            facts.push(format!("{}/s", bytes((task.bytes as f64 / seconds) as u64)));
        } else if task.rows > 0 {
            facts.push(format!("{} rows/s", number((task.rows as f64 / seconds) as u64)));
        }
    }
    if task.memory_bytes > 0 {
        facts.push(format!("{} memory", bytes(task.memory_bytes)));
    }
    facts.push(span(seconds));
    // An estimate from the first moments would only jump about.
    if task.state == TaskState::Running
        && let Some(part) = part(task)
        && (0.02..1.0).contains(&part)
        && seconds >= 1.0
    {
        facts.push(format!("about {} left", span(seconds * (1.0 - part) / part)));
    }
    facts
}

/// How much is done, from 0 to 1; by bytes where rows are unknown.
fn part(task: &Task) -> Option<f64> {
    let of = |done: u64, total: Option<u64>| total.filter(|t| *t > 0).map(|t| (done as f64 / t as f64).min(1.0));
    of(task.rows, task.total_rows).or_else(|| of(task.bytes, task.total_bytes))
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
        }
    }

    #[test]
    fn a_running_task_is_one_line() {
        let bundle = progress(&[task(TaskState::Running), task(TaskState::Done)]);
        // A quarter in 2 s leaves 6 s; 30 MB in 2 s are 15 MB/s.
        assert_eq!(
            bundle["text/plain"],
            "[#####---------------] 25% read <flights>.csv · scan · 250_000 of 1_000_000 rows · 30.0 MB · 15.0 MB/s · 2.0 s · about 6.0 s left"
        );
        let html = bundle["text/html"].as_str().unwrap();
        assert!(html.contains("<b>read &lt;flights&gt;.csv</b>"), "{html}");
        assert!(html.contains("value=\"25\""), "{html}");
    }

    #[test]
    fn only_what_was_stopped_stays() {
        assert!(progress(&[]).is_empty());
        assert!(progress(&[task(TaskState::Done), task(TaskState::Failed)]).is_empty());
        let bundle = progress(&[task(TaskState::Done), task(TaskState::Cancelled)]);
        assert_eq!(bundle["text/plain"], "read <flights>.csv · stopped after 2.0 s");
        assert_eq!(progress(&[task(TaskState::Queued)])["text/plain"], "read <flights>.csv · waiting");
    }

    #[test]
    fn times() {
        assert_eq!(span(0.84), "0.8 s");
        assert_eq!(span(59.9), "1 min 0 s");
        assert_eq!(span(7800.0), "2 h 10 min");
    }
}
