//! Plans as the user reads them: what runs, where, and why not on a GPU.

pub mod expr_display;

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::JoinType;
use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use onrush_device::phases::Phases;
use onrush_gpu::{ConcatExec, GpuExec, PARTITIONS_METRIC, memory, windows};
use onrush_logical::mem_table::HeldRows;
use onrush_logical::ops::describe::DescribeExec;

use self::expr_display::Names;

/// Where a node of a plan runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    Gpu,
    Cpu { reason: String },
}

/// The placement of a node outside of fragments for a device.
pub type PlacementOf<'p> = &'p dyn Fn(&Arc<dyn ExecutionPlan>) -> Placement;

/// Names rows in memory: a title for the first of the batches that a scan reads.
pub type Titles<'t> = &'t dyn Fn(&[RecordBatch]) -> Option<String>;

/// How long an analysed plan took.
pub struct Times {
    pub planned: Duration,
    pub ran: Duration,
    /// Time of the device and of what it needs, in both.
    pub phases: Phases,
}

/// A tree, the last step on top, indented by two for each input.
pub fn render(plan: &Arc<dyn ExecutionPlan>, titles: Titles, placing: PlacementOf, times: Option<Times>) -> String {
    let mut tree = Tree { out: String::new(), reasons: Vec::new(), titles, placing, analyzed: times.is_some() };
    let names = names(plan);
    tree.node(plan, 0, &names);
    let mut out = tree.out;
    match tree.reasons.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(out, "[cpu] {one}");
        }
        many => {
            for (index, reason) in many.iter().enumerate() {
                let _ = writeln!(out, "[cpu{}] {reason}", mark(index));
            }
        }
    }
    if let Some(Times { planned, ran, phases }) = times {
        let _ = writeln!(out, "planned in {}, ran in {}", short(planned), short(ran));
        if !phases.is_zero() {
            let _ = writeln!(out, "of this: {phases}");
        }
    }
    out
}

/// All reasons but the first are told apart by stars.
fn mark(index: usize) -> String {
    "*".repeat(index)
}

/// What the hidden columns of a plan stand for.
fn names(plan: &Arc<dyn ExecutionPlan>) -> HashMap<usize, Names> {
    let mut all = HashMap::new();
    collect(plan, &mut all);
    all
}

fn id(plan: &Arc<dyn ExecutionPlan>) -> usize {
    Arc::as_ptr(plan).cast::<()>() as usize
}

fn collect(plan: &Arc<dyn ExecutionPlan>, all: &mut HashMap<usize, Names>) -> Names {
    let any: &dyn Any = plan.as_ref();
    if let Some(fragment) = any.downcast_ref::<GpuExec>()
        && let Some(top) = fragment.chain().first()
    {
        for input in plan.children() {
            collect(input, all);
        }
        return collect(&top.node, all);
    }
    let mut below = Names::new();
    for child in plan.children() {
        below.extend(collect(child, all));
    }
    all.insert(id(plan), below.clone());
    let any: &dyn Any = onrush_parallel::stands_for(plan).as_ref();
    let mut names = Names::new();
    for field in plan.schema().fields() {
        if let Some(text) = below.get(field.name()) {
            names.insert(field.name().clone(), text.clone());
        }
    }
    if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
        names.clear();
        for item in projection.expr() {
            if expr_display::is_hidden(&item.alias) && !expr_display::is_telling(&item.alias) {
                names.insert(item.alias.clone(), expr_display::expr(&item.expr, &below));
            }
        }
    } else if let Some(windows) = windows(plan).or_else(|| onrush_parallel::windows(plan)) {
        for window in windows {
            if !expr_display::is_telling(window.name()) {
                names.insert(window.name().to_string(), expr_display::window(window, &below));
            }
        }
    } else if let Some(aggregate) = any.downcast_ref::<AggregateExec>() {
        names.clear();
        for aggregate in aggregate.aggr_expr() {
            names.insert(aggregate.name().to_string(), expr_display::aggregate(aggregate, &below));
        }
    }
    names
}

struct Tree<'t> {
    out: String,
    reasons: Vec<String>,
    titles: Titles<'t>,
    placing: PlacementOf<'t>,
    analyzed: bool,
}

