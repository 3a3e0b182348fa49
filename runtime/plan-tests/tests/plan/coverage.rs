//! Which steps and functions of frames run on a device: `docs/gpu-coverage.md` is written from this list.
//! `ONRUSH_WRITE=1 cargo test -p onrush-plan-tests -- coverage` writes it, and `ONRUSH_RUN=1` runs every
//! entry on the emulated device. Expected values are those of the CPU engine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DurationMicrosecondArray, Float64Array, Int32Array,
    Int64Array, ListArray, StringArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::datatypes::Int64Type;
use onrush_engine::{EngineConfig, Policy};
use onrush_expr::catalogue;
use onrush_expr::function::Kind;
use onrush_frame::TaskHandle;
use onrush_wire::expr::SortKey;
use onrush_wire::plan::{Asof, AsofStrategy, ConcatHow, JoinKind, Keep, Op, SampleSize};
use onrush_wire::{BinaryOp, Diagnostic, Expr, ExprKind, FrameId, Value};

use super::reference::{self, Forms};
use super::support::*;

const ROWS: usize = 240;

/// Every type that frames have in everyday use, with nulls in every column but `id`.
fn frame(bench: &TestEngine) -> FrameId {
    let rows = || 0..ROWS as i64;
    let mixed = |row: i64| (row * 7919 + 13) % 101;
    let there = |row: i64, every: i64| row % every != every - 1;
    let floats = |every| -> ArrayRef {
        Arc::new(rows().map(|r| there(r, every).then(|| mixed(r) as f64 / 4.0 - 9.0)).collect::<Float64Array>())
    };
    let tags = rows().map(|r| there(r, 9).then(|| (0..r % 4).map(|i| Some(i + r % 5)).collect::<Vec<_>>()));
    let prices = rows().map(|r| there(r, 8).then(|| i128::from(mixed(r) * 25)));
    let prices = prices.collect::<Decimal128Array>().with_precision_and_scale(10, 2).unwrap();
    bench.frame(vec![
        ("id", Arc::new(rows().collect::<Int64Array>())),
        ("key", Arc::new(rows().map(|r| there(r, 12).then(|| format!("k{}", mixed(r) % 5))).collect::<StringArray>())),
        ("name", Arc::new(rows().map(|r| there(r, 17).then(|| format!("Name {r}-é"))).collect::<StringArray>())),
        ("x", floats(7)),
        ("y", floats(11)),
        ("n", Arc::new(rows().map(|r| there(r, 6).then(|| mixed(r) % 7)).collect::<Int64Array>())),
        ("i", Arc::new(rows().map(|r| there(r, 5).then(|| (mixed(r) % 50) as i32 - 20)).collect::<Int32Array>())),
        ("u", Arc::new(rows().map(|r| there(r, 4).then(|| mixed(r) as u32)).collect::<UInt32Array>())),
        ("flag", Arc::new(rows().map(|r| there(r, 10).then(|| mixed(r) % 3 == 0)).collect::<BooleanArray>())),
        (
            "day",
            Arc::new(rows().map(|r| there(r, 13).then(|| 19_000 + (mixed(r) * 9) as i32)).collect::<Date32Array>()),
        ),
        // So early that a float holds the sum of all of them, in any order.
        (
            "when",
            Arc::new(
                rows()
                    .map(|r| there(r, 14).then(|| 25_000_000_123_456 + mixed(r) * 3_600_000_001))
                    .collect::<TimestampMicrosecondArray>(),
            ),
        ),
        (
            "took",
            Arc::new(rows().map(|r| there(r, 15).then(|| mixed(r) * 1_234_567)).collect::<DurationMicrosecondArray>()),
        ),
        ("tags", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(tags))),
        ("price", Arc::new(prices)),
    ])
}

