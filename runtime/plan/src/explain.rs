//! Plans as the user reads them: what runs, where, and why not on a GPU.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, displayable};

use crate::check::HIDDEN;

/// Where a node of a plan runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    Gpu,
    Cpu { reason: String },
}

/// The placement of a node. This build has one engine.
pub fn placement(_: &Arc<dyn ExecutionPlan>) -> Placement {
    Placement::Cpu { reason: "this build has only the CPU engine".to_string() }
}

/// A tree, the last step on top, indented by two for each input. With times: planning and running.
pub fn render(plan: &Arc<dyn ExecutionPlan>, times: Option<(Duration, Duration)>) -> String {
    let mut out = String::new();
    let mut reasons: Vec<String> = Vec::new();
    node(plan, 0, times.is_some(), &mut out, &mut reasons);
    for (index, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "cpu{}: {reason}", mark(index));
    }
    if let Some((planning, running)) = times {
        let _ = writeln!(out, "planned in {}, ran in {}", short(planning), short(running));
    }
    out
}

fn mark(index: usize) -> String {
    "*".repeat(index + 1)
}

fn node(plan: &Arc<dyn ExecutionPlan>, depth: usize, analyzed: bool, out: &mut String, reasons: &mut Vec<String>) {
    // Batching and buffering are no steps of the user's.
    if matches!(plan.name(), "CoalesceBatchesExec" | "CooperativeExec" | "OutputRequirementExec") {
        for child in plan.children() {
            node(child, depth, analyzed, out, reasons);
        }
        return;
    }
    let place = match placement(plan) {
        Placement::Gpu => "gpu".to_string(),
        Placement::Cpu { reason } => {
            let index = reasons.iter().position(|r| *r == reason).unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            format!("cpu{}", mark(index))
        }
    };
    let line = displayable(plan.as_ref()).one_line().to_string();
    let line = line.trim().replace(HIDDEN, "_");
    let (name, details) = line.split_once(": ").unwrap_or((line.as_str(), ""));
    let details: String = match details.chars().count() {
        0..=160 => details.to_string(),
        _ => details.chars().take(160).chain("…".chars()).collect(),
    };
    let _ = write!(out, "{}{} [{place}]", "  ".repeat(depth), step(name));
    if !details.is_empty() {
        let _ = write!(out, " {details}");
    }
    if analyzed && let Some(metrics) = plan.metrics() {
        let metrics = metrics.aggregate_by_name();
        if let Some(rows) = metrics.output_rows() {
            let _ = write!(out, "  rows={rows}");
        }
        let time = metrics.iter().find_map(|m| match m.value() {
            MetricValue::ElapsedCompute(time) => Some(time.value()),
            _ => None,
        });
        if let Some(nanos) = time {
            let _ = write!(out, "  time={}", short(Duration::from_nanos(nanos as u64)));
        }
    }
    out.push('\n');
    for child in plan.children() {
        node(child, depth + 1, analyzed, out, reasons);
    }
}

/// An operator's name in the words of the API.
fn step(name: &str) -> String {
    match name.trim_end_matches("Exec") {
        "Projection" => "select".to_string(),
        "Filter" => "filter".to_string(),
        "Aggregate" => "aggregate".to_string(),
        "Sort" | "SortPreservingMerge" => "sort".to_string(),
        "HashJoin" => "hash join".to_string(),
        "NestedLoopJoin" => "nested loop join".to_string(),
        "CrossJoin" => "cross join".to_string(),
        "WindowAgg" | "BoundedWindowAgg" => "window".to_string(),
        "GlobalLimit" | "LocalLimit" => "limit".to_string(),
        "DataSource" => "scan".to_string(),
        "CoalescePartitions" => "gather".to_string(),
        "Union" => "concat".to_string(),
        "Unnest" => "explode".to_string(),
        "PlaceholderRow" => "one row".to_string(),
        other => other.to_string(),
    }
}

fn short(time: Duration) -> String {
    match time.as_micros() {
        0..1_000 => format!("{} μs", time.as_micros()),
        1_000..1_000_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", time.as_secs_f64()),
    }
}
