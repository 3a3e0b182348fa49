//! Preprocessing and composition against scikit-learn 1.9.1 (`tests/learn/expect_prepare.py`), and properties that need
//! no authority.

use onrush_learn::{Attribute, Column, Data, Error, Kind, Param, Role, Run, Spec, Values, fit_transform, save};
use onrush_wire::learn::Part;
use serde_json::Value;

use crate::support::{assert_close, expected, fit, numbers};

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
        // An exponent is the optimum of a function that is flat there: half of the digits.
        let tolerance = if spec.estimator == "PowerTransformer" { 1e-6 } else { 1e-12 };
        let what = format!("{} {} {} {}", spec.estimator, case["params"], case["data"], case["target"]);
        let fitted = fit(&spec, &train);
        let outputs = fitted.outputs();
        let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, strs(&case["names"]), "{what}");
        let wanted: Vec<usize> = (0..names.len()).collect();
        let values = match case["cross"] == true {
            true => fit_transform(&spec, &train, &Run::silent()).unwrap().1,
            false => fitted.apply(&data(&all, case["test"].as_str().unwrap(), &columns), &wanted).unwrap(),
        };
        let stride = case["stride"].as_u64().unwrap() as usize;
        for (k, (name, role)) in outputs.iter().enumerate() {
            let found: Vec<f64> = values[k].iter().copied().step_by(stride).collect();
            let expected = &case["values"][k];
            match expected[0].is_string() {
                true => assert_eq!(&Value::from(shown(role, &found)), expected, "{what}: {name}"),
                false => {
                    assert_close(&zeroed(&found), &zeroed(&numbers(expected)), tolerance, &format!("{what}: {name}"))
                }
            }
        }
        if let Some(expected) = case["inverse"].as_array() {
            let made = outputs.iter().zip(&values);
            let made = made.map(|((name, _), values)| Column::number(name.as_str(), values.clone()));
            let undone = fitted.inverse(&Data::new(made.collect())).unwrap();
            for (column, expected) in undone.iter().zip(expected) {
                let found: Vec<f64> = column.values.iter().copied().step_by(stride).collect();
                match column.categories() {
                    Some(names) => {
                        let name = |v: &f64| names.get(*v as usize).filter(|_| !v.is_nan());
                        let found: Vec<Option<String>> = found.iter().map(|v| name(v).cloned()).collect();
                        // A column of numbers with a word for rare ones holds strings here.
                        let shown = |v: &Value| {
                            v.as_f64().map_or_else(|| v.as_str().map(str::to_string), |v| Some(v.to_string()))
                        };
                        let expected: Vec<Option<String>> = expected.as_array().unwrap().iter().map(shown).collect();
                        assert_eq!(found, expected, "{what}: inverse of {}", column.name);
                    }
                    None => {
                        let tolerance = tolerance.max(1e-9);
                        let what = format!("{what}: inverse of {}", column.name);
                        assert_close(&zeroed(&found), &zeroed(&numbers(expected)), tolerance, &what);
                    }
                }
            }
        }
        for (name, expected) in case["attributes"].as_object().unwrap() {
            let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{what}: no attribute {name}") };
            let Values::Floats(found) = &columns[1].1 else { panic!("{what}: {name} is {columns:?}") };
            let found: Vec<f64> = found.iter().copied().filter(|v| !v.is_infinite()).collect();
            for (a, b) in found.iter().zip(numbers(expected)) {
                assert_close(&zeroed(&[*a]), &zeroed(&[b]), tolerance, &format!("{what}: {name}"));
            }
        }
        bitwise_after_save(&spec, &train, &values, case["cross"] == true, &what);
    }
}

/// A specification with the estimators inside.
fn composed(value: &Value) -> Spec {
    let mut spec = Spec::new(value["estimator"].as_str().unwrap());
    for pair in value["params"].as_array().unwrap() {
        spec.set(pair[0].as_str().unwrap(), param(&pair[1]));
    }
    for part in value["parts"].as_array().unwrap() {
        let columns = strs(&part["columns"]).into_iter().map(String::from).collect();
        spec.parts.push(Part { name: part["name"].as_str().unwrap().to_string(), columns, spec: composed(part) });
    }
    spec
}