/// What a function is given where its parameters do not say it.
fn arguments(name: &str) -> Option<Vec<Expr>> {
    let text = |value: &str| lit(value);
    Some(match name {
        "quantile" => vec![col("x"), lit(0.25)],
        "rank" => vec![col("x")],
        "cut" => vec![col("x"), Expr::literal(Value::List(vec![Value::Float(0.0), Value::Float(5.0)]))],
        "cast" => vec![col("n"), text("f64")],
        "try_cast" => vec![col("x"), text("i64")],
        "is_in" => vec![col("n"), lit(1), lit(3)],
        "is_between" => vec![col("x"), lit(-1.0), lit(4.0)],
        "clip" => vec![col("x"), lit(-1.0), lit(4.0)],
        "fill_null" | "fill_nan" => vec![col("x"), lit(0.0)],
        "null_if" => vec![col("n"), lit(3)],
        "lit" => vec![lit(1)],
        "round" => vec![col("x"), lit(1)],
        "pow" => vec![col("x"), lit(2.0)],
        "coalesce" | "min_horizontal" | "max_horizontal" | "sum_horizontal" | "mean_horizontal" => {
            vec![col("x"), col("y")]
        }
        "concat_str" => vec![col("key"), col("name")],
        "all_horizontal" | "any_horizontal" => vec![col("flag"), call("is_null", [col("x")])],
        "struct" => vec![col("x"), col("n")],
        "str.contains" => vec![col("name"), text("1.-")],
        "str.starts_with" | "str.strip_prefix" => vec![col("name"), text("Name 1")],
        "str.ends_with" | "str.strip_suffix" => vec![col("name"), text("7-é")],
        "str.replace" | "str.replace_all" => vec![col("name"), text("a"), text("o")],
        "str.slice" => vec![col("name"), lit(1), lit(4)],
        "str.split" => vec![col("name"), text(" ")],
        "str.extract" => vec![col("name"), text("(\\d+)")],
        "str.extract_all" | "str.count_matches" | "str.find" => vec![col("name"), text("\\d")],
        "str.to_date" => vec![call("cast", [col("day"), text("str")])],
        "str.to_datetime" => vec![call("cast", [col("when"), text("str")])],
        "str.to_integer" => vec![call("cast", [col("n"), text("str")])],
        "str.json_extract" | "str.json_path_match" => vec![col("name"), text("$.a")],
        "dt.truncate" => vec![col("when"), text("1mo")],
        "dt.round" => vec![col("when"), text("1h")],
        "dt.offset_by" => vec![col("when"), text("3d")],
        "dt.convert_time_zone" | "dt.replace_time_zone" => vec![col("when"), text("Europe/Berlin")],
        "dt.cast_time_unit" => vec![col("when"), text("ms")],
        "dt.hour" | "dt.minute" | "dt.second" | "dt.millisecond" | "dt.microsecond" | "dt.nanosecond" => {
            vec![col("when")]
        }
        "list.contains" => vec![col("tags"), lit(2)],
        "ewm_mean" => vec![col("x"), lit(0.5)],
        "rolling_quantile" => vec![col("x"), lit(0.5), lit(3)],
        "rolling_corr" | "rolling_cov" => vec![col("x"), col("y"), lit(3)],
        name if name.starts_with("rolling_") && name.ends_with("_by") => vec![col("x"), col("when"), text("2h")],
        "qcut" => vec![col("x"), lit(4)],
        "replace" => vec![col("n"), lit(3), lit(4)],
        "replace_strict" => vec![col("n"), lit(3), lit(4), lit(5)],
        "struct.field" => vec![call("struct", [col("x"), col("n")]), text("n")],
        "accuracy_score" | "balanced_accuracy_score" => vec![col("n"), col("n")],
        _ => return None,
    })
}

/// A call with an argument for each parameter that has to be given.
fn call_of(name: &str) -> Expr {
    let function = catalogue::find(name).unwrap();
    if let Some(args) = arguments(name) {
        return Expr::call(name, args);
    }
    let mut args = Vec::new();
    for (index, param) in function.params.split_whitespace().enumerate() {
        let dtype = param.split_once(':').map_or("any", |(_, dtype)| dtype);
        if dtype.ends_with('?') || dtype.ends_with('*') {
            continue;
        }
        args.push(match dtype {
            "num" | "any" => col(if index == 0 { "x" } else { "y" }),
            "int" => col("n"),
            "str" => col("name"),
            "bool" => col("flag"),
            "date" | "time" => col("when"),
            "dur" => col("took"),
            "list" => col("tags"),
            "#int" => lit(3),
            "#num" => lit(0.5),
            "#str" => lit("a"),
            other => panic!("no argument of `{other}` for `{name}`"),
        });
    }
    Expr::call(name, args)
}

