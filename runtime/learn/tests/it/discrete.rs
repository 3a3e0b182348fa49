//! Naive Bayes of discrete features, and binarizers, against scikit-learn 1.9.1 (`tests/learn/expect_discrete.py`).

use onrush_learn::data::sparse::Sparse;
use onrush_learn::{Attribute, Column, Data, FittedModel, Kind, Param, Run, Spec, Values, save};
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

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

fn specification(case: &Value) -> Spec {
    let mut spec = Spec::new(case["estimator"].as_str().unwrap());
    for pair in case["params"].as_array().unwrap() {
        spec.set(pair[0].as_str().unwrap(), param(&pair[1]));
    }
    spec
}

/// The same rows with all features but the first one as sparse ones.
fn sparse(data: &Data) -> Data {
    let names = std::sync::Arc::new(data.names()[1..].to_vec());
    let mut sparse = Sparse { names, starts: vec![0], ..Sparse::default() };
    for row in 0..data.rows {
        for (j, column) in data.features[1..].iter().enumerate().filter(|(_, c)| c.values[row] != 0.0) {
            sparse.columns.push(j as u32);
            sparse.values.push(column.values[row]);
        }
        sparse.starts.push(sparse.columns.len());
    }
    Data { features: data.features[..1].to_vec(), sparse: Some(sparse), ..data.clone() }
}

fn every(values: &[f64], stride: usize) -> Vec<f64> {
    values.iter().step_by(stride.max(1)).copied().collect()
}

/// The columns of numbers of an attribute, row after row.
fn matrix(fitted: &FittedModel, name: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let columns: Vec<Vec<f64>> = columns
        .into_iter()
        .filter_map(|(_, values)| match values {
            Values::Floats(values) => Some(values),
            _ => None,
        })
        .collect();
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i]).collect::<Vec<f64>>()).collect()
}

fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error.message,
    }
}

