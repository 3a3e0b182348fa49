//! Functions of `%%cuda` cells in expressions, on the CPU and on the emulated device. Values by hand, those of
//! `distance` and `steps` from Python.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Int32Array};
use onrush_engine::{EngineChoice, EngineConfig, Policy};
use onrush_frame::TaskHandle;
use onrush_wire::BinaryOp::{Add, And, Greater, Less, LessEqual, Multiply, NotEqual, Or};
use onrush_wire::plan::{JoinKind, Op};
use onrush_wire::{Class, DataType, Expr, ExprKind, FrameId, NativeFunction};

use super::support::*;

/// A cell's text without its kernels, as the cell process sends it.
const TEXT: &str = r#"

#define EARTH 6371.0
#define row 3 // names of ours mean nothing there
struct Point { double lat, lon; };
__constant__ double weights[3] = {0.5, 0.25, 0.25};
__device__ double radians_of(double degrees) { return degrees * 3.14159265358979323846 / 180.0; }
__device__ double between(Point a, Point b) {
    double x = sin(radians_of(b.lat - a.lat) / 2), y = sin(radians_of(b.lon - a.lon) / 2);
    return 2 * EARTH * asin(sqrt(x * x + cos(radians_of(a.lat)) * cos(radians_of(b.lat)) * y * y));
}
__device__ double distance(double lat1, double lon1, double lat2, double lon2) {
    return between(Point{lat1, lon1}, Point{lat2, lon2});
}
__device__ int twice(int x) { return 2 * x; }
__device__ float half(float x) { return x / 2; }
__device__ long long steps(long long n) {
    long long steps = 0;
    while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; steps++; }
    return steps;
}
__device__ bool is_odd(long long n) { return n % 2 != 0; }
__device__ double weight(int place) { return weights[place] + row; }
__device__ double answer() { return 42; }
__device__ int checked(int x) { assert(x > 0); return x; }
"#;

fn function(text: &str, name: &str, parameters: &[DataType], result: DataType) -> NativeFunction {
    let parameters = parameters.iter().enumerate().map(|(at, dtype)| (format!("p{at}"), dtype.clone())).collect();
    NativeFunction { name: name.into(), parameters, result, file: "cell_7.rs".into(), text: text.into() }
}

fn native_of(text: &str, name: &str, parameters: &[DataType], result: DataType, args: Vec<Expr>) -> Expr {
    let function = Box::new(function(text, name, parameters, result));
    Expr::new(ExprKind::Native { function, args }).at(span(40))
}

fn native(name: &str, args: Vec<Expr>) -> Expr {
    use DataType::{Boolean, Float32, Float64, Int32, Int64};
    let (parameters, result): (&[DataType], DataType) = match name {
        "distance" => (&[Float64, Float64, Float64, Float64], Float64),
        "twice" | "checked" => (&[Int32], Int32),
        "half" => (&[Float32], Float32),
        "steps" => (&[Int64], Int64),
        "is_odd" => (&[Int64], Boolean),
        "weight" => (&[Int32], Float64),
        _ => (&[], Float64),
    };
    native_of(TEXT, name, parameters, result, args)
}

/// The same on both, or on a GPU (`ONRUSH_TEST_ENGINE=cuda`).
fn each(test: impl Fn(&TestEngine)) {
    for choice in choices() {
        let cache = Some(onrush_wire::paths::cache_dir());
        // Asked for by name, a GPU would refuse the parts that run on the CPU.
        let policy = is_cuda().then_some(Policy::Always);
        test(&TestEngine::of(EngineConfig { choice, policy, cache, ..EngineConfig::default() }));
    }
}

/// How plans show where a node runs.
fn place(bench: &TestEngine) -> String {
    let place = if is_cuda() { "gpu" } else { bench.engine.name() };
    format!("[{place}]")
}

fn numbers(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("n", ints(&[Some(6), None, Some(7), Some(27), Some(1)])),
        ("x", floats(&[Some(0.5), Some(1.5), None, Some(-3.0), Some(f64::INFINITY)])),
        ("i", Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3), None, Some(5)])) as ArrayRef),
        ("f", Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0, 4.0, 5.0])) as ArrayRef),
        ("g", string_array(&[Some("a"), Some("b"), Some("a"), Some("b"), Some("a")])),
        ("b", bools(&[Some(true), Some(false), None, Some(true), Some(false)])),
    ])
}