/// An expression as a cell has it.
fn shown(expr: &Expr) -> String {
    let list = |all: &[Expr]| all.iter().map(shown).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Column(name) => name.clone(),
        ExprKind::Literal(Value::Text(text)) => format!("{text:?}"),
        ExprKind::Literal(Value::List(values)) => {
            format!("[{}]", values.iter().map(|v| shown(&Expr::literal(v.clone()))).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Literal(value) => text(value),
        ExprKind::Alias(inner, _) => shown(inner),
        ExprKind::Call { function, args } => {
            let values: Vec<String> = args
                .iter()
                .map(|arg| match &arg.name {
                    Some(name) => format!("{name} = {}", shown(&arg.value)),
                    None => shown(&arg.value),
                })
                .collect();
            let is_method = catalogue::find(function).is_some_and(|f| f.params.starts_with("self:"));
            match values.split_first() {
                Some((this, rest)) if is_method => format!("{this}.{function}({})", rest.join(", ")),
                _ => format!("{function}({})", values.join(", ")),
            }
        }
        ExprKind::Over { value, partition, order } => {
            let order: Vec<String> = order.iter().map(|key| shown(&key.expr)).collect();
            let by = if order.is_empty() { String::new() } else { format!(".order_by({})", order.join(", ")) };
            format!("{}.over({}){by}", shown(value), list(partition))
        }
        ExprKind::Binary(op, a, b) => format!("{} {} {}", shown(a), op.symbol(), shown(b)),
        other => format!("{other:?}"),
    }
}

/// A step under the words of the page.
struct Entry {
    shown: String,
    group: &'static str,
    /// The function that it is a form of.
    function: Option<&'static str>,
    make: Box<dyn Fn(&TestEngine, FrameId) -> Result<FrameId, Diagnostic>>,
}

fn entry(
    group: &'static str,
    shown: impl Into<String>,
    make: impl Fn(&TestEngine, FrameId) -> Result<FrameId, Diagnostic> + 'static,
) -> Entry {
    Entry { shown: shown.into(), group, function: None, make: Box::new(make) }
}

/// The outermost function.
fn function_of(expr: &Expr) -> Option<&'static str> {
    match &expr.kind {
        ExprKind::Call { function, .. } => catalogue::find(function).map(|f| f.name),
        ExprKind::Alias(value, _) | ExprKind::Over { value, .. } => function_of(value),
        _ => None,
    }
}

/// The method whose step it is: `sort`, `inner_join`. `None` for several steps.
fn method_of(shown: &str) -> Option<String> {
    let (method, arguments) = shown.split_once('(')?;
    let last = arguments.trim_end_matches(')').rsplit(", ").next().unwrap_or_default();
    Some(match method {
        _ if arguments.contains(").") => return None,
        "join" if last == "cross" => "cross_join".to_string(),
        "join" => format!("{last}_join"),
        "concat" if matches!(last, "diagonal" | "horizontal") => format!("concat_{last}"),
        "sample" if last == "with replacement" => "sample_with_replacement".to_string(),
        _ => method.to_string(),
    })
}

const STEPS: &str = "Steps";
const ROW_FUNCTIONS: &str = "Functions of a row";
const AGGREGATES: &str = "Aggregates over all rows";
const GROUPED: &str = "Aggregates of groups";
const OVER: &str = "Aggregates over partitions";
const WINDOWS: &str = "Functions over neighbouring rows";
const METRICS: &str = "Metrics of models";

fn with_column(group: &'static str, expr: Expr) -> Entry {
    let function = function_of(&expr);
    let made = entry(group, shown(&expr), move |bench, input| {
        bench.try_step(Op::WithColumns { input, exprs: vec![expr.clone().alias("new")] })
    });
    Entry { function, ..made }
}

fn over_key(expr: Expr) -> Expr {
    over(expr, &["key"])
}

fn over_by(expr: Expr, order: &str) -> Expr {
    let (partition, order) = (vec![col("key")], vec![asc(order)]);
    Expr::new(ExprKind::Over { value: Box::new(expr), partition, order })
}

fn aggregate_entries(all: &mut Vec<Entry>, expr: &Expr, as_window: bool) {
    let function = function_of(expr);
    let one = expr.clone().alias("new");
    let whole = entry(AGGREGATES, shown(expr), move |bench, input| {
        bench.try_step(Op::Select { input, exprs: vec![one.clone()] })
    });
    let one = expr.clone().alias("new");
    let grouped = entry(GROUPED, shown(expr), move |bench, input| {
        bench.try_step(Op::GroupBy { input, keys: vec![col("key")], aggs: vec![one.clone()] })
    });
    all.extend([whole, grouped].map(|made| Entry { function, ..made }));
    if as_window {
        all.push(with_column(OVER, over_key(expr.clone())));
    }
}

fn functions() -> Vec<Entry> {
    let mut all = Vec::new();
    let internal = onrush_expr::catalogue::FILTERS;
    for (name, _) in catalogue::functions().filter(|(name, _)| !internal.contains(name)) {
        let function = catalogue::find(name).unwrap();
        let expr = || call_of(name);
        let is_metric = name.ends_with("_score")
            || name.ends_with("_loss")
            || name.ends_with("_error")
            || name.ends_with("_deviance")
            || name == "matthews_corrcoef";
        match (name, function.kind) {
            (_, Kind::Row) => all.push(with_column(ROW_FUNCTIONS, expr())),
            (_, Kind::Aggregate) if is_metric => {
                let made = entry(METRICS, name, move |bench, input| {
                    bench.try_step(Op::Select { input, exprs: vec![call_of(name).alias("new")] })
                });
                all.push(Entry { function: Some(function.name), ..made });
            }
            (_, Kind::Aggregate) => aggregate_entries(&mut all, &expr(), true),
            ("dense_rank", _) => all.push(with_column(WINDOWS, over_by(expr(), "x"))),
            (_, Kind::Window) => {
                all.push(with_column(WINDOWS, expr()));
                all.push(with_column(WINDOWS, over_key(expr())));
            }
        }
    }
    all
}

