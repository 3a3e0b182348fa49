//! Expressions that stand for one of each of several columns: `all()`, `numeric()`, `matching("^x")`, alone or in a
//! larger expression such as `all().n_unique()`.

use arrow::datatypes::{DataType, SchemaRef};
use onrush_wire::{Arg, Diagnostic, Expr, ExprKind, Span, Value};
use regex::Regex;

use crate::catalogue;
use crate::diagnostics::{self, HIDDEN};
use crate::type_coercion;

const NAMES: [&str; 6] = ["numeric", "strings", "temporal", "booleans", "matching", "by_dtype"];

fn is_selector(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::All { .. } => true,
        ExprKind::Call { function, .. } => NAMES.contains(&function.as_str()),
        _ => false,
    }
}

/// One expression for each column that the selectors in it stand for; `None` if there is no selector in it.
/// `available`: the columns in question, in order.
pub fn expand(
    whole: &Expr,
    available: &[String],
    schema: &SchemaRef,
    at: Option<&Span>,
) -> Result<Option<Vec<Expr>>, Diagnostic> {
    let listed;
    let expr = match inside(whole, available, schema, at)? {
        Some(new) => {
            listed = new;
            &listed
        }
        None => whole,
    };
    let was_listed = !std::ptr::eq(expr, whole);
    let mut selectors = Vec::new();
    let mut is_renamed = false;
    expr.for_each(|node| {
        if is_selector(node) {
            selectors.push(node);
        }
        is_renamed |= matches!(&node.kind, ExprKind::Call { function, .. } if is_renaming(function));
    });
    if selectors.is_empty() {
        return Ok((is_renamed || was_listed).then(|| vec![renamed(expr.clone())]));
    }
    let mut chosen: Vec<Vec<String>> = Vec::new();
    for selector in &selectors {
        chosen.push(columns(selector, available, schema, at)?);
    }
    let count = chosen[0].len();
    if let Some(other) = chosen.iter().find(|names| names.len() != count) {
        let message = format!("one selector stands for {count} columns and another one for {}", other.len());
        return Err(diagnostics::place(diagnostics::plan_error("argument", message), expr.span.as_ref(), at, ""));
    }
    let one = |index: usize| {
        let mut expr = expr.clone();
        let mut next = chosen.iter();
        replace(&mut expr, &mut || next.next().and_then(|names| names.get(index)).cloned());
        renamed(expr)
    };
    Ok(Some((0..count).map(one).collect()))
}

/// The expression with all columns of a selector where a function takes any number of them, as
/// `sum_horizontal(numeric())` and `x.sum().over(strings())`, as in Polars. `None` if there is no such place.
fn inside(
    expr: &Expr,
    available: &[String],
    schema: &SchemaRef,
    at: Option<&Span>,
) -> Result<Option<Expr>, Diagnostic> {
    if !has_selector(expr) {
        return Ok(None);
    }
    let mut has_place = false;
    expr.for_each(|node| {
        has_place |= match &node.kind {
            ExprKind::Call { function, args } => columns_from(function)
                .is_some_and(|from| args.iter().skip(from).any(|arg| arg.name.is_none() && has_selector(&arg.value))),
            ExprKind::Over { partition, .. } => partition.iter().any(has_selector),
            _ => false,
        };
    });
    if !has_place {
        return Ok(None);
    }
    let mut new = expr.clone();
    let mut failed = None;
    let mut list = |expr: &Expr| match expand(expr, available, schema, at) {
        Ok(all) => all.unwrap_or_else(|| vec![expr.clone()]),
        Err(diagnostic) => {
            failed.get_or_insert(diagnostic);
            Vec::new()
        }
    };
    new.for_each_mut(|node| match &mut node.kind {
        ExprKind::Call { function, args } => {
            let Some(from) = columns_from(function) else { return };
            let mut all = Vec::with_capacity(args.len());
            for (place, arg) in std::mem::take(args).into_iter().enumerate() {
                match place >= from && arg.name.is_none() && has_selector(&arg.value) {
                    true => all.extend(list(&arg.value).into_iter().map(|value| Arg { name: None, value })),
                    false => all.push(arg),
                }
            }
            *args = all;
        }
        ExprKind::Over { partition, .. } if partition.iter().any(has_selector) => {
            *partition = partition.iter().flat_map(&mut list).collect();
        }
        _ => {}
    });
    match failed {
        Some(diagnostic) => Err(diagnostic),
        None => Ok(Some(new)),
    }
}