#[test]
fn composition_gives_the_results_of_scikit_learn() {
    let all = expected("prepare.json");
    for case in all["composed"].as_array().unwrap() {
        let columns = strs(&case["columns"]);
        let mut train = data(&all, case["data"].as_str().unwrap(), &columns);
        if let Some(target) = case["target"].as_str() {
            train = with_target(&all, train, target);
        }
        let spec = composed(&case["spec"]);
        let what = format!("{} {}", case["spec"], case["target"]);
        let (fitted, transformed) = fit_transform(&spec, &train, &Run::silent()).unwrap();
        let outputs = fitted.outputs();
        let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, strs(&case["names"]), "{what}");
        let wanted: Vec<usize> = (0..names.len()).collect();
        let test = data(&all, case["test"].as_str().unwrap(), &columns);
        let values = match case["cross"] == true {
            true => transformed,
            false => fitted.apply(&test, &wanted).unwrap(),
        };
        let stride = case["stride"].as_u64().unwrap() as usize;
        for (k, name) in names.iter().enumerate() {
            let found: Vec<f64> = values[k].iter().copied().step_by(stride).collect();
            assert_close(&zeroed(&found), &zeroed(&numbers(&case["values"][k])), 1e-12, &format!("{what}: {name}"));
        }
        // Single outputs in another order are the same.
        let some: Vec<usize> = wanted.iter().copied().rev().step_by(2).collect();
        let (few, every) = (fitted.apply(&test, &some).unwrap(), fitted.apply(&test, &wanted).unwrap());
        for (k, values) in some.iter().zip(&few) {
            assert_close(values, &every[*k], 0.0, &what);
        }
        bitwise_after_save(&spec, &train, &values, case["cross"] == true, &what);
    }
}

fn part(name: &str, spec: Spec) -> Part {
    Part { name: name.to_string(), columns: Vec::new(), spec }
}

fn pipeline(steps: Vec<Spec>) -> Spec {
    let estimators: Vec<&str> = steps.iter().map(|s| s.estimator.as_str()).collect();
    let names = onrush_learn::compose::names(&estimators);
    Spec { parts: names.iter().zip(steps).map(|(n, s)| part(n, s)).collect(), ..Spec::new("Pipeline") }
}

fn refused(spec: &Spec, data: &Data) -> Error {
    match fit_transform(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} was trained"),
        Err(error) => error,
    }
}

fn sexes() -> Data {
    Data::new(vec![
        Column::category("sex", &[Some("male"), Some("female"), None, Some("male")]),
        Column::number("age", vec![20.0, 30.0, f64::NAN, 50.0]),
    ])
}

