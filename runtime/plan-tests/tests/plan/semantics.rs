//! The rows of `docs/semantics.md`, but for those that it says are tested elsewhere. Frames: values that Polars 2.1
//! gave for the same expression. SQL: values that DuckDB 2.0 gave for the same query. Where Onrush departs from them,
//! the row says so, and the value is what the row says.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int8Array, Int32Array, ListArray, TimestampMicrosecondArray, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::Int64Type;
use onrush_wire::BinaryOp::*;
use onrush_wire::plan::{ConcatHow, JoinKind, Keep, Op};
use onrush_wire::{Class, DataType, Expr, ExprKind, FrameId, TimeUnit};

use super::support::*;

struct Both {
    bench: TestEngine,
    frame: FrameId,
}

impl Both {
    fn new() -> Self {
        let bench = TestEngine::default();
        let frame = sample(&bench);
        Both { bench, frame }
    }

    fn frame(&self, expr: Expr, expect: &str) {
        let text = format!("{:?}", expr.kind);
        assert_eq!(self.bench.select(self.frame, expr), expect, "{text}");
    }

    fn sql(&self, expr: &str, expect: &str) {
        self.sql_on(self.frame, expr, expect);
    }

    fn sql_on(&self, frame: FrameId, expr: &str, expect: &str) {
        let got = self.bench.sql(&format!("select {expr} as x from t"), &[("t", frame)]);
        assert_eq!(got.replacen("x|", "", 1), expect, "{expr}");
    }

    /// The type of a query's column.
    fn sql_type(&self, frame: FrameId, expr: &str, expect: &str) {
        let id = self.bench.try_sql(&format!("select {expr} as x from t"), &[("t", frame)]).unwrap();
        assert_eq!(self.bench.engine.schema(id).unwrap().fields[0].dtype.to_string(), expect, "{expr}");
    }

    fn fails(&self, expr: &str, code: &str) {
        let id = self.bench.try_sql(&format!("select {expr} as x from t"), &[("t", self.frame)]);
        let error = id.and_then(|id| self.bench.try_rows(id)).unwrap_err();
        assert_eq!(error.code, code, "{expr}: {error}");
    }
}

#[test]
fn division_and_remainder() {
    let b = Both::new();
    b.frame(op(col("i"), Divide, col("j")), "f64: 3.5 -3.5 -3.5 3.5 null");
    b.sql("i / j", "3.5|-3.5|-3.5|3.5|null");
    b.frame(op(col("i"), Divide, col("z")), "f64: inf -inf inf -inf null");
    b.sql("i / z", "inf|-inf|inf|-inf|null");
    b.frame(call("floor_div", [col("i"), col("j")]), "i64: 3 -4 -4 3 null");
    b.sql("i // j", "3|-3|-3|3|null");
    b.frame(op(col("i"), Remainder, col("j")), "i64: 1 1 -1 -1 null");
    b.sql("i % j", "1|-1|1|-1|null");
    b.frame(op(col("i"), Remainder, col("z")), "i64: null null null null null");
    b.fails("i % z", "division-by-zero");
    b.frame(op(col("f"), Remainder, lit(-2.0)), "f64: -0.5 NaN -0.5 null 0.0");
}

#[test]
fn overflow_and_literals() {
    let b = Both::new();
    b.frame(op(col("t"), Add, lit(100)), "i8: -56 -56 -56 97 null");
    b.fails("t + t", "overflow");
    b.frame(op(col("t"), Add, lit(1000)), "i16: 1100 1100 1100 997 null");
    b.frame(op(col("t"), Multiply, lit(1.5)), "f64: 150.0 150.0 150.0 -4.5 null");
    b.fails("t + cast(100 as tinyint)", "overflow");
    b.sql("t - 1", "99|99|99|-4|null");
}