/// Forms of functions other than the plain ones.
fn forms() -> Vec<Entry> {
    let mut all = Vec::new();
    let rank = |column: &str, method: &str| call("rank", [col(column), lit(method)]);
    for method in ["min", "max", "dense", "ordinal"] {
        all.push(with_column(WINDOWS, rank("x", method)));
        all.push(with_column(WINDOWS, over_key(rank("x", method))));
    }
    all.push(with_column(WINDOWS, call("rank", [col("name")])));
    all.push(with_column(WINDOWS, over_by(call("rank", []), "x")));
    all.push(with_column(WINDOWS, over_by(call("cum_sum", [col("x")]), "when")));
    all.push(with_column(WINDOWS, named(call("cum_sum", [col("n")]), "reverse", lit(true))));
    all.push(with_column(WINDOWS, call("shift", [col("name"), lit(1), lit("none")])));
    all.push(with_column(WINDOWS, call("diff", [col("when")])));
    all.push(with_column(WINDOWS, named(call("rolling_mean", [col("x"), lit(7)]), "min_samples", lit(1))));
    all.push(with_column(WINDOWS, named(call("rolling_mean", [col("x"), lit(7)]), "center", lit(true))));
    all.push(with_column(WINDOWS, call("forward_fill", [col("name")])));
    all.push(with_column(WINDOWS, call("is_first_distinct", [col("name")])));
    let share = op(col("x"), BinaryOp::Divide, over_key(call("sum", [col("x")])));
    all.push(with_column(OVER, share));
    let centred = op(col("x"), BinaryOp::Subtract, over_key(call("mean", [col("x")])));
    all.push(with_column(OVER, centred.clone()));
    let standard = op(centred.clone(), BinaryOp::Divide, over_key(call("std", [col("x")])));
    all.push(with_column(OVER, standard));
    all.push(with_column(OVER, over_key(call("sum", [call("abs", [centred])]))));
    let middle = op(over_key(call("median", [col("x")])), BinaryOp::Subtract, over_key(call("mean", [col("y")])));
    all.push(with_column(OVER, middle));
    let ranks = op(over_key(call("rank", [col("x")])), BinaryOp::Divide, over_key(call("count", [col("x")])));
    all.push(with_column(OVER, ranks));
    for function in ["min", "max", "first", "last", "n_unique", "count", "mode"] {
        for column in ["name", "key", "when", "n", "price"] {
            aggregate_entries(&mut all, &call(function, [col(column)]), true);
        }
    }
    aggregate_entries(&mut all, &call("product", [col("n")]), true);
    all.push(with_column(WINDOWS, call("cum_prod", [op(col("x"), BinaryOp::Divide, lit(10.0))])));
    for function in ["sum", "mean", "std", "median"] {
        for column in ["n", "i", "u", "flag", "price"] {
            // Booleans and decimals have no spread.
            if !matches!((function, column), ("std", "flag")) {
                aggregate_entries(&mut all, &call(function, [col(column)]), true);
            }
        }
    }
    for interpolation in ["nearest", "lower", "higher", "midpoint", "linear"] {
        let expr = call("quantile", [col("x"), lit(0.9), lit(interpolation)]);
        aggregate_entries(&mut all, &expr, true);
    }
    let filtered = call("mean", [call("filter", [col("x"), op(col("n"), BinaryOp::Greater, lit(2))])]);
    aggregate_entries(&mut all, &filtered, true);
    let filtered = call("median", [call("filter", [col("x"), op(col("n"), BinaryOp::Greater, lit(2))])]);
    aggregate_entries(&mut all, &filtered, true);
    for (function, value) in [
        ("fill_null", ("name", lit("-"))),
        ("fill_null", ("n", lit(0))),
        ("fill_null", ("x", call("mean", [col("x")]))),
    ] {
        all.push(with_column(ROW_FUNCTIONS, call(function, [col(value.0), value.1])));
    }
    for (from, to) in
        [("x", "i64"), ("n", "str"), ("x", "str"), ("when", "date"), ("day", "str"), ("flag", "i64"), ("price", "f64")]
    {
        all.push(with_column(ROW_FUNCTIONS, call("cast", [col(from), lit(to)])));
    }
    let literal = |function: &str| named(call(function, [col("name"), lit("1")]), "literal", lit(true));
    all.push(with_column(ROW_FUNCTIONS, literal("str.contains")));
    for every in ["1d", "1h", "15m", "1w", "1q", "1y"] {
        all.push(with_column(ROW_FUNCTIONS, call("dt.truncate", [col("when"), lit(every)])));
    }
    for field in ["year", "month", "day", "weekday", "week", "quarter", "ordinal_day"] {
        all.push(with_column(ROW_FUNCTIONS, call(&format!("dt.{field}"), [col("day")])));
    }
    for format in ["%Y-%m", "%H:%M", "%B %d, %Y"] {
        all.push(with_column(ROW_FUNCTIONS, call("dt.to_string", [col("when"), lit(format)])));
    }
    for (a, b) in [("when", "day"), ("when", "took"), ("n", "i"), ("x", "u"), ("price", "price")] {
        let sum = match (a, b) {
            ("when", "took") => op(col(a), BinaryOp::Add, col(b)),
            _ => op(col(a), BinaryOp::Subtract, col(b)),
        };
        all.push(with_column(ROW_FUNCTIONS, sum));
    }
    for operator in [BinaryOp::Divide, BinaryOp::Remainder, BinaryOp::Multiply] {
        all.push(with_column(ROW_FUNCTIONS, op(col("n"), operator, col("i"))));
    }
    all.push(with_column(ROW_FUNCTIONS, call("floor_div", [col("n"), col("i")])));
    all.push(with_column(ROW_FUNCTIONS, call("abs", [col("n")])));
    all.push(with_column(ROW_FUNCTIONS, call("pow", [col("n"), lit(2)])));
    all.push(with_column(ROW_FUNCTIONS, call("is_in", [col("name"), lit("Name 1-é"), lit("b")])));
    all
}