#[test]
fn errors_name_the_column_and_a_way_out() {
    let data = sexes();
    let age = Data::new(vec![data.features[1].clone()]);
    let message = |spec: Spec, data: &Data| refused(&spec, data).message;
    let new = Spec::new;
    let wrong = message(new("StandardScaler"), &data);
    assert_eq!(wrong, "`sex` holds strings with 2 different values, and StandardScaler takes numbers");
    let wrong = message(new("MinMaxScaler").with("feature_range", [3.0, 1.0]), &age);
    assert_eq!(wrong, "`feature_range` is [3, 1]: the first number must be below the second");
    let wrong = message(new("RobustScaler").with("quantile_range", [75.0, 25.0]), &age);
    assert_eq!(wrong, "`quantile_range` is [75, 25]: the first number must not be above the second");
    let wrong = message(new("Normalizer"), &age);
    assert_eq!(wrong, "`age` has 1 null in 4 rows, and Normalizer takes no missing values");
    let wrong = message(new("SimpleImputer"), &data);
    assert_eq!(wrong, "`sex` holds strings, and strategy \"mean\" takes numbers");
    let spec = new("SimpleImputer").with("strategy", "constant").with("fill_value", "x");
    assert_eq!(message(spec, &age), "`fill_value` is x, and `age` holds numbers: expected a number");
    let wrong = message(new("OneHotEncoder").with("categories", "all"), &data);
    assert_eq!(wrong, "`categories` is all: expected \"auto\", or a list of categories for each feature");
    let listed = Param::List(vec![Param::from(["male"]), Param::from([20.0, 30.0, 50.0])]);
    let wrong = message(new("OneHotEncoder").with("categories", listed), &data);
    assert_eq!(wrong, "`sex` has 2 rows of 4 with categories that are not listed in `categories`, such as `female`");
    let wrong = message(new("OrdinalEncoder").with("handle_unknown", "use_encoded_value"), &data);
    assert_eq!(wrong, "`unknown_value` is missing, and `handle_unknown` is \"use_encoded_value\"");
    let spec = new("OrdinalEncoder").with("handle_unknown", "use_encoded_value").with("unknown_value", 1);
    assert_eq!(message(spec, &data), "`unknown_value` is 1, which is the number of a category of `sex`");
    let wrong = message(new("LabelEncoder"), &data);
    assert_eq!(wrong, "LabelEncoder encodes one column, and there are 2");
    assert_eq!(message(new("TargetEncoder"), &data), "TargetEncoder needs a target");
    let supervised = Data { y: vec![1.0, 2.0, 3.0, 4.0], target: "price".to_string(), ..data.clone() };
    let wrong = message(new("TargetEncoder"), &supervised);
    assert_eq!(wrong, "`cv` is 5, but there are 4 rows: at most one fold for each row");
    let wrong = message(new("TargetEncoder").with("target_type", "binary"), &supervised);
    assert_eq!(wrong, "`target_type` is \"binary\", but the target `price` is continuous");
    let numbers = Data::new(vec![Column::number("a", vec![1.0, 2.0, 3.0])]);
    let wrong = message(new("KBinsDiscretizer").with("n_bins", [2, 3]), &numbers);
    assert_eq!(wrong, "`n_bins` has 2 numbers for 1 features");
    let wide = Data::new((0..200).map(|j| Column::number(format!("x{j}"), vec![1.0])).collect());
    let wrong = message(new("PolynomialFeatures").with("degree", 4), &wide);
    assert_eq!(wrong, "degree 4 of 200 features makes more than 1048576 products");
}

#[test]
fn columns_of_a_step_are_refused() {
    let weighted = Spec { weight: Some("w".to_string()), ..Spec::new("StandardScaler") };
    let error = refused(&pipeline(vec![weighted]), &sexes());
    assert_eq!(error.message, "`sample_weight` of step `standardscaler` has no effect: set it on the pipeline");
}

#[test]
fn errors_of_composition_name_the_step() {
    let data = sexes();
    let message = |spec: Spec| refused(&spec, &data).message;
    assert_eq!(message(Spec::new("Pipeline")), "the pipeline has no steps");
    let wrong = message(pipeline(vec![Spec::new("OrdinalEncoder"), Spec::new("Normalizer")]));
    assert_eq!(wrong, "step `normalizer`: `sex` has 1 null in 4 rows, and Normalizer takes no missing values");
    let wrong = message(pipeline(vec![Spec::new("Ridge"), Spec::new("Normalizer")]));
    assert_eq!(wrong, "`ridge` is Ridge, which does not transform");
    let twice = Spec { parts: vec![part("a", Spec::new("OneHotEncoder")); 2], ..Spec::new("FeatureUnion") };
    assert_eq!(message(twice), "FeatureUnion has two estimators named `a`");
    let ordinal = || Spec::new("OrdinalEncoder");
    let both = Spec { parts: vec![part("a", ordinal()), part("b", ordinal())], ..Spec::new("FeatureUnion") };
    assert_eq!(message(both), "two transformers make the column `age`");
    let columns = vec!["sexx".to_string()];
    let by_column = Part { columns, ..part("a", ordinal()) };
    let error = refused(&Spec { parts: vec![by_column], ..Spec::new("ColumnTransformer") }, &data);
    assert_eq!(error.message, "transformer `a` takes `sexx`, which is not a feature");
    assert_eq!(error.help, ["did you mean `sex`?"]);
    let target = Data { y: vec![1.0, 0.0, -2.0, 4.0], target: "price".to_string(), ..data.clone() };
    let ridge = vec![part("regressor", Spec::new("Ridge"))];
    let spec = Spec { parts: ridge, ..Spec::new("TransformedTargetRegressor").with("func", "log") };
    let wrong = onrush_learn::fit(&spec, &target, &Run::silent()).err().unwrap();
    assert_eq!(wrong.message, "`log` takes numbers above 0, and the target `price` has 2 others of 4");
    let eval = Data { y: vec![1.0, f64::NAN, 2.0, 4.0], ..target.clone() };
    let target = Data { y: vec![1.0, 3.0, 2.0, 4.0], eval: vec![eval], ..target };
    let wrong = onrush_learn::fit(&spec, &target, &Run::silent()).err().unwrap();
    assert_eq!(wrong.message, "the target `price` has 1 null in 4 rows");
}