#[test]
fn sums_and_counts() {
    let b = Both::new();
    b.frame(call("sum", [col("t")]), "i64: 297");
    b.sql("sum(t)", "297");
    let wide = b.bench.frame(vec![("x", Arc::new(Int32Array::from(vec![i32::MAX, 1])) as ArrayRef)]);
    assert_eq!(b.bench.select(wide, call("sum", [col("x")])), "i64: 2147483648");
    let none = b.bench.step(Op::Filter { input: b.frame, predicate: op(col("i"), Greater, lit(100)) });
    assert_eq!(b.bench.select(none, call("sum", [col("i")])), "i64: 0");
    assert_eq!(b.bench.select(none, call("mean", [col("i")])), "f64: null");
    assert_eq!(b.bench.select(none, call("max", [col("i")])), "i64: null");
    assert_eq!(b.bench.sql("select sum(i) as x, avg(i) as y from t", &[("t", none)]), "x y|null null");
    b.frame(call("len", []), "u32: 5");
    b.frame(call("n_unique", [col("s")]), "u32: 5");
    b.sql("count(distinct s)", "4");
    let big = b.bench.frame(vec![("x", ints(&[Some(i64::MAX), Some(1)]))]);
    let id = b.bench.try_sql("select sum(x) as s from t", &[("t", big)]).unwrap();
    assert_eq!(b.bench.try_rows(id).unwrap_err().code, "overflow");
}

#[test]
fn decimals_and_quantiles() {
    let b = Both::new();
    let decimals = Decimal128Array::from(vec![Some(110), Some(225), None]).with_precision_and_scale(10, 2).unwrap();
    let d = b.bench.frame(vec![("d", Arc::new(decimals) as ArrayRef)]);
    assert_eq!(b.bench.select(d, call("mean", [col("d")])), "f64: 1.675");
    assert_eq!(b.bench.sql("select avg(d) as x from t", &[("t", d)]), "x|1.675");
    assert_eq!(b.bench.select(d, call("sum", [col("d")])), "decimal[38,2]: 3.35");
    assert_eq!(b.bench.sql("select d / 3 as x from t", &[("t", d)]), "x|0.366666667|0.75|null");
    assert_eq!(b.bench.select(d, op(col("d"), Divide, col("d"))), "decimal[38,2]: 1.00 1.00 null");
    b.frame(call("median", [col("i")]), "f64: 0.0");
    b.sql("median(i)", "0.0");
    b.frame(call("quantile", [col("j"), lit(0.6)]), "f64: 1.0");
    b.frame(call("quantile", [col("j"), lit(0.6), lit("linear")]), "f64: 1.4");
    b.sql("quantile_cont(j, 0.6)", "1.4");
}

#[test]
fn rounding_and_nan() {
    let b = Both::new();
    let halves = b.bench.frame(vec![("h", floats(&[Some(0.5), Some(1.5), Some(2.5), Some(-0.5), Some(-1.5)]))]);
    assert_eq!(b.bench.select(halves, call("round", [col("h")])), "f64: 0.0 2.0 2.0 -0.0 -2.0");
    assert_eq!(b.bench.sql("select round(h) as x from t limit 3", &[("t", halves)]), "x|1.0|2.0|3.0");
    assert_eq!(b.bench.select(halves, call("cast", [col("h"), lit("i64")])), "i64: 0 1 2 0 -1");
    assert_eq!(b.bench.sql("select cast(h as int) as x from t limit 3", &[("t", halves)]), "x|0|2|2");
    b.sql("cast(2.5 as int)", "3|3|3|3|3");
    b.frame(op(col("f"), Equal, lit(f64::NAN)), "bool: false true false null false");
    b.frame(op(col("f"), Greater, lit(1)), "bool: true true false null true");
    b.sql("f > 1", "true|true|false|null|true");
    b.frame(call("max", [col("f")]), "f64: 2.0");
    b.sql("max(f)", "NaN");
}