/// Asserts that the model of a file makes the same columns.
fn survives_a_file(fitted: &FittedModel, data: &Data, what: &str) {
    let read = save::from_bytes(&save::to_bytes(fitted).unwrap()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(read.outputs(), fitted.outputs(), "{what}");
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    let columns = |fitted: &FittedModel| fitted.model().apply(data, &all).unwrap();
    // NaN equals NaN by its bits.
    let bits = |columns: Vec<Vec<f64>>| columns.concat().into_iter().map(f64::to_bits).collect::<Vec<u64>>();
    assert_eq!(bits(columns(&read)), bits(columns(fitted)), "{what}");
}

#[test]
fn naive_bayes_of_discrete_features_is_that_of_scikit_learn() {
    for case in expected("discrete.json")["bayes"].as_array().unwrap() {
        let spec = specification(case);
        let what = format!("{} {} {}", spec.estimator, case["data"], case["params"]);
        let mut data = classification(case["data"].as_str().unwrap());
        if spec.estimator == "CategoricalNB" {
            data.features.iter_mut().for_each(|c| c.values.iter_mut().for_each(|v| *v = v.floor()));
        }
        if case["weighted"] == true {
            data.weight = Some((0..data.rows).map(|i| (i % 5) as f64).collect());
        }
        if case["sparse"] == true {
            data = sparse(&data);
        }
        let fitted = fit(&spec, &data);
        for name in ["class_count", "class_log_prior"] {
            assert_close(&attribute(&fitted, name), &numbers(&case[name]), 1e-12, &what);
        }
        let stride = case["stride"].as_u64().unwrap() as usize;
        for name in ["feature_count", "feature_log_prob"] {
            if !case[name].is_null() {
                assert_close(&every(&matrix(&fitted, name), stride), &numbers(&case[name]), 1e-12, &what);
            }
        }
        if !case["n_categories"].is_null() {
            assert_eq!(attribute(&fitted, "n_categories"), numbers(&case["n_categories"]), "{what}");
        }
        let classes = data.classes.len();
        let columns = fitted.model().apply(&data, &(0..=classes).collect::<Vec<usize>>()).unwrap();
        assert_eq!(every(&columns[0], 9), numbers(&case["predict"]), "{what}");
        let logs: Vec<f64> =
            (0..data.rows).flat_map(|r| columns[1..].iter().map(move |c| c[r].ln().max(-600.0))).collect();
        let stride = case["log_proba_stride"].as_u64().unwrap() as usize;
        for (found, wanted) in every(&logs, stride).iter().zip(numbers(&case["log_proba"])) {
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{what}: {found}, expected {wanted}");
        }
        survives_a_file(&fitted, &data, &what);
        let (model, width) = (fitted.model(), data.width());
        assert!(model.check(width, classes).is_ok() && model.check(width, classes + 1).is_err(), "{what}");
        assert!(model.check(width + 1, classes).is_err(), "{what}");
    }
}

#[test]
fn wrong_features_of_naive_bayes_are_errors() {
    let mut iris = classification("iris");
    let name = iris.features[1].name.clone();
    iris.features[1].values[7] = -0.5;
    assert_eq!(
        error(&Spec::new("ComplementNB"), &iris),
        format!("`{name}` has the value -0.5, and ComplementNB takes counts of at least 0")
    );
    assert_eq!(
        error(&Spec::new("CategoricalNB"), &iris),
        "`sepal_length` is 5.1 in row 0: expected the number of a category, from 0 to 1048576"
    );
    let message = error(&Spec::new("BernoulliNB").with("binarize", Param::None), &iris);
    assert!(message.starts_with("`sepal_length` has the probability 4.8"), "{message}");
    let bernoulli = Spec::new("BernoulliNB").with("alpha", 0.0);
    let message = error(&bernoulli, &iris);
    assert!(message.starts_with("`sepal_length` has the probability 1 in the class `0`"), "{message}");
    let mut absent = classification("iris");
    (50..150).for_each(|row| absent.features[0].values[row] = 0.0);
    assert_eq!(
        error(&Spec::new("ComplementNB").with("alpha", 0.0), &absent),
        "`sepal_length` is 0 in all rows outside of the class `0`, and `alpha` is 0"
    );
    let floor = |data: &Data| {
        let mut data = data.clone();
        data.features.iter_mut().for_each(|c| c.values.iter_mut().for_each(|v| *v = v.floor().max(0.0)));
        data
    };
    let floored = floor(&iris);
    let wrong = Spec::new("CategoricalNB").with("min_categories", vec![3, 4]);
    assert_eq!(
        error(&wrong, &floored),
        "`min_categories` is [3, 4]: expected a number, or a list with one for each of 4 features"
    );
    assert_eq!(
        error(&Spec::new("CategoricalNB").with("alpha", 0.0), &floored),
        "`sepal_length` is nowhere 0 in rows of the class `0`, and `alpha` is 0"
    );
    let fitted = fit(&Spec::new("CategoricalNB"), &floored);
    let mut other = floored;
    other.features[3].values[2] = 9.0;
    let message = fitted.apply(&other, &[0]).unwrap_err().message;
    assert_eq!(message, "`petal_width` has the category 9, which CategoricalNB did not see in training");
}

#[test]
fn categories_are_strings_or_numbers() {
    let words: Vec<Option<&str>> = (0..30).map(|i| Some(["x", "y", "z"][i * i % 3 + i / 20])).collect();
    let strings = Column::category("word", &words);
    let as_numbers = Column::number("word", strings.values.clone());
    let classes = vec!["a".to_string(), "b".to_string()];
    let data = |column: &Column| Data {
        y: (0..30).map(|i| f64::from(u8::from(i % 4 == 1))).collect(),
        classes: classes.clone(),
        target: "t".to_string(),
        ..Data::new(vec![column.clone()])
    };
    let (a, b) =
        (fit(&Spec::new("CategoricalNB"), &data(&strings)), fit(&Spec::new("CategoricalNB"), &data(&as_numbers)));
    assert_eq!(a.apply(&data(&strings), &[0, 1, 2]).unwrap(), b.apply(&data(&as_numbers), &[0, 1, 2]).unwrap());
    let Some(Attribute::Frame(columns)) = a.attribute("category_count") else { panic!() };
    assert!(matches!(&columns[2].1, Values::Strs(names) if names[..3] == ["x", "y", "z"]));
    let other = Data::new(vec![Column::category("word", &[Some("x"), Some("new")])]);
    let message = a.apply(&other, &[0]).unwrap_err().message;
    assert_eq!(message, "`word` has the category new, which CategoricalNB did not see in training");
}

/// All columns that a model makes: names, and values.
fn columns(spec: &Spec, train: &Data, test: &Data) -> (Vec<String>, Vec<Vec<f64>>) {
    let fitted = fit(spec, train);
    survives_a_file(&fitted, train, &spec.estimator);
    let names: Vec<String> = fitted.outputs().into_iter().map(|(name, _)| name).collect();
    let all: Vec<usize> = (0..names.len()).collect();
    let values = fitted.apply(test, &all).unwrap_or_else(|e| panic!("{e}"));
    (names, values)
}

fn lists(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_string()).collect()
}