fn step(shown: &str, make: impl Fn(FrameId) -> Op + 'static) -> Entry {
    entry(STEPS, shown, move |bench, input| bench.try_step(make(input)))
}

fn steps() -> Vec<Entry> {
    let mut all = vec![
        step("select(x)", |input| Op::Select { input, exprs: vec![col("x")] }),
        step("filter(x > 1)", |input| Op::Filter { input, predicate: op(col("x"), BinaryOp::Greater, lit(1.0)) }),
        step("filter(x > x.mean())", |input| Op::Filter {
            input,
            predicate: op(col("x"), BinaryOp::Greater, call("mean", [col("x")])),
        }),
        step("sort(x)", |input| Op::Sort { input, keys: vec![asc("x")] }),
        step("sort(key, x descending)", |input| Op::Sort { input, keys: vec![asc("key"), desc("x")] }),
        step("sort(name)", |input| Op::Sort { input, keys: vec![asc("name")] }),
        step("slice(10, 20)", |input| Op::Slice { input, offset: 10, length: Some(20) }),
        step("tail(5)", |input| Op::Slice { input, offset: -5, length: None }),
        step("sample(20)", |input| Op::Sample {
            input,
            amount: SampleSize::Rows(20),
            seed: 3,
            with_replacement: false,
        }),
        step("sample(fraction 0.3)", |input| Op::Sample {
            input,
            amount: SampleSize::Fraction(0.3),
            seed: 3,
            with_replacement: false,
        }),
        step("sample(20, with replacement)", |input| Op::Sample {
            input,
            amount: SampleSize::Rows(20),
            seed: 3,
            with_replacement: true,
        }),
        step("drop_nulls()", |input| Op::DropNulls { input, subset: vec![] }),
        step("fill_null(0)", |input| Op::FillNull { input, value: Value::Int(0) }),
        step("fill_null(\"\")", |input| Op::FillNull { input, value: Value::Text(String::new()) }),
        step("rename(x, z)", |input| Op::Rename { input, names: vec![("x".into(), "z".into())] }),
        step("drop(x)", |input| Op::Drop { input, columns: vec!["x".into()] }),
        step("cast(n, f64)", |input| Op::Cast {
            input,
            columns: vec![("n".into(), onrush_wire::DataType::Float64)],
            strict: true,
        }),
        step("concat(f, f)", |input| Op::Concat { inputs: vec![input, input], how: ConcatHow::Vertical }),
        step("describe()", |input| Op::Describe { input }),
        step("value_counts(key)", |input| Op::ValueCounts { input, column: col("key") }),
        step("value_counts(x)", |input| Op::ValueCounts { input, column: col("x") }),
        step("value_counts(name)", |input| Op::ValueCounts { input, column: col("name") }),
        step("with_row_index()", |input| Op::WithRowIndex { input, name: "index".into(), offset: 0 }),
        step("explode(tags)", |input| Op::Explode { input, columns: vec!["tags".into()] }),
        step("group_by(key)", |input| Op::GroupBy { input, keys: vec![col("key")], aggs: vec![] }),
        step("group_by(key, n).agg(x.mean(), y.sum(), len())", |input| Op::GroupBy {
            input,
            keys: vec![col("key"), col("n")],
            aggs: vec![call("mean", [col("x")]), call("sum", [col("y")]), call("len", [])],
        }),
        step("group_by(when.dt.truncate(\"1d\")).agg(x.mean())", |input| Op::GroupBy {
            input,
            keys: vec![call("dt.truncate", [col("when"), lit("1d")])],
            aggs: vec![call("mean", [col("x")])],
        }),
        step("group_by(key).agg(x.median(), y.median())", |input| Op::GroupBy {
            input,
            keys: vec![col("key")],
            aggs: vec![call("median", [col("x")]), call("median", [col("y")])],
        }),
        step("group_by(key).agg(x)", |input| Op::GroupBy { input, keys: vec![col("key")], aggs: vec![col("x")] }),
        step("select(x.median(), y.median())", |input| Op::Select {
            input,
            exprs: vec![call("median", [col("x")]), call("median", [col("y")])],
        }),
    ];
    for (keep, name) in [(Keep::First, "first"), (Keep::Last, "last"), (Keep::Any, "any"), (Keep::None, "none")] {
        all.push(step(&format!("unique(key, n, keep {name})"), move |input| Op::Unique {
            input,
            subset: vec![col("key"), col("n")],
            keep,
        }));
    }
    all.push(entry(STEPS, "unique() of key, n, x, day", |bench, input| {
        let input = bench.try_step(Op::Select { input, exprs: vec![col("key"), col("n"), col("x"), col("day")] })?;
        bench.try_step(Op::Unique { input, subset: vec![], keep: Keep::Any })
    }));
    all.push(entry(STEPS, "describe() of x, n, key, when", |bench, input| {
        let input = bench.try_step(Op::Select { input, exprs: vec![col("x"), col("n"), col("key"), col("when")] })?;
        bench.try_step(Op::Describe { input })
    }));
    all.push(entry(STEPS, "filter(n > 2).describe() of x, y", |bench, input| {
        let predicate = op(col("n"), BinaryOp::Greater, lit(2));
        let input = bench.try_step(Op::Filter { input, predicate })?;
        let input = bench.try_step(Op::Select { input, exprs: vec![col("x"), col("y")] })?;
        bench.try_step(Op::Describe { input })
    }));
    for aggregate in ["first", "sum", "mean", "len", "max", "median"] {
        all.push(step(&format!("pivot(on key, index n, values x, {aggregate})"), move |input| Op::Pivot {
            input,
            on: vec!["key".into()],
            index: vec!["n".into()],
            values: vec!["x".into()],
            aggregate: aggregate.into(),
        }));
    }
    all.push(step("unpivot(index id, on x, y)", |input| Op::Unpivot {
        input,
        index: vec!["id".into()],
        on: vec!["x".into(), "y".into()],
        variable_name: "variable".into(),
        value_name: "value".into(),
    }));
    for how in [ConcatHow::Diagonal, ConcatHow::Horizontal] {
        all.push(entry(STEPS, format!("concat({how:?})").to_lowercase(), move |bench, input| {
            let left = bench.try_step(Op::Select { input, exprs: vec![col("id"), col("x")] })?;
            let right = bench.try_step(Op::Select { input, exprs: vec![col("y"), col("name")] })?;
            bench.try_step(Op::Concat { inputs: vec![left, right], how })
        }));
    }
    all.extend(joins());
    let sorted = |order: Vec<SortKey>, then: Expr| {
        move |bench: &TestEngine, input: FrameId| {
            let input = bench.try_step(Op::Sort { input, keys: order.clone() })?;
            bench.try_step(Op::WithColumns { input, exprs: vec![then.clone().alias("new")] })
        }
    };
    all.push(entry(STEPS, "sort(when).with_columns(x.rolling_mean(7))", {
        sorted(vec![asc("when")], call("rolling_mean", [col("x"), lit(7)]))
    }));
    all.push(entry(STEPS, "sort(when).with_columns(x.diff().over(key))", {
        sorted(vec![asc("when")], over_key(call("diff", [col("x")])))
    }));
    all
}