#[test]
fn nulls_in_sorts_joins_and_groups() {
    let b = Both::new();
    let sort = |key| b.bench.column(b.bench.step(Op::Sort { input: b.frame, keys: vec![key] }), 0);
    assert_eq!(sort(asc("i")), ["null", "-7", "-7", "7", "7"]);
    assert_eq!(sort(desc("i")), ["null", "7", "7", "-7", "-7"]);
    // Stable: `i` within one `j` as it was.
    let by_j = b.bench.step(Op::Sort { input: b.frame, keys: vec![asc("j")] });
    assert_eq!(b.bench.column(by_j, 0), ["7", "-7", "null", "7", "-7"]);
    let sql = |q: &str| b.bench.sql(q, &[("t", b.frame)]);
    assert_eq!(sql("select i from t order by i"), "i|-7|-7|7|7|null");
    assert_eq!(sql("select i from t order by i desc"), "i|7|7|-7|-7|null");
    // NaN is equal to NaN and null to nothing, in keys, too.
    let keyed = b.bench.frame(vec![("f", floats(&[Some(f64::NAN), Some(1.0), None, Some(f64::NAN), Some(-0.0)]))]);
    let (left_on, right_on) = (vec![col("f")], vec![col("f")]);
    let join = Op::Join { left: keyed, right: keyed, how: JoinKind::Inner, left_on, right_on, suffix: "_r".into() };
    assert_eq!(b.bench.column(b.bench.step(join), 0).len(), 6);
    let group = Op::GroupBy { input: keyed, keys: vec![col("f")], aggs: vec![call("len", []).alias("n")] };
    assert_eq!(b.bench.rows(b.bench.step(group)), "f n|null 1|0.0 1|1.0 1|NaN 2");
    b.frame(
        call("is_in", [col("s"), lit("a"), Expr::literal(onrush_wire::Value::Null)]),
        "bool: true false null false false",
    );
    b.frame(call("rank", [col("i"), lit("min")]), "u32: 3 1 3 1 null");
    b.frame(call("cum_sum", [col("i")]), "i64: 7 0 7 0 null");
    let rolling = call("rolling_sum", [col("i"), lit(2)]);
    b.frame(rolling.clone(), "i64: null 0 0 0 null");
    b.frame(named(rolling, "min_samples", lit(1)), "i64: 7 0 0 0 -7");
}

#[test]
fn text_numbers_and_dates() {
    let b = Both::new();
    assert_eq!(b.bench.try_select(b.frame, op(col("i"), Greater, lit("a"))).unwrap_err().code, "type-mismatch");
    b.fails("s > 5", "type-mismatch");
    b.sql("i > '5'", "true|false|true|false|null");
    b.frame(op(col("s"), Add, lit("x")), "str: ax Bx null héllox ab1cx");
    b.sql("s || 'x'", "ax|Bx|null|héllox|ab1cx");
    b.frame(call("str.len_bytes", [col("s")]), "u32: 1 1 null 6 4");
    b.frame(call("str.len_chars", [col("s")]), "u32: 1 1 null 5 4");
    b.sql("length('héllo')", "5|5|5|5|5");
    b.sql("strlen('héllo')", "6|6|6|6|6");
    let f = b.bench.frame(vec![("s", string_array(&[Some(""), Some("a b"), None]))]);
    assert_eq!(b.bench.select(f, call("str.split", [col("s"), lit(" ")])), "list[str]: [] [a,b] null");
    assert_eq!(b.bench.select(f, call("list.len", [call("str.split", [col("s"), lit(" ")])])), "u32: 1 2 null");
    b.sql_on(f, "string_split(s, ' ')", "[]|[a,b]|null");
    b.sql_on(f, "len(string_split(s, ' '))", "0|2|null");
    let day = |text: &str| Expr::new(ExprKind::Cast { value: Box::new(lit(text)), to: DataType::Date, strict: true });
    let difference = op(day("2013-02-01"), Subtract, day("2013-01-31"));
    let id = b.bench.step(Op::WithColumns { input: b.frame, exprs: vec![difference.alias("d")] });
    let schema = b.bench.engine.schema(id).unwrap();
    assert_eq!(schema.field("d").unwrap().dtype, DataType::Duration(TimeUnit::Microsecond));
}

