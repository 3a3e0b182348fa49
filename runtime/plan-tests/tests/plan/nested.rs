//! Lists, structs, JSON in strings, and values by a map. Values from Polars 2.1: the same expression on the same frame.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, ListArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use onrush_wire::{Expr, Value};

use super::support::*;

fn strings(values: &[&str]) -> Vec<Value> {
    values.iter().map(|v| Value::Text(v.to_string())).collect()
}

#[test]
fn lists_give_polars_values() {
    let bench = TestEngine::default();
    let rows = vec![Some(vec![Some(3), Some(1), None, Some(3)]), Some(vec![]), None, Some(vec![Some(5)])];
    let l: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows));
    let f = bench.frame(vec![("l", l)]);
    let one = |name: &str| bench.select(f, call(name, [col("l")]));
    for (name, expect) in [
        ("list.len", "u32: 4 0 null 1"),
        ("list.sum", "i64: 7 0 null 5"),
        ("list.mean", "f64: 2.333333333 null null 5.0"),
        ("list.median", "f64: 3.0 null null 5.0"),
        ("list.std", "f64: 1.154700538 null null null"),
        ("list.min", "i64: 1 null null 5"),
        ("list.max", "i64: 3 null null 5"),
        ("list.first", "i64: 3 null null 5"),
        ("list.last", "i64: 3 null null 5"),
        ("list.n_unique", "u32: 3 0 null 1"),
        ("list.sort", "list[i64]: [null,1,3,3] [] null [5]"),
        ("list.unique", "list[i64]: [3,1,null] [] null [5]"),
        ("list.reverse", "list[i64]: [3,null,1,3] [] null [5]"),
    ] {
        assert_eq!(one(name), expect, "{name}");
    }
    let with = |name: &str, value: i64| bench.select(f, call(name, [col("l"), lit(value)]));
    assert_eq!(with("list.get", 1), "i64: 1 null null null");
    assert_eq!(with("list.get", -1), "i64: 3 null null 5");
    assert_eq!(with("list.contains", 3), "bool: true false null false");
    assert_eq!(with("list.head", 2), "list[i64]: [3,1] [] null [5]");
    assert_eq!(with("list.tail", 2), "list[i64]: [null,3] [] null [5]");
    let slice = call("list.slice", [col("l"), lit(1), lit(2)]);
    assert_eq!(bench.select(f, slice), "list[i64]: [1,null] [] null []");
    let down = named(call("list.sort", [col("l")]), "descending", lit(true));
    assert_eq!(bench.select(f, down), "list[i64]: [null,3,3,1] [] null [5]");
    let rows = vec![
        Some(vec![Some(1.0), Some(f64::NAN)]),
        Some(vec![Some(f64::NAN)]),
        Some(vec![Some(2.0), None, Some(-0.5)]),
    ];
    let l: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
    let f = bench.frame(vec![("l", l)]);
    assert_eq!(bench.select(f, call("list.max", [col("l")])), "f64: 1.0 NaN 2.0");
    assert_eq!(bench.select(f, call("list.min", [col("l")])), "f64: 1.0 NaN -0.5");
    assert_eq!(bench.select(f, call("list.sum", [col("l")])), "f64: NaN NaN 1.5");
    let items = string_array(&[Some("a"), None, Some("b")]);
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let nulls = NullBuffer::from(vec![true, true, false]);
    let l: ArrayRef = Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([3, 0, 0]), items, Some(nulls)));
    let f = bench.frame(vec![("l", l)]);
    assert_eq!(bench.select(f, call("list.join", [col("l"), lit("-")])), "str: a-b  null");
    assert_eq!(bench.select(f, call("list.max", [col("l")])), "str: b null null");
    assert_eq!(bench.select(f, call("list.contains", [col("l"), lit("b")])), "bool: true false null");
    let error = bench.try_select(f, call("list.sum", [col("l")])).unwrap_err();
    assert!(error.message.contains("needs a list of numbers"), "{error}");
}