#[test]
fn a_call_gives_a_value_for_each_row_and_null_for_null() {
    each(|bench| {
        let f = numbers(bench);
        assert_eq!(bench.select(f, native("steps", vec![col("n")])), "i64: 8 null 16 111 0");
        assert_eq!(bench.select(f, native("is_odd", vec![col("n")])), "bool: false null true true true");
        assert_eq!(bench.select(f, native("twice", vec![col("i")])), "i32: 2 4 6 null 10");
        assert_eq!(bench.select(f, op(native("weight", vec![lit(1)]), Add, col("f"))), "f64: 4.25 5.25 6.25 7.25 8.25");
        assert_eq!(bench.select(f, op(native("answer", vec![]), Add, col("f"))), "f64: 43.0 44.0 45.0 46.0 47.0");
        // One within the other.
        let nested = native("steps", vec![op(native("twice", vec![col("i")]), Multiply, lit(3))]);
        assert_eq!(bench.select(f, nested), "i64: 8 9 20 null 18");
    });
}

#[test]
fn distances() {
    each(|bench| {
        let f = bench.frame(vec![
            ("a", floats(&[Some(40.6413), Some(52.52), None])),
            ("b", floats(&[Some(-73.7781), Some(13.405), Some(0.0)])),
            ("c", floats(&[Some(40.7580), Some(48.8566), Some(0.0)])),
            ("d", floats(&[Some(-73.9855), Some(2.3522), Some(0.0)])),
        ]);
        let km = native("distance", ["a", "b", "c", "d"].map(col).to_vec());
        assert_eq!(bench.select(f, call("round", [km, lit(6)])), "f64: 21.773376 877.463326 null");
    });
}

#[test]
fn arguments_take_the_parameters_types() {
    each(|bench| {
        let f = numbers(bench);
        // Integers that fit into the parameter, numbers as floats, booleans as 0 and 1.
        assert_eq!(bench.select(f, native("twice", vec![col("n")])), "i32: 12 null 14 54 2");
        assert_eq!(bench.select(f, native("half", vec![col("n")])), "f32: 3.0 null 3.5 13.5 0.5");
        assert_eq!(bench.select(f, native("half", vec![col("x")])), "f32: 0.25 0.75 null -1.5 inf");
        assert_eq!(bench.select(f, native("twice", vec![col("b")])), "i32: 2 0 null 2 0");
        assert_eq!(bench.select(f, op(native("half", vec![lit(3)]), Add, col("f"))), "f32: 2.5 3.5 4.5 5.5 6.5");
        // A value without a place is an error that says which.
        let big = bench.frame(vec![("n", ints(&[Some(1), Some(3_000_000_000)]))]);
        let id = bench.step(Op::Select { input: big, exprs: vec![native("twice", vec![col("n").at(span(6))])] });
        let error = bench.try_rows(id).unwrap_err();
        assert!(error.message.contains("3000000000 cannot be cast to `i32`"), "{error}");
        assert_eq!(error.labels[0].span.column, 6, "{error}");
    });
}

