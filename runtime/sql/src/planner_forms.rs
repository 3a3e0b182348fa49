//! Rewrites syntax that DataFusion's planner lacks: row values, `(a, b) in (select ...)`, `unnest` as a table, and
//! implicit `lateral`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, JoinOperator, ObjectName, Select, Statement, TableAlias, TableAliasColumnDef,
    TableFactor,
};
use onrush_expr::diagnostics::HIDDEN;

use super::name_resolution::{last, parsed, quoted};
use super::walk::{Rewriter, Walk, walk};

/// Puts known forms in the place of others.
pub fn known(statement: &mut Statement) {
    let _ = walk(statement, &mut Forms);
}

struct Forms;

impl Rewriter for Forms {
    /// Every subquery may use the tables before it, as in DuckDB.
    fn pre_visit_select(&mut self, select: &mut Select) -> Walk {
        let mut first = true;
        for table in &mut select.from {
            if !std::mem::take(&mut first) {
                may_use_others(&mut table.relation);
            }
            for join in &mut table.joins {
                if matches!(
                    join.join_operator,
                    JoinOperator::Join(_)
                        | JoinOperator::Inner(_)
                        | JoinOperator::Left(_)
                        | JoinOperator::LeftOuter(_)
                        | JoinOperator::CrossJoin(_)
                ) {
                    may_use_others(&mut join.relation);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Walk {
        name_column(factor);
        if let Some(new) = unnested(factor).or_else(|| range_of_times(factor)).or_else(|| with_ordinality(factor)) {
            *factor = new;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Walk {
        let new = match &*expr {
            Expr::InSubquery { expr, subquery, negated } => {
                values(expr).and_then(|values| in_rows(values, &subquery.to_string(), *negated))
            }
            Expr::InList { expr, list, negated } => values(expr).and_then(|left| {
                let rows: Option<Vec<String>> =
                    list.iter().map(|row| values(row).and_then(|right| equal(left, right))).collect();
                parsed(&format!("({}({}))", not(*negated), rows?.join(" or ")))
            }),
            Expr::BinaryOp { left, op, right } => match (values(left), values(right)) {
                (Some(left), Some(right)) => compared(left, op, right).and_then(|text| parsed(&text)),
                _ => None,
            },
            _ => None,
        };
        if let Some(new) = new {
            *expr = new;
        }
        ControlFlow::Continue(())
    }
}

fn may_use_others(factor: &mut TableFactor) {
    if let TableFactor::Derived { lateral, .. } = factor {
        *lateral = true;
    }
}

/// `range(3) with ordinality`: with the number of each row.
fn with_ordinality(factor: &mut TableFactor) -> Option<TableFactor> {
    let TableFactor::Table { with_ordinality, alias, args: Some(_), .. } = factor else { return None };
    if !std::mem::take(with_ordinality) {
        return None;
    }
    let alias = alias.take();
    let text = format!("exists (select *, row_number() over () as ordinality from {factor})");
    let Some(Expr::Exists { subquery, .. }) = parsed(&text) else { return None };
    Some(TableFactor::Derived { lateral: false, subquery, alias, sample: None })
}

/// `from unnest(x)` as a subquery, which may use the tables before it.
fn unnested(factor: &TableFactor) -> Option<TableFactor> {
    let TableFactor::Table { name, alias, args: Some(args), with_ordinality: false, sample: None, .. } = factor else {
        return None;
    };
    if !last(name)?.value.eq_ignore_ascii_case("unnest") {
        return None;
    }
    let args: Vec<String> = args.args.iter().map(ToString::to_string).collect();
    let text = format!("exists (select unnest({}) as \"unnest\")", args.join(", "));
    let Some(Expr::Exists { subquery, .. }) = parsed(&text) else { return None };
    let own = TableAlias { explicit: true, name: quoted("unnest"), columns: Vec::new(), at: None };
    let alias = Some(alias.clone().unwrap_or(own));
    Some(TableFactor::Derived { lateral: true, subquery, alias, sample: None })
}

/// Whether a table is `range(...)` or `generate_series(...)`: its name in small letters.
fn range_name(name: &ObjectName) -> Option<String> {
    let own = last(name)?.value.to_lowercase();
    matches!(own.as_str(), "range" | "generate_series").then_some(own)
}

/// The column of `from range(3)` is `range`, and that of `from range(3) r` is `r`.
fn name_column(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args: Some(_), with_ordinality: false, .. } = factor else { return };
    let Some(own) = range_name(name) else { return };
    let of = |name: Ident| TableAliasColumnDef { name, data_type: None };
    match alias {
        Some(alias) if alias.columns.is_empty() => alias.columns.push(of(alias.name.clone())),
        Some(_) => {}
        None => {
            let name = quoted(&own);
            *alias = Some(TableAlias { explicit: true, columns: vec![of(name.clone())], name, at: None });
        }
    }
}

/// `from range(a, b, interval ...)` as a subquery, since the table function takes no timestamps.
fn range_of_times(factor: &TableFactor) -> Option<TableFactor> {
    let TableFactor::Table { name, alias, args: Some(args), with_ordinality: false, sample: None, .. } = factor else {
        return None;
    };
    let own = range_name(name)?;
    let args: Vec<String> = args.args.iter().map(ToString::to_string).collect();
    let small = args.join(" ").to_lowercase();
    let [from, _, by] = args.as_slice() else { return None };
    let starts = |arg: &str, word: &str| arg.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if !starts(by, "interval") || starts(from, "date ") {
        return None;
    }
    let rows = format!("unnest({own}({}))", args.join(", "));
    let is_zoned = small.contains("timestamptz") || small.contains("time zone");
    let rows = if is_zoned { rows } else { format!("cast({rows} as timestamp)") };
    let Some(Expr::Exists { subquery, .. }) = parsed(&format!("exists (select {rows} as \"{own}\")")) else {
        return None;
    };
    Some(TableFactor::Derived { lateral: true, subquery, alias: alias.clone(), sample: None })
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn values(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(values) => Some(values),
        Expr::Nested(inner) => values(inner),
        _ => None,
    }
}

/// As DuckDB compares rows: from the left, nulls equal each other and are the largest.
fn compared(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Option<String> {
    Some(match op {
        BinaryOperator::Eq => format!("({})", equal(left, right)?),
        BinaryOperator::NotEq => format!("(not {})", equal(left, right)?),
        BinaryOperator::Lt => format!("({})", less(left, right)?),
        BinaryOperator::Gt => format!("({})", less(right, left)?),
        BinaryOperator::LtEq => format!("(not {})", less(right, left)?),
        BinaryOperator::GtEq => format!("(not {})", less(left, right)?),
        _ => return None,
    })
}

fn equal(left: &[Expr], right: &[Expr]) -> Option<String> {
    let pairs = left.iter().zip(right).map(|(left, right)| format!("(({left}) is not distinct from ({right}))"));
    (left.len() == right.len()).then(|| format!("({})", pairs.collect::<Vec<_>>().join(" and ")))
}

fn less(left: &[Expr], right: &[Expr]) -> Option<String> {
    match (left, right) {
        ([], []) => Some("false".to_string()),
        ([a, left @ ..], [b, right @ ..]) => {
            let first = format!("coalesce(({a}) < ({b}), (({a}) is not null) and (({b}) is null))");
            Some(format!("({first} or ((({a}) is not distinct from ({b})) and {}))", less(left, right)?))
        }
        _ => None,
    }
}

/// True where a row equals, else null where one may.
fn in_rows(values: &[Expr], rows: &str, negated: bool) -> Option<Expr> {
    let table = format!("\"{HIDDEN}rows\"");
    let names: Vec<String> = (0..values.len()).map(|at| format!("\"{HIDDEN}c{at}\"")).collect();
    let equal: Vec<String> =
        values.iter().zip(&names).map(|(value, name)| format!("(({value}) = {table}.{name})")).collect();
    let (equal, names) = (equal.join(" and "), names.join(", "));
    let exists = |condition: String| format!("(exists (select 1 from ({rows}) as {table}({names}) where {condition}))");
    let (found, unknown) = (exists(format!("({equal})")), exists(format!("({equal}) is null")));
    let text = format!("({found} or (case when {unknown} then null else false end))");
    parsed(&format!("({}{text})", not(negated)))
}