#[test]
fn structs_have_fields() {
    let bench = TestEngine::default();
    let field = |name, dtype| Arc::new(Field::new(name, dtype, true));
    let pairs: Vec<(Arc<Field>, ArrayRef)> = vec![
        (field("name", DataType::Utf8), string_array(&[Some("Ann"), None])),
        (field("age", DataType::Int64), Arc::new(Int64Array::from(vec![31, 5]))),
    ];
    let user: ArrayRef = Arc::new(StructArray::from(pairs));
    let f = bench.frame(vec![("user", user), ("Lot.Area", ints(&[Some(1), Some(2)]))]);
    let get = |name: &str| call("struct.field", [col("user"), lit(name)]);
    assert_eq!(bench.select(f, get("age")), "i64: 31 5");
    assert_eq!(bench.select(f, call("str.len_chars", [get("name")])), "u32: 3 null");
    let schema = bench.engine.schema(bench.try_select(f, get("age")).unwrap()).unwrap();
    assert_eq!(schema.fields[0].name, "age");
    let error = bench.try_select(f, get("nam")).unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.help[0].as_str()),
        ("the struct has no field `nam`", "did you mean `name`?")
    );
    let error = bench.try_select(f, call("struct.field", [col("Lot"), lit("Area")])).unwrap_err();
    assert_eq!(error.help[0], "the name has a dot in it: write `col(\"Lot.Area\")`");
    let error = bench.try_select(f, call("struct.field", [col("Lot.Area"), lit("arg_max")])).unwrap_err();
    assert_eq!(error.help[0], "a method needs parentheses: `.arg_max()`");
    let made = named(call("struct", [get("age")]), "twice", op(get("age"), onrush_wire::BinaryOp::Multiply, lit(2)));
    let id = bench.try_select(f, made.alias("s")).unwrap();
    let back = call("struct.field", [col("s"), lit("twice")]);
    assert_eq!(bench.select(id, back), "i64: 62 10");
}

#[test]
fn json_is_read_by_paths() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![(
        "s",
        string_array(&[
            Some(r#"{"a":1,"b":{"c":"x"}}"#),
            Some(r#"{"a":[1,2]}"#),
            None,
            Some(r#"{"a":null}"#),
            Some("bad"),
        ]),
    )]);
    assert_eq!(bench.select(f, call("str.json_path", [col("s"), lit("$.a")])), "str: 1 [1,2] null null null");
    assert_eq!(bench.select(f, call("str.json_path_match", [col("s"), lit("$.a[1]")])), "str: null 2 null null null");
    let error = bench.try_select(f, call("str.json_path", [col("s"), lit("$.")])).unwrap_err();
    assert!(error.message.contains("is not a path"), "{error}");
}

#[test]
fn values_are_replaced_as_in_polars() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("i", ints(&[Some(1), Some(2), Some(3), None])),
        ("s", string_array(&[Some("a"), Some("b"), Some("a"), None])),
        ("x", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0])) as ArrayRef),
    ]);
    let map = |old: Vec<Value>, new: Vec<Value>| {
        Expr::literal(Value::Struct(vec![("old".into(), Value::List(old)), ("new".into(), Value::List(new))]))
    };
    let int = |v: i64| Value::Int(v);
    let replace = call("replace", [col("i"), map(vec![int(1), int(2)], vec![int(10), Value::Null])]);
    assert_eq!(bench.select(f, replace), "i64: 10 null 3 null");
    let texts = call("replace", [col("s"), map(strings(&["a"]), strings(&["z"]))]);
    assert_eq!(bench.select(f, texts), "str: z b z null");
    let lists = call("replace", [col("i"), lit(Value::List(vec![int(1), int(3)])), lit(7)]);
    assert_eq!(bench.select(f, lists), "i64: 7 2 7 null");
    let strict = |old: Vec<Value>, new: &[&str]| call("replace_strict", [col("i"), map(old, strings(new))]);
    let known = named(strict(vec![int(1)], &["a"]), "default", lit("q"));
    assert_eq!(bench.select(f, known), "str: a q q q");
    assert_eq!(bench.select(f, strict(vec![int(1), int(2), int(3)], &["a", "b", "c"])), "str: a b c null");
    assert_eq!(
        bench.select(f, strict(vec![int(1), int(2), int(3), Value::Null], &["a", "b", "c", "n"])),
        "str: a b c n"
    );
    let id = bench.try_select(f, strict(vec![int(1), int(2)], &["a", "b"])).unwrap();
    assert_eq!(bench.try_rows(id).unwrap_err().message, "`replace_strict` has no other value for `3`");
    let error = bench.try_select(f, call("replace", [col("i"), map(vec![int(1)], strings(&["a"]))])).unwrap_err();
    assert!(error.help.iter().any(|h| h.contains("replace_strict")), "{error:?}");
}