fn category(name: &str, values: &[String]) -> Data {
    let values: Vec<Option<&String>> = values.iter().map(Some).collect();
    Data::new(vec![Column::category(name, &values)])
}

#[test]
fn functions_of_values_are_those_of_numpy() {
    let all = &expected("discrete.json")["binarizers"];
    let rows = lists(&all["numbers"]);
    let data = |most: f64| {
        let column = |(j, values): (usize, &Vec<f64>)| {
            Column::number(format!("x{j}"), values.iter().map(|v| v.min(most)).collect())
        };
        Data::new(rows.iter().enumerate().map(column).collect())
    };
    let binarizer = Spec::new("Binarizer").with("threshold", 0.5);
    let (names, values) = columns(&binarizer, &data(f64::INFINITY), &data(f64::INFINITY));
    assert_eq!((names, values), (vec!["x0".to_string(), "x1".to_string()], lists(&all["binarizer"])));
    for (name, wanted) in all["functions"].as_object().unwrap() {
        let spec = Spec::new("FunctionTransformer").with("func", name.as_str());
        let found = columns(&spec, &data(100.0), &data(100.0)).1;
        for (found, wanted) in found.iter().zip(wanted.as_array().unwrap()) {
            for (found, wanted) in found.iter().zip(wanted.as_array().unwrap()) {
                let wanted = wanted.as_f64().unwrap_or_else(|| wanted.as_str().unwrap().parse().unwrap());
                let same = *found == wanted || (found.is_nan() && wanted.is_nan());
                assert!(same || (found - wanted).abs() <= 1e-14 * wanted.abs(), "{name}: {found}, expected {wanted}");
            }
        }
    }
    let same = columns(&Spec::new("FunctionTransformer"), &data(1e3), &data(1e3)).1;
    assert_eq!(same[1][2], 30.0);
    let wrong = Spec::new("FunctionTransformer").with("func", "log2p");
    assert!(error(&wrong, &data(1.0)).starts_with("`func` is \"log2p\": did you mean"));
}