#[test]
fn what_does_not_go_is_said_at_once() {
    let bench = TestEngine::on_cpu();
    let f = numbers(&bench);
    let refused = |expr: Expr, message: &str, help: &str| {
        let error = bench.try_select(f, expr).unwrap_err();
        assert_eq!(error.class, Class::Plan, "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.help.iter().any(|text| text.contains(help)), "{error}");
        assert!(!error.labels.is_empty());
    };
    refused(native("half", vec![col("g").at(span(5))]), "`p0` of `half` is `f32`, but this is `str`", ".cast(\"f32\")");
    refused(native("twice", vec![col("x")]), "`p0` of `twice` is `i32`, but this is `f64`", ".round().cast(\"i32\")");
    refused(native("twice", vec![lit(5_000_000_000_i64)]), "but this is `i64`", "wider");
    refused(native("half", vec![]), "takes 1 arguments, and 0 are given", "half(p0: f32)");
}

#[test]
fn every_step_takes_them() {
    each(|bench| {
        let f = numbers(bench);
        let steps = || native("steps", vec![col("n")]);
        let kept = bench.step(Op::Filter { input: f, predicate: op(steps(), Greater, lit(10)) });
        assert_eq!(bench.column(kept, 0), ["7", "27"]);
        let keys = vec![onrush_wire::expr::SortKey { expr: steps(), descending: true, nulls_last: Some(true) }];
        let sorted = bench.step(Op::Sort { input: f, keys });
        assert_eq!(bench.column(sorted, 0), ["27", "7", "6", "1", "null"]);
        let aggs = vec![call("mean", [steps()]).alias("m"), native("steps", vec![call("max", [col("n")])]).alias("of")];
        let grouped = bench.step(Op::GroupBy { input: f, keys: vec![col("g")], aggs });
        let mut rows = bench.try_rows(grouped).unwrap();
        rows.sort();
        // a: 6, 7, 1 -> 8, 16, 0; b: 27 -> 111.
        assert_eq!(rows, [["a", "8.0", "16"], ["b", "111.0", "111"]]);
        let keyed = bench.step(Op::GroupBy {
            input: f,
            keys: vec![native("is_odd", vec![col("n")]).alias("odd")],
            aggs: vec![call("sum", [col("f")]).alias("s")],
        });
        let mut rows = bench.try_rows(keyed).unwrap();
        rows.sort();
        assert_eq!(rows, [["false", "1.0"], ["null", "2.0"], ["true", "12.0"]]);
        let other =
            bench.frame(vec![("k", ints(&[Some(16), Some(0)])), ("name", string_array(&[Some("seven"), Some("one")]))]);
        let joined = bench.step(Op::Join {
            left: f,
            right: other,
            how: JoinKind::Inner,
            left_on: vec![steps()],
            right_on: vec![col("k")],
            suffix: "_r".into(),
        });
        assert_eq!(bench.try_rows(joined).unwrap().iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["7", "1"]);
        assert_eq!(bench.select(f, over(call("max", [steps()]), &["g"])), "i64: 16 111 16 111 16");
        // An argument computed from strings.
        let lengths = native("twice", vec![call("str.len_chars", [col("g")])]);
        assert_eq!(bench.select(f, lengths), "i32: 2 2 2 2 2");
    });
}

/// `steps` of 0 and below never ends.
#[test]
fn only_rows_that_choose_a_branch_are_computed() {
    each(|bench| {
        let f = bench.frame(vec![
            ("n", ints(&[Some(0), Some(7), None, Some(0), Some(6)])),
            ("b", bools(&[Some(false), Some(true), Some(true), None, Some(true)])),
        ]);
        let steps = || native("steps", vec![col("n")]);
        let choice = |condition: Expr, then: Expr, otherwise: Expr| {
            Expr::new(ExprKind::Case { branches: vec![(condition, then)], otherwise: Some(Box::new(otherwise)) })
        };
        let positive = || op(col("n"), Greater, lit(0));
        assert_eq!(bench.select(f, choice(positive(), steps(), lit(-1))), "i64: -1 16 -1 -1 8");
        let zero = op(col("n"), onrush_wire::BinaryOp::LessEqual, lit(0));
        assert_eq!(bench.select(f, choice(zero, lit(-1), steps())), "i64: -1 16 null -1 8");
        let inner = choice(positive(), op(steps(), Multiply, lit(2)), lit(5));
        assert_eq!(bench.select(f, choice(col("b"), inner, lit(9))), "i64: 9 32 5 9 16");
        let kept = bench.step(Op::Filter { input: f, predicate: positive() });
        assert_eq!(bench.select(kept, steps()), "i64: 16 8");
        let sums = Op::GroupBy { input: kept, keys: vec![col("b")], aggs: vec![call("sum", [steps()]).alias("s")] };
        assert_eq!(bench.rows(bench.step(sums)), "b s|true 24");
        assert_eq!(bench.select(kept, call("sum", [steps()])), "i64: 24");
    });
}

/// DataFusion makes one condition of filters that follow each other, the last one first.
#[test]
fn rows_that_another_condition_leaves_out_are_not_computed() {
    each(|bench| {
        let f = bench.frame(vec![
            ("n", ints(&[Some(0), Some(7), None, Some(-3), Some(6), Some(0), Some(27)])),
            ("m", ints(&[Some(-1), Some(2), Some(1), Some(0), Some(3), None, Some(4)])),
        ]);
        let filter = |input: FrameId, predicate: Expr| bench.step(Op::Filter { input, predicate });
        let steps = || native("steps", vec![col("n")]);
        let many = || op(steps(), Greater, lit(10));
        let few = || op(steps(), Less, lit(100));
        let positive = |name: &str| op(col(name), Greater, lit(0));
        let is_on_device = |id: FrameId| {
            let text = bench.engine.explain(id, false, &TaskHandle::new()).unwrap();
            assert!(text.contains(&place(bench)), "{text}");
            assert!(bench.engine.name() == "cpu" || !text.contains("[cpu]"), "{text}");
        };
        let left = |id: FrameId, expected: &[&str]| {
            is_on_device(id);
            assert_eq!(bench.column(id, 0), expected);
        };
        let kept = filter(f, positive("n"));
        left(filter(kept, many()), &["7", "27"]);
        left(filter(filter(kept, many()), few()), &["7"]);
        // What occurs twice is not computed before.
        left(filter(kept, op(many(), And, few())), &["7"]);
        // A condition that is null leaves a row out, too.
        left(filter(filter(f, positive("m")), many()), &["7", "27"]);
        let with = bench.step(Op::WithColumns { input: kept, exprs: vec![steps().alias("s")] });
        left(filter(with, op(col("s"), Greater, lit(10))), &["7", "27"]);
        left(filter(f, op(positive("n"), And, many())), &["7", "27"]);
        left(filter(f, op(many(), And, positive("n"))), &["7", "27"]);
        let none = || op(col("n"), LessEqual, lit(0));
        left(filter(f, op(none(), Or, many())), &["0", "7", "-3", "0", "27"]);
        assert_eq!(bench.select(f, op(positive("n"), And, many())), "bool: false true null false false false true");
        assert_eq!(bench.select(f, op(many(), Or, none())), "bool: true true null true false true true");
        let branches = vec![(positive("n"), many())];
        let choice = Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(op(col("m"), Less, lit(0)))) });
        assert_eq!(bench.select(f, choice.clone()), "bool: true true false false false null true");
        left(filter(f, choice), &["0", "7", "27"]);
        let or_steps = call("coalesce", [col("m"), steps()]);
        assert_eq!(bench.select(filter(f, op(col("m"), Greater, lit(-2))), or_steps), "i64: -1 2 1 0 3 4");
        // A fault.
        let text = "__device__ long long over(long long a, long long b) { return a / b; }";
        let over = |a: &str, b: &str| {
            native_of(text, "over", &[DataType::Int64, DataType::Int64], DataType::Int64, vec![col(a), col(b)])
        };
        left(filter(filter(f, op(col("m"), NotEqual, lit(0))), op(over("n", "m"), Greater, lit(2))), &["7", "27"]);
    });
}