#[test]
fn types_of_numbers() {
    let b = Both::new();
    b.sql_type(b.frame, "t - 1", "i8");
    let id = b.bench.step(Op::Select { input: b.frame, exprs: vec![lit(1)] });
    assert_eq!(b.bench.engine.schema(id).unwrap().fields[0].dtype, DataType::Int64);
    b.sql_type(b.frame, "1", "i64");
    for count in ["count(*)", "count(i)", "count(distinct i)", "sum(t)"] {
        b.sql_type(b.frame, count, "i64");
    }
    b.frame(call("count", [col("i")]), "u32: 4");
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    let small: ArrayRef = Arc::new(UInt32Array::from(vec![4_000_000_000, 2]));
    let wide: ArrayRef = Arc::new(Int32Array::from(vec![i32::MAX, 1]));
    let f = b.bench.frame(vec![("i", ints(&[Some(1), Some(-2)])), ("u", unsigned), ("v", small), ("w", wide)]);
    assert_eq!(b.bench.select(f, op(col("i"), Add, col("u"))), "f64: 2.0 0.0");
    assert_eq!(b.bench.select(f, call("sum", [col("v")])), "u64: 4000000002");
    b.sql_on(f, "sum(v)", "4000000002");
    b.sql_type(f, "sum(v)", "u64");
    b.sql_on(f, "sum(w)", "2147483648");
    b.sql_type(f, "sum(w)", "i64");
    b.frame(call("pow", [col("t"), lit(2)]), "i64: 10000 10000 10000 9 null");
    b.sql("pow(t, 2)", "10000.0|10000.0|10000.0|9.0|null");
    let smallest = b.bench.frame(vec![("t", Arc::new(Int8Array::from(vec![-128])) as ArrayRef)]);
    assert_eq!(b.bench.select(smallest, call("abs", [col("t")])), "i8: -128");
    let id = b.bench.try_sql("select abs(t) as x from t", &[("t", smallest)]).unwrap();
    assert_eq!(b.bench.try_rows(id).unwrap_err().class, Class::Data);
}

#[test]
fn aggregates_of_few_rows_and_of_nan() {
    let b = Both::new();
    let none = b.bench.step(Op::Filter { input: b.frame, predicate: op(col("i"), Greater, lit(100)) });
    assert_eq!(b.bench.select(none, call("min", [col("i")])), "i64: null");
    assert_eq!(b.bench.sql("select min(i) as x, max(i) as y from t", &[("t", none)]), "x y|null null");
    assert_eq!(b.bench.select(none, call("str.join", [col("s"), lit("-")])), "str: ");
    assert_eq!(b.bench.select(none, call("implode", [col("s")])), "list[str]: []");
    let one = b.bench.step(Op::Slice { input: b.frame, offset: 0, length: Some(1) });
    assert_eq!(b.bench.select(one, call("corr", [col("i"), col("j")])), "f64: null");
    b.sql_on(one, "corr(i, j)", "null");
    b.sql("f = cast('nan' as double)", "false|true|false|null|false");
    // In a group with NaN DataFusion's answer depends on the order of the rows; the other groups are DuckDB's.
    let groups = "select j, max(f) as m from t where j < 2 group by j order by j";
    assert_eq!(b.bench.sql(groups, &[("t", b.frame)]), "j m|-2 -0.5|1 2.0");
    let filtered = call("filter", [col("i"), op(col("j"), Greater, lit(0))]);
    b.frame(call("mean", [filtered]), "f64: 0.0");
    b.sql("avg(i) filter (where j > 0)", "0.0");
    b.frame(call("mode", [col("i")]), "i64: -7");
    b.sql("mode(i)", "-7");
}