impl Tree<'_> {
    fn node(&mut self, plan: &Arc<dyn ExecutionPlan>, depth: usize, names: &HashMap<usize, Names>) {
        let any: &dyn Any = plan.as_ref();
        if let Some(fragment) = any.downcast_ref::<GpuExec>() {
            return self.fragment(fragment, (plan, None), depth, names);
        }
        // The row of aggregates that a description shows.
        if let Some([row, ..]) = any.downcast_ref::<DescribeExec>().map(|describe| &describe.inputs[..]) {
            let any: &dyn Any = row.as_ref();
            if let Some(fragment) = any.downcast_ref::<GpuExec>() {
                return self.fragment(fragment, (row, Some("describe")), depth, names);
            }
        }
        let empty = Names::new();
        let line = self.line(plan, names.get(&id(plan)).unwrap_or(&empty));
        let Some(line) = line else {
            for child in plan.children() {
                self.node(child, depth, names);
            }
            return;
        };
        let place = match (self.placing)(plan) {
            Placement::Gpu => "gpu".to_string(),
            Placement::Cpu { reason } => {
                let index = self.reasons.iter().position(|r| *r == reason).unwrap_or_else(|| {
                    self.reasons.push(reason);
                    self.reasons.len() - 1
                });
                format!("cpu{}", mark(index))
            }
        };
        self.start(&line, depth, &place);
        self.measured(plan);
        let below: Vec<&Arc<dyn ExecutionPlan>> = match described(plan) {
            Some(input) => input.into_iter().collect(),
            None => plan.children(),
        };
        for child in below {
            self.node(child, depth + 1, names);
        }
    }

    fn start(&mut self, line: &str, depth: usize, place: &str) {
        let line = match line.chars().count() {
            0..=200 => line.to_string(),
            _ => line.chars().take(200).chain("…".chars()).collect(),
        };
        let _ = write!(self.out, "{}{line}  [{place}]", "  ".repeat(depth));
    }

    /// A line for each step on the device; rows and time stand at the topmost, which may have another title.
    fn fragment(
        &mut self,
        fragment: &GpuExec,
        (plan, title): (&Arc<dyn ExecutionPlan>, Option<&str>),
        depth: usize,
        names: &HashMap<usize, Names>,
    ) {
        let empty = Names::new();
        let mut depth = depth;
        let mut first = true;
        // Tables on the right come behind what is below on the left.
        let mut behind = Vec::new();
        for link in fragment.chain() {
            let line = match title.filter(|_| first) {
                Some(title) => Some(title.to_string()),
                None => self.line(&link.node, names.get(&id(&link.node)).unwrap_or(&empty)),
            };
            if let Some(line) = line {
                self.start(&line, depth, fragment.place());
                match first {
                    true => self.measured(plan),
                    false => self.out.push('\n'),
                }
                (first, depth) = (false, depth + 1);
            }
            match link.other {
                Some((other, true)) => self.input(&fragment.others()[other], fragment, depth, names),
                Some((other, false)) => behind.push((other, depth)),
                None => {}
            }
        }
        self.input(fragment.input(), fragment, depth, names);
        for (other, depth) in behind.into_iter().rev() {
            self.input(&fragment.others()[other], fragment, depth, names);
        }
    }

    /// What a fragment reads.
    fn input(
        &mut self,
        input: &Arc<dyn ExecutionPlan>,
        fragment: &GpuExec,
        depth: usize,
        names: &HashMap<usize, Names>,
    ) {
        let any: &dyn Any = input.as_ref();
        if any.is::<ConcatExec>() {
            self.start("concat", depth, fragment.place());
            self.out.push('\n');
            return input.children().into_iter().for_each(|input| self.input(input, fragment, depth + 1, names));
        }
        if memory(input).is_none() {
            return self.node(input, depth, names);
        }
        // Its columns are on the device, too.
        if let Some(line) = self.line(input, &Names::new()) {
            self.start(&line, depth, fragment.place());
            self.out.push('\n');
        }
    }

    /// Ends a line, with rows and time where they are known.
    fn measured(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        if self.analyzed
            && let Some(metrics) = plan.metrics()
        {
            let metrics = metrics.aggregate_by_name();
            if let Some(rows) = metrics.output_rows() {
                let _ = write!(self.out, "  rows={rows}");
            }
            let parts = metrics.sum_by_name(PARTITIONS_METRIC).map_or(0, |parts| parts.as_usize());
            if parts > 0 {
                let _ = write!(self.out, "  parts={parts}");
            }
            let time = metrics.iter().find_map(|m| match m.value() {
                MetricValue::ElapsedCompute(time) => Some(time.value()),
                _ => None,
            });
            if let Some(nanos) = time {
                let _ = write!(self.out, "  time={}", short(Duration::from_nanos(nanos as u64)));
            }
        }
        self.out.push('\n');
    }

    /// A node in a line; `None` for a node that is not a step of the user.
    fn line(&self, plan: &Arc<dyn ExecutionPlan>, names: &Names) -> Option<String> {
        let plan = onrush_parallel::stands_for(plan);
        let any: &dyn Any = plan.as_ref();
        if any.is::<DescribeExec>() {
            return Some("describe".to_string());
        }
        if let Some(node) = any.downcast_ref::<FilterExec>() {
            return Some(format!("filter {}", expr_display::expr(node.predicate(), names)));
        }
        if let Some(node) = any.downcast_ref::<ProjectionExec>() {
            return projection(node, names);
        }
        if let Some(node) = any.downcast_ref::<AggregateExec>() {
            // The states of each partition: the line above has the aggregates.
            if matches!(node.mode(), AggregateMode::Partial) {
                return None;
            }
            let aggregates: Vec<String> = node.aggr_expr().iter().map(|a| expr_display::aggregate(a, names)).collect();
            let keys: Vec<String> =
                node.group_expr().expr().iter().map(|(e, _)| expr_display::expr(e, names)).collect();
            return Some(match (aggregates.is_empty(), keys.is_empty()) {
                (true, _) => format!("distinct {}", keys.join(", ")),
                (_, true) => format!("aggregate {}", aggregates.join(", ")),
                _ => format!("aggregate {} by {}", aggregates.join(", "), keys.join(", ")),
            });
        }
        if let Some(windows) = windows(plan).or_else(|| onrush_parallel::windows(plan)) {
            let shown = windows.iter().filter(|w| !expr_display::is_row(w.name()));
            let shown: Vec<String> = shown.map(|w| expr_display::window(w, names)).collect();
            return (!shown.is_empty()).then(|| format!("window {}", shown.join(", ")));
        }
        if let Some(node) = any.downcast_ref::<SortExec>() {
            let keys = expr_display::keys(node.expr().iter(), names);
            let first = node.fetch().map(|n| format!(", {}", first_rows(n))).unwrap_or_default();
            return Some(match keys.is_empty() {
                true => format!("back in the frame's order{first}"),
                false => format!("sort by {keys}{first}"),
            });
        }
        if let Some(node) = any.downcast_ref::<HashJoinExec>() {
            let on: Vec<String> = node
                .on()
                .iter()
                .map(|(a, b)| match (expr_display::expr(a, names), expr_display::expr(b, names)) {
                    (a, b) if a == b => a,
                    (a, b) => format!("{b} == {a}"),
                })
                .collect();
            return Some(format!("{} join on {}", join(*node.join_type()), on.join(", ")));
        }
        if let Some(node) = any.downcast_ref::<NestedLoopJoinExec>() {
            return Some(format!("{} join on a condition", join(*node.join_type())));
        }
        if let Some(node) = any.downcast_ref::<GlobalLimitExec>() {
            return Some(limit(node.skip(), node.fetch()));
        }
        if let Some(node) = any.downcast_ref::<LocalLimitExec>() {
            return Some(limit(0, Some(node.fetch())));
        }
        if let Some(node) = any.downcast_ref::<DataSourceExec>() {
            return Some(self.scan(node, plan));
        }
        Some(match plan.name() {
            // Batching, buffering and gathering are no steps of the user's.
            "CoalesceBatchesExec"
            | "CooperativeExec"
            | "OutputRequirementExec"
            | "SortPreservingMergeExec"
            | "CoalescePartitionsExec"
            | "RepartitionExec"
            | "BufferExec"
            | "GatherExec"
            | "RuntimeFilterBuildExec"
            | "RowNumberExec"
            | "PartitionTopKExec"
            | "ColumnwiseExec" => return None,
            "CrossJoinExec" => "cross join".to_string(),
            "UnionExec" | "InterleaveExec" | "ConcatExec" => "concat".to_string(),
            "UnnestExec" => "explode".to_string(),
            "PlaceholderRowExec" => "one row".to_string(),
            "EmptyExec" => "no rows".to_string(),
            other => {
                let shown = displayable(plan.as_ref()).one_line().to_string();
                let shown = shown.trim().replace(onrush_expr::diagnostics::HIDDEN, "");
                let shown = shown.replacen("RuntimeFilterExec:", "runtime filter on", 1);
                let shown = shown.replacen("HashExchangeExec:", "exchange:", 1);
                match shown.strip_prefix(other) {
                    Some(rest) => format!("{}{rest}", other.trim_end_matches("Exec").to_lowercase()),
                    None => shown,
                }
            }
        })
    }

    fn scan(&self, node: &DataSourceExec, plan: &Arc<dyn ExecutionPlan>) -> String {
        let any: &dyn Any = node.data_source().as_ref();
        let read = plan.schema().fields().len();
        let (all, title) = match (any.downcast_ref::<HeldRows>(), any.downcast_ref::<MemorySourceConfig>()) {
            (Some(held), _) => (held.table().schema().fields().len(), (self.titles)(held.table().batches())),
            (None, Some(memory)) => {
                let title = memory.partitions().first().and_then(|batches| (self.titles)(batches));
                (memory.original_schema().fields().len(), title)
            }
            (None, None) => return format!("scan {read} columns"),
        };
        let title = title.unwrap_or_else(|| "rows in memory".to_string());
        match read == all {
            true => format!("scan {title} ({all} columns)"),
            false => format!("scan {title} ({read} of {all} columns)"),
        }
    }
}