#[test]
fn two_texts_may_use_one_name() {
    each(|bench| {
        let f = numbers(bench);
        let one = "#define BY 1\n__device__ float next(float x) { return x + BY; }\n";
        let two = "#define BY 2\n__device__ float next(float x) { return x + BY; }\n";
        let next = |text: &str| native_of(text, "next", &[DataType::Float32], DataType::Float32, vec![col("f")]);
        let both = vec![next(one).alias("a"), next(two).alias("b"), op(next(one), Multiply, next(two)).alias("c")];
        let id = bench.step(Op::Select { input: f, exprs: both });
        assert_eq!(bench.rows(id), "a b c|2.0 3.0 6.0|3.0 4.0 12.0|4.0 5.0 20.0|5.0 6.0 30.0|6.0 7.0 42.0");
        // Results that are kept are those of the text.
        assert_eq!(bench.select(f, next(one)), "f32: 2.0 3.0 4.0 5.0 6.0");
        assert_eq!(bench.select(f, next(two)), "f32: 3.0 4.0 5.0 6.0 7.0");
    });
}

#[test]
fn macros_of_the_platform_stay() {
    each(|bench| {
        let f = numbers(bench);
        let text = "#ifndef BY\n#define BY 1\n#endif\n#ifndef __device__\n#define __device__\n#endif\n#ifndef assert\n#define assert(c)\n#endif\n#ifndef warpSize\n#define warpSize 32\n#endif\n__device__ float next(float x) { return x + BY; }\n";
        let next = native_of(text, "next", &[DataType::Float32], DataType::Float32, vec![col("f")]);
        assert_eq!(bench.select(f, op(next.clone(), Add, native("half", vec![col("f")]))), "f32: 2.5 4.0 5.5 7.0 8.5");
        assert_eq!(bench.select(f, call("sum", [next])), "f32: 20.0");
    });
}

