//! `pivot`: the values of a column become columns. The input is run to find them.

use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use onrush_expr::column;
use onrush_expr::diagnostics::{self, HIDDEN};
use onrush_wire::{BinaryOp, Diagnostic, Expr, ExprKind, Span, Value};

use super::{Inputs, build, distinct_names, keep, names};

/// More columns than this are a mistake in the choice of `on`.
const MOST_COLUMNS: usize = 2000;

/// Aggregates that leave nulls out: the cells of other columns are null to them.
const AGGREGATES: [&str; 13] =
    ["first", "last", "sum", "mean", "median", "min", "max", "std", "var", "len", "count", "any", "all"];

pub struct Request<'a> {
    pub on: &'a [String],
    pub index: &'a [String],
    pub values: &'a [String],
    pub aggregate: &'a str,
}

pub fn pivot(
    inputs: &dyn Inputs,
    plan: LogicalPlan,
    request: Request,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    let unknown =
        |name: &str| diagnostics::place(diagnostics::unknown_column(name, plan.schema().as_arrow()), None, at, "");
    for name in request.on.iter().chain(request.index).chain(request.values) {
        if !available.contains(name) {
            return Err(unknown(name));
        }
    }
    if request.on.is_empty() {
        return Err(diagnostics::plan_error("argument", "`pivot` needs a column whose values become columns"));
    }
    let rest = |taken: &[String]| -> Vec<String> {
        available.iter().filter(|n| !request.on.contains(n) && !taken.contains(n)).cloned().collect()
    };
    let values = if request.values.is_empty() { rest(request.index) } else { request.values.to_vec() };
    let index = if request.index.is_empty() { rest(&values) } else { request.index.to_vec() };
    if index.is_empty() || values.is_empty() {
        return Err(diagnostics::plan_error(
            "argument",
            "`pivot` needs at least one index column and one values column",
        ));
    }
    let aggregate = if request.aggregate.is_empty() { "first" } else { request.aggregate };
    if !AGGREGATES.contains(&aggregate) {
        let list = AGGREGATES.join("`, `");
        let mut diagnostic =
            diagnostics::plan_error("unknown-function", format!("`pivot` cannot aggregate with `{aggregate}`"))
                .note(format!("it can with `{list}`"));
        if let Some(near) = diagnostics::nearest(aggregate, AGGREGATES) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        return Err(diagnostics::place(diagnostic, None, at, ""));
    }
    let distinct = distinct_values(inputs, &plan, request.on)?;
    if distinct.len() > MOST_COLUMNS {
        let message = format!(
            "`{}` has {} different values: as many columns would come out",
            request.on.join("`, `"),
            distinct.len()
        );
        return Err(diagnostics::plan_error("argument", message)
            .help("pivot on a column with fewer values, or cut it into intervals"));
    }
    let mut aggs = Vec::new();
    for value_name in &values {
        for (key, text) in &distinct {
            let is_one = |(name, value): (&String, &Value)| {
                let on = Expr::column(name.as_str());
                match value {
                    Value::Null => Expr::call("is_null", [on]),
                    value => both(BinaryOp::Equal, on, Expr::literal(value.clone())),
                }
            };
            let parts = request.on.iter().zip(key).map(is_one);
            let chosen = parts.reduce(|a, b| both(BinaryOp::And, a, b)).unwrap_or_else(|| Expr::literal(true));
            let case =
                |then: Expr| Expr::new(ExprKind::Case { branches: vec![(chosen.clone(), then)], otherwise: None });
            let this = Expr::column(value_name.clone());
            let result = match aggregate {
                "len" => Expr::call("count", [case(Expr::literal(1i64))]),
                "first" | "last" => {
                    // The first row of the group, or null if the group has none.
                    Expr::call("first_where", [this, chosen.clone(), Expr::literal(aggregate == "first")])
                }
                name => Expr::call(name, [case(this)]),
            };
            let name = if values.len() == 1 { text.clone() } else { format!("{value_name}_{text}") };
            aggs.push(result.alias(name));
        }
    }
    let row = format!("{HIDDEN}first_row");
    let out: Vec<String> = index
        .iter()
        .cloned()
        .chain(aggs.iter().filter_map(|a| match &a.kind {
            ExprKind::Alias(_, name) => Some(name.clone()),
            _ => None,
        }))
        .collect();
    distinct_names(out.iter().map(|n| (n.as_str(), None)), at)?;
    let keys: Vec<Expr> = index.iter().map(|n| Expr::column(n.clone())).collect();
    aggs.push(Expr::call("first_row", []).alias(row.clone()));
    let (plan, _) = super::group::grouped(plan, &keys, &aggs, at)?;
    let plan = build(LogicalPlanBuilder::new(plan).sort(vec![column(&row).sort(true, true)]))?;
    keep(plan, &out)
}

fn both(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
}

/// The values of `on` in the order of their first rows, with the names that their columns get: `x`, or `{"x",2}` of
/// several columns, as in Polars.
fn distinct_values(
    inputs: &dyn Inputs,
    plan: &LogicalPlan,
    on: &[String],
) -> Result<Vec<(Vec<Value>, String)>, Diagnostic> {
    let row = format!("{HIDDEN}first_row");
    let text = |at: usize| format!("{HIDDEN}text_{at}");
    let keys: Vec<Expr> = on.iter().map(|name| Expr::column(name.as_str())).collect();
    let mut aggs = vec![Expr::call("first_row", []).alias(row.clone())];
    for (at, key) in keys.iter().enumerate() {
        let as_text = Expr::call("first", [Expr::call("cast", [key.clone(), Expr::literal("str")])]);
        aggs.push(as_text.alias(text(at)));
    }
    let (grouped, _) = super::group::grouped(plan.clone(), &keys, &aggs, None)?;
    let plan = build(LogicalPlanBuilder::new(grouped).sort(vec![column(&row).sort(true, true)]))?;
    let table = inputs.rows(plan)?;
    let mut all = Vec::new();
    for batch in table.batches() {
        for i in 0..batch.num_rows() {
            let value = |column: usize| onrush_frame::value_at(batch.column(column), i);
            let values: Vec<Value> = (0..on.len()).map(value).collect();
            let texts = (0..on.len()).map(|at| match value(on.len() + 1 + at) {
                Value::Text(text) if on.len() > 1 && matches!(values[at], Value::Text(_)) => format!("\"{text}\""),
                Value::Text(text) => text,
                _ => "null".to_string(),
            });
            let texts: Vec<String> = texts.collect();
            let name = if on.len() == 1 { texts.concat() } else { format!("{{{}}}", texts.join(",")) };
            all.push((values, name));
        }
    }
    Ok(all)
}