/// What a `describe` describes, if `plan` is one: below the row of aggregates. `None` inside if its rows need not be
/// read.
fn described(plan: &Arc<dyn ExecutionPlan>) -> Option<Option<&Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    let mut open: Vec<_> = any.downcast_ref::<DescribeExec>()?.inputs.iter().collect();
    while let Some(node) = open.pop() {
        let any: &dyn Any = node.as_ref();
        match any.downcast_ref::<AggregateExec>() {
            // The one that has the rows: in front of it there may be one of several partitions' results.
            Some(aggregate) if *aggregate.mode() != AggregateMode::Final => return Some(Some(aggregate.input())),
            _ => open.extend(node.children()),
        }
    }
    Some(None)
}

fn join(kind: JoinType) -> &'static str {
    // The left frame is the side that is probed with.
    match kind {
        JoinType::Inner => "inner",
        JoinType::Right | JoinType::Left => "left",
        JoinType::Full => "full",
        JoinType::RightSemi | JoinType::LeftSemi => "semi",
        JoinType::RightAnti | JoinType::LeftAnti => "anti",
        _ => "mark",
    }
}

fn first_rows(n: usize) -> String {
    if n == 1 { "first row".to_string() } else { format!("first {n} rows") }
}

fn limit(skip: usize, fetch: Option<usize>) -> String {
    match (skip, fetch) {
        (0, Some(n)) => first_rows(n),
        (skip, Some(n)) => format!("{n} rows after the first {skip}"),
        (skip, None) => format!("without the first {skip} rows"),
    }
}

/// The columns that are computed or renamed; `None` if columns are only left out or put in another order.
fn projection(node: &ProjectionExec, names: &Names) -> Option<String> {
    let mut shown = Vec::new();
    let mut plain = 0;
    for item in node.expr() {
        let any: &dyn Any = item.expr.as_ref();
        if expr_display::is_hidden(&item.alias) {
            continue;
        }
        let text = expr_display::expr(&item.expr, names);
        // Under hidden names a join's columns are those of its sides.
        match any.downcast_ref::<Column>().is_some_and(|_| text == item.alias) {
            true => plain += 1,
            false => shown.push(format!("{} = {text}", item.alias)),
        }
    }
    match (shown.is_empty(), plain) {
        (true, _) => None,
        (false, 0) => Some(format!("select {}", shown.join(", "))),
        (false, 1) => Some(format!("select 1 column, {}", shown.join(", "))),
        (false, n) => Some(format!("select {n} columns, {}", shown.join(", "))),
    }
}

fn short(time: Duration) -> String {
    match time.as_micros() {
        0..1_000 => format!("{} μs", time.as_micros()),
        1_000..1_000_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", time.as_secs_f64()),
    }
}