#[test]
fn unseen_categories_are_named() {
    let fitted = fit(&Spec::new("OneHotEncoder"), &sexes());
    let new = Data::new(vec![
        Column::category("sex", &[Some("other"), Some("male"), Some("third")]),
        Column::number("age", vec![20.0, 30.0, 50.0]),
    ]);
    let error = fitted.apply(&new, &[0]).unwrap_err();
    let expected = "`sex` has 2 rows of 3 with categories that OneHotEncoder did not see in training, such as `other`";
    assert_eq!(error.message, expected);
    assert!(error.help[0].contains("ignore"), "{:?}", error.help);
    // Columns of other features are not looked at.
    assert_eq!(fitted.apply(&new, &[3]).unwrap(), [[1.0, 0.0, 0.0]]);
    // A step behind a step that keeps categories names the value, too.
    let fill = Spec::new("SimpleImputer").with("strategy", "most_frequent");
    let steps = fit(&pipeline(vec![fill, Spec::new("OneHotEncoder")]), &sexes());
    assert!(steps.apply(&new, &[0]).unwrap_err().message.starts_with("step `onehotencoder`: `sex` has 2 rows of 3"));
}

#[test]
fn permuted_rows_give_the_same_models_and_scaled_features_the_same_outputs() {
    let all = expected("prepare.json");
    let train = data(&all, "numbers", &["a", "b", "c"]);
    let order: Vec<usize> = (0..train.rows).map(|i| i * 35 % train.rows).collect();
    let scaled = train.features.iter().map(|c| Column::number(&c.name, c.values.iter().map(|v| v * 8.0).collect()));
    let scaled = Data::new(scaled.collect());
    for name in ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "KBinsDiscretizer"] {
        let spec = Spec::new(name);
        let (first, permuted, scaled_model) =
            (fit(&spec, &train), fit(&spec, &train.take(&order)), fit(&spec, &scaled));
        let wanted: Vec<usize> = (0..first.outputs().len()).collect();
        let expected = first.apply(&train, &wanted).unwrap();
        let found = permuted.apply(&train, &wanted).unwrap();
        let of_scaled = scaled_model.apply(&scaled, &wanted).unwrap();
        for ((a, b), c) in expected.iter().zip(&found).zip(&of_scaled) {
            assert_close(b, a, 1e-12, name);
            assert_close(c, a, 1e-12, name);
        }
    }
}

#[test]
fn strange_data_are_no_reason_to_panic() {
    let columns = [
        vec![1.0],
        vec![f64::NAN; 3],
        vec![0.0; 7],
        vec![f64::MAX, -f64::MAX, f64::MIN_POSITIVE],
        vec![1e-300, 2e-300, -3e-300, 0.0, -0.0],
    ];
    let names = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "SimpleImputer"];
    let others = ["OneHotEncoder", "OrdinalEncoder", "LabelEncoder", "TargetEncoder", "KBinsDiscretizer"];
    let more = ["PolynomialFeatures", "PowerTransformer", "QuantileTransformer", "VarianceThreshold"];
    let strategies = ["uniform", "quantile", "kmeans", "median", "most_frequent", "constant"];
    for values in columns {
        let y = (0..values.len()).map(|i| i as f64).collect();
        let train = Data { y, ..Data::new(vec![Column::number("x", values)]) };
        for name in names.iter().chain(&others).chain(&more) {
            for strategy in strategies {
                let spec = Spec::new(name).with("strategy", strategy);
                let spec = if name.contains("Bins") || name.contains("Imputer") { spec } else { Spec::new(name) };
                if let Ok(fitted) = onrush_learn::fit(&spec, &train, &Run::silent()) {
                    let wanted: Vec<usize> = (0..fitted.outputs().len()).collect();
                    assert_eq!(fitted.apply(&train, &wanted).unwrap().len(), wanted.len());
                }
            }
        }
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
        let again = fit_transform(spec, train, &Run::silent()).unwrap().1;
        assert_eq!(bits(&again), bits(values), "{what}");
    }
}