fn joins() -> Vec<Entry> {
    let mut all = Vec::new();
    let kinds = [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];
    for how in kinds {
        for key in ["key", "id"] {
            all.push(entry(STEPS, format!("join({key}, {how:?})").to_lowercase(), move |bench, input| {
                let right = bench.try_step(Op::GroupBy {
                    input,
                    keys: vec![col(key)],
                    aggs: vec![call("mean", [col("y")]).alias("mean")],
                })?;
                bench.try_step(Op::Join {
                    left: input,
                    right,
                    how,
                    left_on: vec![col(key)],
                    right_on: vec![col(key)],
                    suffix: "_right".into(),
                })
            }));
        }
    }
    all.push(entry(STEPS, "join(cross)", |bench, input| {
        let few = bench.try_step(Op::Slice { input, offset: 0, length: Some(3) })?;
        let (left_on, right_on, suffix) = (vec![], vec![], "_right".into());
        bench.try_step(Op::Join { left: input, right: few, how: JoinKind::Cross, left_on, right_on, suffix })
    }));
    for strategy in [AsofStrategy::Backward, AsofStrategy::Forward, AsofStrategy::Nearest] {
        for by in [false, true] {
            let with_by = if by { ", by key" } else { "" };
            let name = format!("join_asof(when, {strategy:?}{with_by})").to_lowercase();
            all.push(entry(STEPS, name, move |bench, input| {
                let right = bench.try_step(Op::Select { input, exprs: vec![col("when"), col("key"), col("y")] })?;
                let keys = if by { vec![col("key")] } else { vec![] };
                let with = Asof {
                    left_on: col("when"),
                    right_on: col("when"),
                    left_by: keys.clone(),
                    right_by: keys,
                    strategy,
                    tolerance: None,
                    exact: true,
                    suffix: "_right".into(),
                };
                bench.try_step(Op::JoinAsof { left: input, right, with })
            }));
        }
    }
    all
}