#[test]
fn the_two_zeros_are_one_value() {
    let b = Both::new();
    let z = b
        .bench
        .frame(vec![("z", floats(&[Some(0.0), Some(-0.0), Some(1.0)])), ("n", ints(&[Some(1), Some(2), Some(3)]))]);
    let group = Op::GroupBy { input: z, keys: vec![col("z")], aggs: vec![call("len", []).alias("n")] };
    assert_eq!(b.bench.rows(b.bench.step(group)), "z n|0.0 2|1.0 1");
    let unique = Op::Unique { input: z, subset: vec![col("z")], keep: Keep::First };
    assert_eq!(b.bench.column(b.bench.step(unique), 1), ["1", "3"]);
    let sort = Op::Sort { input: z, keys: vec![asc("z")] };
    assert_eq!(b.bench.column(b.bench.step(sort), 1), ["1", "2", "3"]);
    assert_eq!(b.bench.select(z, call("rank", [col("z")])), "f64: 1.5 1.5 3.0");
    let groups = "select z, count(*) as n from t group by z order by z";
    assert_eq!(b.bench.sql(groups, &[("t", z)]), "z n|0.0 2|1.0 1");
}

#[test]
fn nulls_and_order_in_sql() {
    let b = Both::new();
    let sql = |q: &str| b.bench.sql(q, &[("t", b.frame)]);
    assert_eq!(sql("select count(*) as n from t a join t b on a.i = b.i"), "n|8");
    assert_eq!(sql("select b, count(*) as n from t group by b order by b"), "b n|false 1|true 3|null 1");
    assert_eq!(sql("select first(i) as a, last(i) as b from t"), "a b|7 null");
    let groups = "select j, first(i) as a, last(i) as b from t group by j order by j";
    assert_eq!(sql(groups), "j a b|-2 7 -7|1 null null|2 7 -7");
    b.sql("i in (7, null)", "true|null|true|null|null");
    assert_eq!(sql("select i, rank() over (order by i) as r from t order by r, i"), "i r|-7 1|-7 1|7 3|7 3|null 5");
    assert_eq!(
        sql("select s, sum(i) over (order by j, s) as c from t order by j, s"),
        "s c|héllo -7|null 0|ab1c 0|B -7|a 0"
    );
    b.sql("sum(i) over (rows between 1 preceding and current row)", "7|0|0|0|-7");
    assert_eq!(sql("select count(*) from t"), "count(*)|5");
}

/// The zoned times by hand: noon in New York in winter is 17:00 UTC.
#[test]
fn casts_dates_and_times() {
    let b = Both::new();
    let times = |seconds: i64, zone: Option<&str>| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![seconds * 1_000_000]).with_timezone_opt(zone))
    };
    let f = b.bench.frame(vec![
        ("d", Arc::new(Date32Array::from(vec![15_736])) as ArrayRef), // 2013-01-31
        ("m", times(1_356_998_400, None)),                            // 2013-01-01 00:00:00
        ("e", times(1_359_635_696, None)),                            // 2013-01-31 12:34:56
        ("ny", times(1_357_059_600, Some("America/New_York"))),
        ("s", string_array(&[Some(" 4")])),
    ]);
    let frame = |expr, expect: &str| assert_eq!(b.bench.select(f, expr), expect);
    frame(op(col("d"), Greater, lit("2013-01-01")), "bool: true");
    b.sql_on(f, "d > '2013-01-01'", "true");
    frame(op(col("ny"), Equal, lit("2013-01-01 12:00:00")), "bool: true");
    b.sql_on(f, "ny = '2013-01-01 12:00:00'", "true");
    frame(call("cast", [col("s"), lit("i64")]), "i64: 4");
    b.sql_on(f, "cast(s as bigint)", "4");
    frame(call("cast", [col("m"), lit("str")]), "str: 2013-01-01T00:00:00");
    b.sql_on(f, "cast(m as varchar)", "2013-01-01 00:00:00");
    let day = |text: &str| Expr::new(ExprKind::Cast { value: Box::new(lit(text)), to: DataType::Date, strict: true });
    frame(op(col("d"), Add, op(col("d"), Subtract, day("2013-01-30"))), "date: 2013-02-01");
    b.sql_on(f, "d + interval '1 day'", "2013-02-01");
    b.sql_on(f, "d + interval '1 month'", "2013-02-28");
    b.sql_on(f, "d + interval '1 hour'", "2013-01-31T01:00:00");
    b.sql_on(f, "d - date '2013-01-01'", "30");
    frame(call("dt.month_start", [col("e")]), "datetime[μs]: 2013-01-01T12:34:56");
    frame(call("dt.truncate", [col("e"), lit("1mo")]), "datetime[μs]: 2013-01-01T00:00:00");
    // Text.
    let id = b.bench.try_select(b.frame, call("cast", [col("s"), lit("i64")])).unwrap();
    assert_eq!(b.bench.try_rows(id).unwrap_err().code, "cast");
    b.frame(call("try_cast", [col("s"), lit("i64")]), "i64: null null null null null");
    b.fails("cast(s as bigint)", "cast");
    b.sql("try_cast(s as bigint)", "null|null|null|null|null");
    assert!(b.bench.try_sql("select s + 'x' as x from t", &[("t", b.frame)]).is_err());
    b.sql("s || null", "null|null|null|null|null");
}