#[test]
fn labels_become_columns_as_in_scikit_learn() {
    let all = &expected("discrete.json")["binarizers"];
    let colors = strings(&all["colors"]);
    let mut more = colors.clone();
    more.push("black".to_string());
    let spec = Spec::new("LabelBinarizer").with("neg_label", -1).with("pos_label", 2);
    let (names, values) = columns(&spec, &category("color", &colors), &category("color", &more));
    assert_eq!(names, ["color_blue", "color_green", "color_red"]);
    let wanted = lists(&all["three"]["values"]);
    // scikit-learn's rows of classes are columns here.
    assert_eq!(values, wanted);
    let spec = Spec::new("LabelBinarizer");
    let test = ["green", "red", "red"].map(str::to_string);
    let (names, values) = columns(&spec, &category("color", &colors[..2]), &category("color", &test));
    assert_eq!((names, values), (vec!["color_red".to_string()], lists(&all["two"]["values"])));
    let red = ["red", "red"].map(str::to_string);
    let (names, values) = columns(&spec, &category("color", &red), &category("color", &red[..1]));
    assert_eq!((names, values), (vec!["color_red".to_string()], lists(&all["one"]["values"])));
    let integers = |values: &[f64]| Data::new(vec![Column::number("n", values.to_vec())]);
    let (names, values) = columns(&spec, &integers(&[3.0, 1.0, 10.0, 3.0]), &integers(&[10.0, 1.0, 3.0]));
    assert_eq!(names, ["n_1", "n_3", "n_10"]);
    assert_eq!(values, lists(&all["integers"]["values"]));
    assert_eq!(
        error(&spec.with("neg_label", 1), &integers(&[1.0, 2.0])),
        "`neg_label` is 1: below `pos_label`, which is 1"
    );
    assert_eq!(
        error(&Spec::new("LabelBinarizer"), &classification("iris")),
        "LabelBinarizer takes one column, and there are 4"
    );
}