/// Why an entry is not on the device as a whole, in the words of `explain`.
pub fn reasons(bench: &TestEngine, id: FrameId) -> Vec<String> {
    /// What follows from another reason.
    const FOLLOWS: [&str; 2] = ["its input is on the CPU", "nothing above it is on the GPU"];
    let text = bench.engine.explain(id, false, &TaskHandle::new()).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("[cpu")?.split_once("] "));
    let all: Vec<String> = lines.map(|(_, reason)| reason.to_string()).collect();
    let causes: Vec<String> = all.iter().filter(|reason| !FOLLOWS.contains(&reason.as_str())).cloned().collect();
    let follows = all.iter().any(|reason| reason == FOLLOWS[0]);
    if causes.is_empty() && follows { vec![FOLLOWS[0].to_string()] } else { causes }
}

fn entries() -> Vec<Entry> {
    let mut all = steps();
    all.extend(functions());
    all.extend(forms());
    let mut seen = std::collections::HashSet::new();
    all.retain(|entry| seen.insert((entry.group, entry.shown.clone())));
    all
}

/// Whether two rows are equal but for the order in which floats were added or multiplied.
fn is_same_row(a: &[String], b: &[String]) -> bool {
    let is_same = |(a, b): (&String, &String)| {
        let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
        a == b || a.parse().ok().zip(b.parse().ok()).is_some_and(near)
    };
    a.len() == b.len() && a.iter().zip(b).all(is_same)
}

const INTRO: &str = "\
# What runs on the GPU

This page is written from the placements of plans: every step of a frame, every function of `x!` and every form of an
aggregate over one frame of all types with nulls. An entry is on the GPU if every node that reads many rows runs there.
Limits and the last step of `describe` run on the host. Entries that stay on the CPU have the same answer there. Fewer
than 30,000 rows stay on the CPU in any case, where they are faster.
";

fn page(found: &[(Entry, Vec<String>)]) -> String {
    let mut out = INTRO.to_string();
    let groups = [STEPS, ROW_FUNCTIONS, AGGREGATES, GROUPED, OVER, WINDOWS, METRICS];
    out.push_str("\n| entries | on the GPU | on the CPU |\n|---|---|---|\n");
    for group in groups {
        let all = found.iter().filter(|(entry, _)| entry.group == group);
        let (gpu, cpu): (Vec<_>, Vec<_>) = all.partition(|(_, reasons)| reasons.is_empty());
        let _ = writeln!(out, "| {group} | {} | {} |", gpu.len(), cpu.len());
    }
    for group in groups {
        let cpu: Vec<_> = found.iter().filter(|(entry, reasons)| entry.group == group && !reasons.is_empty()).collect();
        if cpu.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {group}\n\n| stays on the CPU | why |\n|---|---|\n");
        if group == METRICS {
            let names: Vec<&str> = cpu.iter().map(|(entry, _)| entry.shown.as_str()).collect();
            let _ = writeln!(out, "| `{}` | they run on sets of test rows, on the CPU |", names.join("`, `"));
            continue;
        }
        for (entry, reasons) in cpu {
            let cell = |text: &str| text.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {} |", cell(&entry.shown), cell(&reasons.join("; ")));
        }
    }
    out
}