#[test]
fn steps_on_frames() {
    let b = Both::new();
    let left = b.bench.frame(vec![("k", ints(&[Some(3), Some(1)]))]);
    let right = b.bench.frame(vec![("q", ints(&[Some(1), Some(9)])), ("v", ints(&[Some(5), Some(6)]))]);
    let join = |how| {
        let (left_on, right_on) = (vec![col("k")], vec![col("q")]);
        b.bench.rows(b.bench.step(Op::Join { left, right, how, left_on, right_on, suffix: "_right".into() }))
    };
    assert_eq!(join(JoinKind::Inner), "k v|1 5");
    assert_eq!(join(JoinKind::Full), "k q v|3 null null|1 1 5|null 9 6");
    let exprs = vec![col("j"), call("sum", [col("j")]).alias("m")];
    let id = b.bench.step(Op::Select { input: b.frame, exprs });
    assert_eq!(b.bench.rows(id), "j m|2 1|2 1|-2 1|-2 1|1 1");
    let lists = [Some(vec![Some(1), Some(2)]), Some(vec![]), None];
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let input = b.bench.frame(vec![("a", ints(&[Some(1), Some(2), Some(3)])), ("l", lists)]);
    let id = b.bench.step(Op::Explode { input, columns: vec!["l".into()] });
    assert_eq!(b.bench.rows(id), "a l|1 1|1 2|3 null");
    let long = b.bench.frame(vec![
        ("d", ints(&[Some(1), Some(1), Some(2)])),
        ("w", string_array(&[Some("a"), Some("b"), Some("a")])),
        ("x", ints(&[Some(1), Some(2), Some(3)])),
    ]);
    for (aggregate, expect) in [
        ("sum", "d a b|1 1 2|2 3 0"),
        ("len", "d a b|1 1 1|2 1 0"),
        ("count", "d a b|1 1 1|2 1 0"),
        ("first", "d a b|1 1 2|2 3 null"),
        ("max", "d a b|1 1 2|2 3 null"),
    ] {
        let (index, values) = (vec!["d".to_string()], vec!["x".to_string()]);
        let pivot = Op::Pivot { input: long, on: vec!["w".into()], index, values, aggregate: aggregate.into() };
        assert_eq!(b.bench.rows(b.bench.step(pivot)), expect, "{aggregate}");
    }
    let whole = b.bench.frame(vec![("x", ints(&[Some(1)]))]);
    let part = b.bench.frame(vec![("x", floats(&[Some(1.5)]))]);
    let id = b.bench.step(Op::Concat { inputs: vec![whole, part], how: ConcatHow::Vertical });
    assert_eq!(b.bench.rows(id), "x|1.0|1.5");
}