#[test]
fn sets_of_labels_become_columns_as_in_scikit_learn() {
    let all = &expected("discrete.json")["binarizers"];
    let sets = category("tags", &strings(&all["sets"]));
    let spec = || Spec::new("MultiLabelBinarizer");
    let (names, values) = columns(&spec(), &sets, &sets);
    let wanted: Vec<String> = strings(&all["set_labels"]).iter().map(|label| format!("tags_{label}")).collect();
    assert_eq!((names, values), (wanted, lists(&all["set_values"])));
    let (names, values) = columns(&spec().with("classes", vec!["c", "a"]), &sets, &sets);
    assert_eq!(
        (names.as_slice(), values),
        (["tags_c", "tags_a"].map(str::to_string).as_slice(), lists(&all["listed"]))
    );
    // New labels and missing values have no labels that are known.
    let fitted = fit(&spec(), &sets);
    let other = Data::new(vec![Column::category("tags", &[Some("a|new"), None, Some("c|b")])]);
    assert_eq!(fitted.model().apply(&other, &[0, 2]).unwrap(), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    assert!(matches!(&other.features[0].kind, Kind::Category(_)));
    let comma = category("tags", &["a,b".to_string()]);
    assert_eq!(columns(&spec().with("sep", ","), &comma, &comma).0, ["tags_a", "tags_b"]);
    assert_eq!(error(&spec().with("sep", ""), &sets), "`sep` is empty: expected a separator such as \"|\"");
    assert_eq!(error(&spec(), &category("tags", &[String::new()])), "`tags` has no labels in these rows");
    let numbers = Data::new(vec![Column::number("n", vec![1.0])]);
    assert_eq!(error(&spec(), &numbers), "`n` holds numbers, and MultiLabelBinarizer takes strings");
    let twice = spec().with("classes", vec!["a", "a"]);
    assert_eq!(error(&twice, &sets), "`classes` is [a, a]: expected a list of different strings");
}

#[test]
fn missing_values_are_filled_by_the_nearest_rows_as_in_scikit_learn() {
    for case in expected("discrete.json")["imputed"].as_array().unwrap() {
        let spec = specification(&serde_json::json!({ "estimator": "KNNImputer", "params": case["params"] }));
        let what = format!("{} {}", case["data"], case["params"]);
        let rows = case["rows"].as_u64().unwrap() as usize;
        let mut data =
            Data::new(regression(case["data"].as_str().unwrap()).take(&(0..rows).collect::<Vec<_>>()).features);
        let width = data.width();
        // Positions row after row.
        let holes: Vec<usize> = numbers(&case["mask"]).into_iter().map(|v| v as usize).collect();
        holes.iter().for_each(|at| data.features[at % width].values[at / width] = f64::NAN);
        let fitted = fit(&spec, &data);
        let all: Vec<usize> = (0..width).collect();
        let values = fitted.apply(&data, &all).unwrap();
        let found: Vec<f64> = holes.iter().map(|at| values[at % width][at / width]).collect();
        assert_close(&found, &numbers(&case["values"]), 1e-9, &what);
        let mut test = data.take(&(rows - 60..rows).rev().collect::<Vec<usize>>());
        test.features.iter_mut().for_each(|c| c.values.iter_mut().for_each(|v| *v += 0.01));
        let values = fitted.apply(&test, &all).unwrap();
        let cells = (0..60).flat_map(|row| (0..width).map(move |j| (row, j)));
        let found: Vec<f64> =
            cells.filter(|(row, j)| test.features[*j].values[*row].is_nan()).map(|(row, j)| values[j][row]).collect();
        assert_close(&found, &numbers(&case["test"]), 1e-9, &what);
        survives_a_file(&fitted, &data, &what);
        assert!(fitted.model().check(width + 1, 0).is_err());
        let extra = if case["params"].to_string().contains("add_indicator") { width } else { 0 };
        assert_eq!(fitted.outputs().len(), width + extra, "{what}");
    }
    // A feature without values is left out, or 0. A row without values gets the means.
    let columns = || {
        vec![
            Column::number("a", vec![1.0, f64::NAN, 4.0]),
            Column::number("b", vec![2.0, f64::NAN, 6.0]),
            Column::number("c", vec![f64::NAN; 3]),
        ]
    };
    let (names, values) = columns_of("KNNImputer", "keep_empty_features", false, columns());
    assert_eq!(
        (names.as_slice(), values),
        (["a", "b"].map(str::to_string).as_slice(), vec![vec![1.0, 2.5, 4.0], vec![2.0, 4.0, 6.0]])
    );
    let (names, values) = columns_of("KNNImputer", "keep_empty_features", true, columns());
    assert_eq!((names.len(), &values[2]), (3, &vec![0.0; 3]));
}

fn columns_of(estimator: &str, name: &str, value: bool, features: Vec<Column>) -> (Vec<String>, Vec<Vec<f64>>) {
    let data = Data::new(features);
    columns(&Spec::new(estimator).with(name, value), &data, &data)
}

#[test]
fn splines_are_those_of_scikit_learn() {
    let iris = Data::new(classification("iris").features);
    let rows: Vec<usize> = (0..150).step_by(7).chain(0..5).chain(145..150).collect();
    let mut test = iris.take(&rows);
    let inside = rows.len() - 10;
    for column in &mut test.features {
        column.values[inside..inside + 5].iter_mut().for_each(|v| *v -= 3.0);
        column.values[inside + 5..].iter_mut().for_each(|v| *v += 3.0);
    }
    for case in expected("discrete.json")["splines"].as_array().unwrap() {
        let spec = specification(&serde_json::json!({ "estimator": "SplineTransformer", "params": case["params"] }));
        let (names, values) = columns(&spec, &iris, &test);
        assert_eq!(names.len() as u64, case["width"].as_u64().unwrap());
        assert_eq!(names[1], "sepal_length_sp_1");
        let stride = case["stride"].as_u64().unwrap() as usize;
        assert_close(&every(&values.concat(), stride), &numbers(&case["values"]), 1e-11, &case["params"].to_string());
    }
    let strict = fit(&Spec::new("SplineTransformer").with("extrapolation", "error"), &iris);
    assert!(strict.apply(&iris, &[0]).is_ok());
    let message = strict.apply(&test, &[0]).unwrap_err().message;
    assert!(message.ends_with(": between 4.3 and 7.9"), "{message}");
    let periodic = Spec::new("SplineTransformer").with("extrapolation", "periodic").with("n_knots", 3);
    assert_eq!(error(&periodic, &iris), "`n_knots` is 3: above `degree` = 3 for periodic splines");
    // A constant feature has no range.
    let constant = Data::new(vec![Column::number("c", vec![2.0; 9])]);
    assert_eq!(columns(&Spec::new("SplineTransformer"), &constant, &constant).1.concat(), [0.0; 63]);
}