fn columns_from(function: &str) -> Option<usize> {
    if NAMES.contains(&function) { None } else { catalogue::find(function)?.columns_from() }
}

fn has_selector(expr: &Expr) -> bool {
    let mut has = false;
    expr.for_each(|node| has |= is_selector(node));
    has
}

/// Puts columns in the place of selectors, from left to right.
fn replace(expr: &mut Expr, next: &mut impl FnMut() -> Option<String>) {
    // Nodes as `for_each` finds them: the one on the left first.
    let mut order = Vec::new();
    expr.for_each(|node| {
        if is_selector(node) {
            order.push(std::ptr::from_ref(node) as usize);
        }
    });
    let names: std::collections::HashMap<usize, String> =
        order.into_iter().filter_map(|node| Some((node, next()?))).collect();
    expr.for_each_mut(|node| {
        if let Some(name) = names.get(&(std::ptr::from_ref(&*node) as usize)) {
            node.kind = ExprKind::Column(name.clone());
        }
    });
}

fn is_renaming(function: &str) -> bool {
    ["name.suffix", "name.prefix"].contains(&function)
}

/// `a.sum().name.suffix("_x")` as `a_x = a.sum()`.
fn renamed(expr: Expr) -> Expr {
    let is_outer = matches!(&expr.kind, ExprKind::Call { function, .. } if is_renaming(function));
    if !is_outer {
        return expr;
    }
    let span = expr.span.clone();
    let ExprKind::Call { function, args } = expr.into_kind() else { return Expr::literal(Value::Null) };
    let text = match args.get(1).map(|arg| &arg.value.kind) {
        Some(ExprKind::Literal(Value::Text(text))) => text.clone(),
        _ => String::new(),
    };
    let Some(Arg { value: inner, .. }) = args.into_iter().next() else { return Expr::literal(Value::Null) };
    let inner = renamed(inner);
    let name = root(&inner);
    let name = if function == "name.suffix" { format!("{name}{text}") } else { format!("{text}{name}") };
    Expr { kind: ExprKind::Alias(Box::new(inner), name), span }
}

/// The name that the result of an expression has: that of its leftmost column.
fn root(expr: &Expr) -> String {
    if let ExprKind::Alias(_, name) = &expr.kind {
        return name.clone();
    }
    let mut first = None;
    expr.for_each(|node| {
        if let (None, ExprKind::Column(name)) = (&first, &node.kind) {
            first = Some(name.clone());
        }
    });
    first.unwrap_or_else(|| "literal".to_string())
}