#[test]
fn the_page_of_coverage_is_that_of_the_placements() {
    let bench = TestEngine::of(EngineConfig { policy: Some(Policy::FromRows(0)), ..on_device() });
    let input = frame(&bench);
    let mut found = Vec::new();
    let mut refused = Vec::new();
    for entry in entries() {
        let id = match (entry.make)(&bench, input) {
            Ok(id) => id,
            Err(d) => {
                refused.push(format!("{}: {d}", entry.shown));
                continue;
            }
        };
        let reasons = reasons(&bench, id);
        if std::env::var("ONRUSH_EXPLAIN").is_ok_and(|word| entry.shown.contains(&word)) {
            println!("{}", bench.engine.explain(id, false, &TaskHandle::new()).unwrap());
        }
        bench.engine.release(&[id]);
        found.push((entry, reasons));
    }
    assert!(refused.is_empty(), "{refused:#?}");
    let wanted = page(&found);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gpu-coverage.md");
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let (mut functions, mut steps) = (Forms::new(), Forms::new());
    for (entry, reasons) in &found {
        if let Some(name) = entry.function {
            functions.entry(name.to_string()).or_default().push(reasons.is_empty());
        } else if let (STEPS, Some(name)) = (entry.group, method_of(&entry.shown)) {
            steps.entry(name).or_default().push(reasons.is_empty());
        }
    }
    reference::check(&bench, &functions, &steps);
    assert!(there == wanted, "docs/gpu-coverage.md differs from the placements: ONRUSH_WRITE=1 writes it");
}

/// Runs some entries on the device and on the CPU, or all with `ONRUSH_RUN=1`; `ONRUSH_RUN=rank` those with that word.
#[test]
fn entries_have_the_answers_of_the_cpu() {
    const OFTEN: [&str; 6] = [
        "x.rank()",
        "unique(key, n, keep last)",
        "sample(20)",
        "describe() of x, n, key, when",
        "x.median().over(key)",
        "pivot(on key, index n, values x, sum)",
    ];
    let wanted = std::env::var("ONRUSH_RUN").ok();
    let is_wanted = |entry: &Entry| match wanted.as_deref() {
        None => OFTEN.contains(&entry.shown.as_str()),
        Some("1") => true,
        Some(word) => entry.shown.contains(word),
    };
    let (cpu, device) =
        (TestEngine::on_cpu(), TestEngine::of(EngineConfig { policy: Some(Policy::FromRows(0)), ..on_device() }));
    let (on_cpu, on_device) = (frame(&cpu), frame(&device));
    let mut different = BTreeMap::new();
    for entry in entries().into_iter().filter(is_wanted) {
        let rows = |bench: &TestEngine, input| {
            let id = (entry.make)(bench, input).unwrap();
            let rows = bench.try_rows(id).map_err(|d| d.to_string());
            bench.engine.release(&[id]);
            rows
        };
        let (expected, found) = (rows(&cpu, on_cpu), rows(&device, on_device));
        let difference = match (&expected, &found) {
            (Ok(expected), Ok(found)) if expected.len() == found.len() => {
                let rows = expected.iter().zip(found);
                rows.into_iter().find(|(a, b)| !is_same_row(a, b)).map(|rows| format!("{rows:?}"))
            }
            // Both engines refuse, such as a binary metric over several classes.
            (Err(expected), Err(found)) if expected == found => None,
            _ => Some(format!("{:?} {:?}", expected.map(|rows| rows.len()), found.map(|rows| rows.len()))),
        };
        different.extend(difference.map(|difference| (format!("{}: {}", entry.group, entry.shown), difference)));
    }
    assert!(different.is_empty(), "{different:#?}");
    let fallbacks = device.engine.accelerator().unwrap().cpu_fallbacks.load(std::sync::atomic::Ordering::Relaxed);
    assert!(wanted.is_some() || fallbacks == 0, "{fallbacks} fragments fell back to the CPU");
}

/// Columns without nulls share their counts, which the planner computes once. The CPU engine's answer is the reference.
#[test]
fn descriptions_of_columns_without_nulls_run_on_the_device() {
    let rows = |bench: &TestEngine| {
        let price = (0..300_i128).map(|row| row * row % 977).collect::<Decimal128Array>();
        let id = bench.frame(vec![
            ("n", Arc::new(Int64Array::from_iter_values(0..300)) as ArrayRef),
            ("price", Arc::new(price.with_precision_and_scale(10, 2).unwrap())),
        ]);
        let predicate = op(col("n"), BinaryOp::Greater, lit(2));
        let input = bench.step(Op::Filter { input: id, predicate });
        bench.rows(bench.step(Op::Describe { input }))
    };
    assert_eq!(rows(&only_device()), rows(&TestEngine::on_cpu()));
}