#[test]
fn errors_of_the_text_stand_in_the_cell() {
    each(|bench| {
        let f = numbers(bench);
        let text = "\n__device__ float wrong(float x) {\n    return x + unknown;\n}\n";
        let wrong = native_of(text, "wrong", &[DataType::Float32], DataType::Float32, vec![col("f")]);
        let id = bench.step(Op::Select { input: f, exprs: vec![wrong] });
        let error = bench.try_rows(id).unwrap_err();
        assert!(
            error.message.starts_with("`wrong` does not compile: ") && error.message.contains("`unknown`"),
            "{error}"
        );
        let place = &error.labels[0].span;
        assert_eq!((place.file.as_str(), place.line, place.column, place.length), ("cell_7.rs", 3, 16, 7), "{error}");
        if is_cuda() {
            // What follows ends a GPU's context.
            return;
        }
        let id = bench.step(Op::Select { input: f, exprs: vec![native("checked", vec![op(col("i"), Add, lit(-2))])] });
        let error = bench.try_rows(id).unwrap_err();
        assert_eq!(
            (error.class, error.message.as_str()),
            (Class::Run, "`checked`: the assertion `x > 0` does not hold")
        );
        let text = "__device__ int over(int a, int b) { return a / b; }";
        let args = vec![col("i"), op(col("i"), Add, lit(-2))];
        let over = native_of(text, "over", &[DataType::Int32, DataType::Int32], DataType::Int32, args);
        let id = bench.step(Op::Select { input: f, exprs: vec![over] });
        let error = bench.try_rows(id).unwrap_err();
        assert_eq!(
            (error.class, error.message.as_str()),
            (Class::Run, "`over`: a whole number is divided by zero, or the lowest one by -1")
        );
        // And the engine goes on.
        assert_eq!(bench.select(f, native("checked", vec![col("i")])), "i32: 1 2 3 null 5");
    });
}

#[test]
fn plans_show_them_where_they_run() {
    each(|bench| {
        let f = numbers(bench);
        let id = bench.step(Op::Filter { input: f, predicate: op(native("steps", vec![col("n")]), Greater, lit(10)) });
        let text = bench.engine.explain(id, false, &TaskHandle::new()).unwrap();
        assert!(text.contains("steps(n) > 10") && text.contains(&place(bench)), "{text}");
    });
}

/// More rows than a batch has, also in partitions if they do not fit.
#[test]
fn many_rows() {
    let values: Vec<Option<i64>> = (0..20_000).map(|n| (n % 7 != 0).then_some(n)).collect();
    let expected: i64 = values.iter().flatten().map(|n| 2 * n).sum();
    let choices = match is_cuda() {
        true => vec![(EngineChoice::Cuda, None), (EngineChoice::Cuda, Some(3000))],
        false => vec![(EngineChoice::Cpu, None), (EngineChoice::Emulated, None), (EngineChoice::Emulated, Some(3000))],
    };
    for (choice, part_rows) in choices {
        let cache = Some(onrush_wire::paths::cache_dir());
        let bench = TestEngine::of(EngineConfig { choice, part_rows, cache, ..EngineConfig::default() });
        let f = bench.frame(vec![("n", ints(&values))]);
        let id = bench.step(Op::Select { input: f, exprs: vec![native("twice", vec![col("n")]).alias("t")] });
        assert_eq!(bench.select(id, call("sum", [call("cast", [col("t"), lit("i64")])])), format!("i64: {expected}"));
    }
}
