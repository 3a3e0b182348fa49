//! One expression for each of several columns, and steps over many columns. Values from Polars 2.1 unless a test says
//! otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Float64Array};
use onrush_wire::plan::Op;
use onrush_wire::{Expr, ExprKind};

use super::support::*;

fn all(except: &[&str]) -> Expr {
    Expr::new(ExprKind::All { except: except.iter().map(|n| n.to_string()).collect() })
}

#[test]
fn selectors_stand_in_expressions() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("a", ints(&[Some(1), Some(2), Some(2)])),
        ("s", string_array(&[Some("x"), Some("y"), None])),
        ("b", floats(&[Some(1.5), None, Some(2.5)])),
    ]);
    let select = |exprs| bench.rows(bench.step(Op::Select { input: f, exprs }));
    assert_eq!(select(vec![call("n_unique", [all(&[])])]), "a s b|2 3 3");
    assert_eq!(select(vec![call("sum", [call("numeric", [])])]), "a b|5 4.0");
    assert_eq!(select(vec![call("max", [call("matching", [lit("^[as]$")])])]), "a s|2 y");
    assert_eq!(select(vec![call("name.suffix", [call("null_count", [all(&["a"])]), lit("_n")])]), "s_n b_n|1 1");
    let id = bench.step(Op::WithColumns { input: f, exprs: vec![call("fill_null", [call("strings", []), lit("-")])] });
    assert_eq!(bench.rows(id), "a s b|1 x 1.5|2 y null|2 - 2.5");
    let aggs = vec![call("name.prefix", [call("mean", [call("numeric", [])]), lit("m_")])];
    let id = bench.step(Op::GroupBy { input: f, keys: vec![col("a")], aggs });
    assert_eq!(bench.rows(id), "a m_b|1 1.5|2 2.5");
    let id = bench.step(Op::Filter { input: f, predicate: call("is_not_null", [all(&[])]) });
    assert_eq!(bench.rows(id), "a s b|1 x 1.5");
    let error = bench.try_select(f, call("matching", [lit("(")])).unwrap_err();
    assert!(error.message.contains("regular expression"), "{error}");
    let twice = bench.try_step(Op::Select { input: f, exprs: vec![call("sum", [call("numeric", [])]).alias("n")] });
    assert_eq!(twice.unwrap_err().code, "duplicate-column");
}

#[test]
fn pivot_takes_several_columns() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("i", ints(&[Some(1), Some(1), Some(2)])),
        ("a", string_array(&[Some("x"), Some("y"), Some("x")])),
        ("b", string_array(&[Some("p"), Some("q"), Some("p")])),
        ("v", ints(&[Some(1), Some(2), Some(3)])),
    ]);
    let pivot = |on: &[&str], values: &[&str]| {
        let names = |all: &[&str]| all.iter().map(|n| n.to_string()).collect();
        bench.rows(bench.step(Op::Pivot {
            input: f,
            on: names(on),
            index: vec!["i".into()],
            values: names(values),
            aggregate: "sum".into(),
        }))
    };
    assert_eq!(pivot(&["a", "b"], &["v"]), "i {\"x\",\"p\"} {\"y\",\"q\"}|1 1 2|2 3 0");
    assert_eq!(pivot(&["a"], &["v", "i"]).split('|').next().unwrap(), "i v_x v_y i_x i_y");
}

/// Polars takes 9 ms; a branch of a union for each column took 9 to 27 s. Four times the columns take about four times
/// as long, and a branch for each column about sixteen times. The best of three runs counts: other tests run at the
/// same time, and the first run of an emulated device waits for its compiler.
#[test]
fn many_columns_become_rows_in_linear_time() {
    let best = |columns: usize| (0..3).map(|_| time_to_unpivot(columns)).min().unwrap();
    let (many, few) = (best(400), best(100));
    assert!(many < few * 10, "400 columns take {many:?}, 100 columns {few:?}");
}

fn time_to_unpivot(columns: usize) -> Duration {
    let bench = TestEngine::default();
    let names: Vec<String> = (0..columns).map(|c| format!("c{c}")).collect();
    let column =
        |c: usize| Arc::new(Float64Array::from_iter_values((0..50).map(|r| (c * 1000 + r) as f64))) as ArrayRef;
    let f = bench.frame(names.iter().enumerate().map(|(c, name)| (name.as_str(), column(c))).collect());
    let begun = Instant::now();
    let indexed = bench.step(Op::WithRowIndex { input: f, name: "r".into(), offset: 0 });
    let long = bench.step(Op::Unpivot {
        input: indexed,
        index: vec!["r".into()],
        on: names,
        variable_name: "variable".into(),
        value_name: "value".into(),
    });
    let rows = bench.try_rows(long).unwrap();
    let time = begun.elapsed();
    let last = columns - 1;
    assert_eq!(rows.len(), 50 * columns);
    assert_eq!((rows[0].join(" "), rows[51].join(" ")), ("0 c0 0.0".to_string(), "1 c1 1001.0".to_string()));
    assert_eq!(rows[50 * columns - 1].join(" "), format!("49 c{last} {}.0", last * 1000 + 49));
    time
}
