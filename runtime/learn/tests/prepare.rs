//! Preprocessing and composition against scikit-learn 1.9.1 (`tests/learn/expect_prepare.py`), and properties that need no authority.

mod common;

use common::{assert_close, expected, fit, numbers};
use onrush_learn::{Attribute, Column, Data, Kind, Param, Role, Run, Spec, Values, save};
use serde_json::Value;

/// A column of JSON values: strings are a category.
fn column(value: &Value) -> Column {
    let name = value["name"].as_str().unwrap();
    let values = value["values"].as_array().unwrap();
    match values.iter().any(Value::is_string) {
        true => Column::category(name, &values.iter().map(Value::as_str).collect::<Vec<Option<&str>>>()),
        false => Column::number(name, numbers(&value["values"])),
    }
}

fn data(all: &Value, name: &str, columns: &[&str]) -> Data {
    let set = all["data"][name].as_array().unwrap();
    let pick = |wanted: &&str| column(set.iter().find(|c| c["name"] == **wanted).unwrap());
    Data::new(columns.iter().map(pick).collect())
}

fn with_target(all: &Value, data: Data, target: &str) -> Data {
    let values = &all["targets"][target];
    match values[0].is_string() {
        true => {
            let strings: Vec<Option<&str>> = values.as_array().unwrap().iter().map(Value::as_str).collect();
            let column = Column::category(target, &strings);
            let classes = column.categories().unwrap().to_vec();
            Data { y: column.values, classes, target: target.to_string(), ..data }
        }
        false => {
            let classes = if target == "binary" { vec!["0".to_string(), "1".to_string()] } else { Vec::new() };
            Data { y: numbers(values), classes, target: target.to_string(), ..data }
        }
    }
}

fn param(value: &Value) -> Param {
    match value {
        Value::Null => Param::None,
        Value::Bool(b) => Param::Bool(*b),
        Value::Number(n) => n.as_i64().map_or_else(|| Param::Float(n.as_f64().unwrap()), Param::Int),
        Value::String(s) => Param::from(s.as_str()),
        Value::Array(list) => Param::List(list.iter().map(param).collect()),
        Value::Object(_) => panic!("{value}"),
    }
}

fn strs(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect()
}

/// The output as numbers, or as strings if it is a category.
fn shown(role: &Role, values: &[f64]) -> Vec<Value> {
    match role {
        Role::Feature(_, Kind::Category(names)) => values.iter().map(|v| names[*v as usize].clone().into()).collect(),
        _ => values.iter().map(|v| serde_json::json!(v)).collect(),
    }
}

#[test]
fn preprocessing_gives_the_results_of_scikit_learn() {
    let all = expected("prepare.json");
    for case in all["cases"].as_array().unwrap() {
        let columns = strs(&case["columns"]);
        let mut train = data(&all, case["data"].as_str().unwrap(), &columns);
        if case["weighted"] == true {
            train.weight = Some(numbers(&all["weight"]));
        }
        if let Some(target) = case["target"].as_str() {
            train = with_target(&all, train, target);
        }
        let mut spec = Spec::new(case["estimator"].as_str().unwrap());
        for pair in case["params"].as_array().unwrap() {
            spec.set(pair[0].as_str().unwrap(), param(&pair[1]));
        }
        let what = format!("{} {} {} {}", spec.estimator, case["params"], case["data"], case["target"]);
        let fitted = fit(&spec, &train);
        let outputs = fitted.outputs();
        let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, strs(&case["names"]), "{what}");
        let wanted: Vec<usize> = (0..names.len()).collect();
        let values = match case["cross"] == true {
            true => onrush_learn::fit_transform(&spec, &train, &Run::silent()).unwrap().1,
            false => fitted.apply(&data(&all, case["test"].as_str().unwrap(), &columns), &wanted).unwrap(),
        };
        let stride = case["stride"].as_u64().unwrap() as usize;
        for (k, (name, role)) in outputs.iter().enumerate() {
            let found: Vec<f64> = values[k].iter().copied().step_by(stride).collect();
            let expected = &case["values"][k];
            match expected[0].is_string() {
                true => assert_eq!(&Value::from(shown(role, &found)), expected, "{what}: {name}"),
                false => assert_close(&zeroed(&found), &zeroed(&numbers(expected)), 1e-12, &format!("{what}: {name}")),
            }
        }
        for (name, expected) in case["attributes"].as_object().unwrap() {
            let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{what}: no attribute {name}") };
            let Values::Floats(found) = &columns[1].1 else { panic!("{what}: {name} is {columns:?}") };
            let found: Vec<f64> = found.iter().copied().filter(|v| !v.is_infinite()).collect();
            for (a, b) in found.iter().zip(numbers(expected)) {
                assert_close(&zeroed(&[*a]), &zeroed(&[b]), 1e-12, &format!("{what}: {name}"));
            }
        }
        bitwise_after_save(&spec, &train, &values, case["cross"] == true, &what);
    }
}

/// Rounding errors of a centred constant as 0.
fn zeroed(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| if v.abs() < 1e-15 { 0.0 } else { *v }).collect()
}

/// A second fit, saved and loaded, gives the same bits.
fn bitwise_after_save(spec: &Spec, train: &Data, values: &[Vec<f64>], cross: bool, what: &str) {
    let bits = |columns: &[Vec<f64>]| columns.iter().flatten().map(|v| v.to_bits()).collect::<Vec<u64>>();
    let (first, second) = (fit(spec, train), fit(spec, train));
    let second = save::from_bytes(&save::to_bytes(&second).unwrap()).unwrap();
    let wanted: Vec<usize> = (0..values.len()).collect();
    assert_eq!(first.outputs(), second.outputs(), "{what}");
    let (a, b) = (first.apply(train, &wanted), second.apply(train, &wanted));
    match (a, b) {
        (Ok(a), Ok(b)) => assert_eq!(bits(&a), bits(&b), "{what}"),
        (a, b) => panic!("{what}: {:?} {:?}", a.err(), b.err()),
    }
    if cross {
        let again = onrush_learn::fit_transform(spec, train, &Run::silent()).unwrap().1;
        assert_eq!(bits(&again), bits(values), "{what}");
    }
}