fn columns(
    selector: &Expr,
    available: &[String],
    schema: &SchemaRef,
    at: Option<&Span>,
) -> Result<Vec<String>, Diagnostic> {
    let place = |diagnostic: Diagnostic| diagnostics::place(diagnostic, selector.span.as_ref(), at, "");
    let (function, args): (&str, &[Arg]) = match &selector.kind {
        ExprKind::Call { function, args } => (function, args),
        _ => ("all", &[]),
    };
    let mut except: Vec<&String> = match &selector.kind {
        ExprKind::All { except } => except.iter().collect(),
        _ => Vec::new(),
    };
    let mut patterns = Vec::new();
    for arg in args {
        match &arg.value.kind {
            ExprKind::Column(name) => except.push(name),
            ExprKind::Literal(Value::Text(text)) => patterns.push(text.as_str()),
            _ => {
                let message = format!("`{function}` takes strings, and columns that it leaves out");
                return Err(place(diagnostics::plan_error("argument", message)));
            }
        }
    }
    if let Some(missing) = except.iter().find(|name| !available.contains(name)) {
        let mut diagnostic = diagnostics::plan_error("unknown-column", format!("there is no column `{missing}`"));
        if let Some(near) = diagnostics::nearest(missing, available.iter().map(String::as_str)) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        return Err(place(diagnostic));
    }
    let mut pattern = None;
    match (function, &patterns[..]) {
        ("matching", [text]) => {
            let compiled = Regex::new(text).map_err(|e| {
                let reason = e.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
                place(diagnostics::plan_error("argument", format!("this is not a regular expression: {reason}")))
            })?;
            pattern = Some(compiled);
        }
        ("matching", _) => {
            let diagnostic = diagnostics::plan_error("argument", "`matching` takes one pattern of names");
            return Err(place(diagnostic.help("such as `matching(\"^x_\")`")));
        }
        ("by_dtype", [_, ..]) | (_, []) => {}
        _ => return Err(place(diagnostics::plan_error("argument", format!("`{function}` takes no string")))),
    }
    let fits = |name: &str, dtype: &DataType| match function {
        "all" => true,
        "numeric" => type_coercion::is_number(dtype),
        "strings" => type_coercion::is_string(dtype),
        "temporal" => type_coercion::is_temporal(dtype),
        "booleans" => dtype == &DataType::Boolean,
        "by_dtype" => patterns.contains(&diagnostics::type_name(dtype).as_str()),
        _ => pattern.as_ref().is_some_and(|pattern| pattern.is_match(name)),
    };
    let is_chosen = |name: &&String| {
        let dtype = schema.field_with_name(name).map(|field| field.data_type().clone());
        !name.starts_with(HIDDEN) && !except.contains(name) && dtype.is_ok_and(|dtype| fits(name, &dtype))
    };
    Ok(available.iter().filter(is_chosen).cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, Schema};
    use onrush_wire::BinaryOp;

    use super::*;

    #[test]
    fn selectors_stand_for_columns_from_left_to_right() {
        let field = |name, dtype| Field::new(name, dtype, true);
        let fields = [field("a", DataType::Int64), field("s", DataType::Utf8), field("b", DataType::Float64)];
        let schema: SchemaRef = Arc::new(Schema::new(fields.to_vec()));
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let shown = |expr: &Expr| {
            let all = expand(expr, &names, &schema, None).map(|all| all.unwrap_or_default());
            all.map(|all| all.iter().map(root).collect::<Vec<_>>().join(" ")).unwrap_or_else(|e| e.message)
        };
        let numeric = || Expr::call("numeric", []);
        let all = || Expr::new(ExprKind::All { except: vec!["a".to_string()] });
        let minus = Expr::new(ExprKind::Binary(BinaryOp::Subtract, Box::new(numeric()), Box::new(numeric())));
        assert_eq!((shown(&numeric()).as_str(), shown(&all()).as_str(), shown(&minus).as_str()), ("a b", "s b", "a b"));
        let suffix = Expr::call("name.suffix", [Expr::call("sum", [numeric()]), Expr::literal("_x")]);
        assert_eq!(shown(&suffix), "a_x b_x");
        let unlike = Expr::call("f", [numeric(), Expr::call("strings", [])]);
        assert_eq!(shown(&unlike), "one selector stands for 2 columns and another one for 1");
        assert_eq!(shown(&Expr::call("matching", [Expr::literal("^[ab]$")])), "a b");
        assert_eq!(shown(&Expr::column("a")), "");
        // All columns of a selector are arguments of one call.
        let sum = Expr::call("sum_horizontal", [numeric()]);
        let all = expand(&sum, &names, &schema, None).unwrap().unwrap();
        assert_eq!(all, [Expr::call("sum_horizontal", [Expr::column("a"), Expr::column("b")])]);
    }
}
