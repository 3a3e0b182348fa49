//! Vectorizers and estimators of sparse features against scikit-learn 1.9.1 (`tests/learn/expect_text.py`).

use std::collections::HashMap;

use onrush_learn::{Attribute, Column, Data, FittedModel, Kind, Param, Run, Spec, Values, save};
use onrush_wire::learn::{Grid, Part, Splitter};
use serde_json::Value;

use crate::support::{assert_close, expected, fit, numbers};

/// A parameter of a JSON value.
fn param(value: &Value) -> Param {
    match value {
        Value::Null => Param::None,
        Value::Bool(value) => Param::Bool(*value),
        Value::Number(value) if value.is_i64() => Param::Int(value.as_i64().unwrap()),
        Value::Number(value) => Param::Float(value.as_f64().unwrap()),
        Value::String(value) => Param::Str(value.clone()),
        Value::Array(values) => Param::List(values.iter().map(param).collect()),
        Value::Object(_) => panic!("{value} is not a parameter"),
    }
}

/// A specification of a JSON value. Parameters of scikit-learn that stand in capitals are small here.
fn spec(value: &Value) -> Spec {
    let mut spec = Spec::new(value["estimator"].as_str().unwrap());
    for (name, value) in value["params"].as_object().unwrap() {
        spec.set(&name.to_lowercase(), param(value));
    }
    let part = |part: &Value| Part {
        name: part["name"].as_str().unwrap().to_string(),
        columns: strings(&part["columns"]),
        spec: self::spec(&part["spec"]),
    };
    spec.parts = value["parts"].as_array().unwrap().iter().map(part).collect();
    if let Some(grid) = value["grid"].as_object() {
        let values = |values: &Value| Grid::List(values.as_array().unwrap().iter().map(param).collect());
        spec.grid = grid.iter().map(|(name, list)| (name.replace("__C", "__c"), values(list))).collect();
    }
    spec
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_string()).collect()
}

fn documents(name: &str, texts: &[String]) -> Column {
    Column::category(name, &texts.iter().map(Some).collect::<Vec<_>>())
}

/// Columns of the corpus with a target of classes, or of numbers if there are none.
fn corpus(expect: &Value, columns: &[&str], target: &str, classes: usize) -> Data {
    let corpus = &expect["corpus"];
    let column = |name: &&str| match corpus[*name][0].is_string() {
        true => documents(name, &strings(&corpus[*name])),
        false => Column::number(*name, numbers(&corpus[*name])),
    };
    let features = columns.iter().map(column).collect();
    let names = ["0", "1", "2"].iter().take(classes).map(ToString::to_string).collect();
    Data { y: numbers(&corpus[target]), classes: names, target: target.to_string(), ..Data::new(features) }
}

/// The rows of two classes.
fn two(expect: &Value, data: &Data) -> Data {
    let topics = numbers(&expect["corpus"]["topic"]);
    let rows: Vec<usize> = (0..data.rows).filter(|row| topics[*row] < 2.0).collect();
    let mut taken = data.take(&rows);
    taken.classes.truncate(2);
    taken
}

fn error(spec: &Spec, data: &Data) -> onrush_learn::Error {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error,
    }
}

fn applied(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    fitted.apply(data, &all).unwrap_or_else(|e| panic!("{e}"))
}

/// A model that was written to a file and read.
fn reloaded(fitted: &FittedModel) -> FittedModel {
    save::from_bytes(&save::to_bytes(fitted).unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

fn column<'a>(attribute: &'a Attribute, name: &str) -> &'a Values {
    let Attribute::Frame(columns) = attribute else { panic!("{attribute:?} is not a frame") };
    &columns.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column {name}")).1
}

#[test]
fn text_vectorizers_have_the_counts_and_weights_of_scikit_learn() {
    let expect = expected("text.json");
    let data = Data::new(vec![documents("text", &strings(&expect["mixed"]))]);
    for case in expect["vectorizers"].as_array().unwrap() {
        let spec = spec(&case["spec"]);
        let (fitted, columns) =
            onrush_learn::fit_transform(&spec, &data, &Run::silent()).unwrap_or_else(|e| panic!("{e}"));
        if let Some(terms) = case.get("vocabulary") {
            let names: Vec<String> = fitted.outputs().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, strings(terms), "{spec:?}");
            let frame = fitted.attribute("vocabulary").unwrap();
            assert_eq!(*column(&frame, "term"), Values::Strs(names), "{spec:?}");
        }
        if let Some(idf) = case.get("idf") {
            let Values::Floats(found) = column(&fitted.attribute("idf").unwrap(), "idf").clone() else { panic!() };
            assert_close(&found, &numbers(idf), 1e-12, "idf");
        }
        let mut wanted = vec![vec![0.0; data.rows]; case["width"].as_u64().unwrap() as usize];
        let (starts, places, values) = (numbers(&case["indptr"]), numbers(&case["indices"]), numbers(&case["data"]));
        for row in 0..data.rows {
            for k in starts[row] as usize..starts[row + 1] as usize {
                wanted[places[k] as usize][row] = values[k];
            }
        }
        assert_close(&columns.concat(), &wanted.concat(), 1e-12, &format!("{spec:?}"));
        for again in [applied(&fitted, &data), applied(&reloaded(&fitted), &data)] {
            assert_eq!(again, columns, "{spec:?}: other values after the training");
        }
    }
}

/// The case of a model with its data.
fn model_case(expect: &Value, name: &str) -> (Spec, Data) {
    let spec = spec(&expect["models"][name]["spec"]);
    let columns: &[&str] = if name == "columns" { &["text", "title", "number", "price"] } else { &["text"] };
    let is_number = name.starts_with("ridge") || name == "scaled_weighted" || name.starts_with("svd");
    let data = match is_number {
        true => corpus(expect, columns, "y", 0),
        false => corpus(expect, columns, "topic", 3),
    };
    let data = if name.starts_with("binary") || name.ends_with("_weighted") { two(expect, &data) } else { data };
    let weight = (name.ends_with("_weighted") && name != "scaled_weighted")
        .then(|| (0..data.rows).map(|row| (row % 5) as f64).collect());
    (spec, Data { weight, ..data })
}

#[test]
fn text_pipelines_have_the_predictions_of_scikit_learn() {
    let expect = expected("text.json");
    for (name, case) in expect["models"].as_object().unwrap() {
        let (spec, data) = model_case(&expect, name);
        let fitted = fit(&spec, &data);
        let outputs = applied(&fitted, &data);
        let roles = fitted.outputs();
        let of = |start: &str| -> Vec<Vec<f64>> {
            let pairs = roles.iter().zip(&outputs).filter(|((name, _), _)| name.starts_with(start));
            pairs.map(|(_, values)| values.clone()).collect()
        };
        // Rows of scikit-learn, columns here.
        let by_row = |columns: Vec<Vec<f64>>| -> Vec<f64> {
            (0..data.rows).flat_map(|row| columns.iter().map(move |c| c[row]).collect::<Vec<f64>>()).collect()
        };
        if let Some(proba) = case.get("proba") {
            assert_close(&by_row(of("proba")), &numbers(proba), 1e-8, &format!("{name}: probabilities"));
        }
        if let Some(predicted) = case.get("predict") {
            assert_close(&by_row(of("prediction")), &numbers(predicted), 1e-8, &format!("{name}: predictions"));
        }
        if let Some(transformed) = case.get("transform") {
            assert_close(&by_row(of("truncatedsvd")), &numbers(transformed), 1e-7, &format!("{name}: components"));
            for attribute in ["explained_variance", "explained_variance_ratio", "singular_values"] {
                let found = crate::support::attribute(&fitted, attribute);
                assert_close(&found, &numbers(&case[attribute]), 1e-8, &format!("{name}: {attribute}"));
            }
        }
        if case.get("coef").is_some_and(|coef| !coef.is_null()) {
            assert_coefficients(name, &fitted, case);
        }
        let again = reloaded(&fitted);
        assert_eq!(applied(&again, &data), outputs, "{name}: the saved model differs");
    }
}

/// Compares coefficients by the names of the features. Dense ones have no prefix here.
fn assert_coefficients(name: &str, fitted: &FittedModel, case: &Value) {
    let terms = strings(&case["names"]);
    let terms: Vec<&str> = terms.iter().map(|term| term.strip_prefix("numbers__").unwrap_or(term)).collect();
    let frame = fitted.attribute("coef").unwrap();
    let (Values::Strs(features), Values::Floats(found)) = (column(&frame, "feature"), column(&frame, "coef")) else {
        panic!("{frame:?}")
    };
    let positions: HashMap<&str, usize> = features[..terms.len()].iter().map(String::as_str).zip(0..).collect();
    let sorted: Vec<f64> = found
        .chunks_exact(terms.len())
        .flat_map(|of_class| terms.iter().map(|term| of_class[positions[term]]).collect::<Vec<f64>>())
        .collect();
    assert_close(&sorted, &numbers(&case["coef"]), 1e-7, &format!("{name}: coefficients"));
    let intercept = match fitted.attribute("intercept").unwrap() {
        Attribute::Float(value) => vec![value],
        frame => match column(&frame, "intercept") {
            Values::Floats(values) => values.clone(),
            other => panic!("{other:?}"),
        },
    };
    let scale = found.iter().fold(1.0_f64, |a, b| a.max(b.abs()));
    for (a, b) in intercept.iter().zip(numbers(&case["intercept"])) {
        assert!((a - b).abs() <= 1e-7 * scale, "{name}: the intercept is {a}, expected {b}");
    }
}

#[test]
fn text_models_are_validated_on_folds_of_documents() {
    let expect = expected("text.json");
    for name in ["binary", "classes", "bayes", "columns"] {
        let (spec, data) = model_case(&expect, name);
        let folds = Splitter::StratifiedKFold { n_splits: 4, shuffle: false, random_state: 0 };
        let found = onrush_learn::cross_validate(&spec, &data, &folds, &[], false, &Run::silent()).unwrap();
        let found: Vec<f64> = found.iter().map(|fold| fold.test[0].1).collect();
        assert_close(&found, &numbers(&expect["models"][name]["folds"]), 1e-12, name);
    }
    let wanted = &expect["search"];
    let data = corpus(&expect, &["text"], "topic", 3);
    let fitted = fit(&spec(&wanted["spec"]), &data);
    let Values::Floats(means) = column(&fitted.attribute("results").unwrap(), "mean_test_score").clone() else {
        panic!()
    };
    assert_close(&means, &numbers(&wanted["mean_test_score"]), 1e-12, "mean scores");
    assert_close(&fitted.apply(&data, &[0]).unwrap()[0], &numbers(&wanted["predict"]), 0.0, "predictions");
    assert_eq!(fitted.features[0].kind, Kind::Text);
}

#[test]
fn text_models_store_no_documents() {
    let expect = expected("text.json");
    for name in ["binary", "columns", "union"] {
        let (spec, data) = model_case(&expect, name);
        let fitted = fit(&spec, &data);
        assert_eq!(fitted.features[0].kind, Kind::Text, "{name}");
        let file = String::from_utf8_lossy(&save::to_bytes(&fitted).unwrap()).into_owned();
        let Kind::Category(documents) = &data.features[0].kind else { panic!() };
        assert!(!documents.iter().any(|text| file.contains(text)), "{name}: the file has a document");
    }
}

#[test]
fn rows_are_found_by_their_documents_and_not_by_their_codes() {
    let expect = expected("text.json");
    let (spec, data) = model_case(&expect, "columns");
    let fitted = fit(&spec, &data);
    let all = applied(&fitted, &data);
    // A frame of few rows has other codes, and rows of equal documents.
    let rows = [7, 3, 7, 100];
    let taken = data.take(&rows);
    let texts = |column: &Column| -> Vec<String> {
        let names = column.categories().unwrap();
        column.values.iter().map(|code| names[*code as usize].clone()).collect()
    };
    let features = taken.features.iter().map(|c| match c.categories() {
        Some(_) => documents(&c.name, &texts(c)),
        None => c.clone(),
    });
    let some = applied(&fitted, &Data::new(features.collect()));
    for (some, all) in some.iter().zip(&all) {
        assert_eq!(*some, rows.map(|row| all[row]));
    }
    // Documents without a known term.
    let unknown = ["", "zzz 中文", "   "].map(str::to_string);
    let text = Data::new(vec![documents("text", &unknown)]);
    let (spec, data) = model_case(&expect, "classes");
    let proba = applied(&fit(&spec, &data), &text);
    assert!(proba.iter().all(|column| column[0] == column[1] && column[1] == column[2]));
}

#[test]
fn wrong_documents_are_refused() {
    let text = |texts: &[&str]| documents("text", &texts.iter().map(ToString::to_string).collect::<Vec<String>>());
    let one = |texts: &[&str]| Data::new(vec![text(texts)]);
    let cases = [
        (
            Spec::new("TfidfVectorizer"),
            Data::new(vec![Column::category("text", &[Some("a b"), None, Some("c")])]),
            "`text` has 1 null in 3 rows, and TfidfVectorizer takes no missing values",
        ),
        (
            Spec::new("CountVectorizer"),
            Data::new(vec![Column::number("price", vec![1.0])]),
            "`price` holds numbers, and CountVectorizer takes strings",
        ),
        (
            Spec::new("CountVectorizer"),
            Data::new(vec![text(&["a"]), Column { name: "title".to_string(), ..text(&["b"]) }]),
            "CountVectorizer takes one column of documents, and got 2: text, title",
        ),
        (
            Spec::new("TfidfVectorizer"),
            one(&["a b", ""]),
            "the vocabulary is empty: the documents have no terms, or only stop words",
        ),
        (
            Spec::new("CountVectorizer").with("stop_words", "english"),
            one(&["the and of"]),
            "the vocabulary is empty: the documents have no terms, or only stop words",
        ),
        (
            Spec::new("CountVectorizer").with("stop_words", "german"),
            one(&["word"]),
            "`stop_words` is german: \"english\", or a list of words",
        ),
        (
            Spec::new("CountVectorizer").with("ngram_range", [2, 1]),
            one(&["word"]),
            "`ngram_range` is [2, 1]: the first number must not be above the second",
        ),
        (
            Spec::new("CountVectorizer").with("min_df", 2),
            one(&["some words", "other terms"]),
            "`min_df` and `max_df` leave none of 4 terms",
        ),
        (
            Spec::new("CountVectorizer").with("min_df", 2).with("max_df", 0.5),
            one(&["some words", "other words"]),
            "`max_df` 0.5 allows fewer documents than `min_df` 2 asks for, in 2 rows",
        ),
        (
            Spec::new("CountVectorizer").with("token_pattern", "(a)(b)"),
            one(&["ab"]),
            "`token_pattern` is \"(a)(b)\": it has 2 groups, expected at most one",
        ),
        (
            Spec::new("CountVectorizer").with("vocabulary", ["a", "b", "a"]),
            one(&["a"]),
            "`vocabulary` has the term `a` twice",
        ),
        (Spec::new("TfidfVectorizer"), one(&[]), "TfidfVectorizer got no rows"),
    ];
    for (spec, data, wanted) in cases {
        assert_eq!(error(&spec, &data).message, wanted);
    }
    let error = error(&Spec::new("CountVectorizer").with("token_pattern", "(?<=a)b"), &one(&["ab"]));
    assert!(error.message.starts_with("`token_pattern` is \"(?<=a)b\": "), "{error}");
}

#[test]
fn a_document_alone_is_enough() {
    let data = Data::new(vec![documents("text", &["some words, some 😀".to_string()])]);
    let (fitted, columns) = onrush_learn::fit_transform(&Spec::new("TfidfVectorizer"), &data, &Run::silent()).unwrap();
    assert_eq!(fitted.outputs().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["some", "words"]);
    // Two counts and one count with equal idf: 2 / sqrt(5) and 1 / sqrt(5).
    assert_close(&columns.concat(), &[2.0 / 5f64.sqrt(), 1.0 / 5f64.sqrt()], 1e-15, "weights");
}

#[test]
fn many_terms_are_refused_outside_of_a_pipeline() {
    let texts: Vec<String> = (0..50).map(|i| (0..100).map(|j| format!("w{i}x{j} ")).collect()).collect();
    let y = (0..50).map(|i| f64::from(i % 2)).collect();
    let classes = vec!["a".to_string(), "b".to_string()];
    let data = Data { y, classes, target: "y".to_string(), ..Data::new(vec![documents("text", &texts)]) };
    let spec = Spec::new("TfidfVectorizer");
    let error = onrush_learn::fit_transform(&spec, &data, &Run::silent()).err().unwrap();
    assert_eq!(error.message, "TfidfVectorizer makes 5000 columns here: at most 4000 outside of a pipeline");
    let step = |name: &str| Part { name: name.to_lowercase(), columns: Vec::new(), spec: Spec::new(name) };
    let parts = vec![step("TfidfVectorizer"), step("LogisticRegression")];
    let fitted = fit(&Spec { parts, ..Spec::new("Pipeline") }, &data);
    assert_eq!(fitted.apply(&data, &[0]).unwrap()[0], data.y);
}

#[test]
fn columns_are_documents_or_categories() {
    let expect = expected("text.json");
    let data = corpus(&expect, &["text", "title"], "topic", 3);
    let part = |name: &str, column: &str| Part {
        name: name.to_lowercase(),
        columns: vec![column.to_string()],
        spec: Spec::new(name),
    };
    let parts = vec![part("TfidfVectorizer", "title"), part("OneHotEncoder", "title")];
    let both = Spec { parts, ..Spec::new("ColumnTransformer") };
    let wanted = "`title` is taken as documents by one estimator and as categories by another";
    assert_eq!(error(&both, &data).message, wanted);
    let parts = vec![part("SimpleImputer", ""), part("CountVectorizer", "")];
    let later = Spec { parts, ..Spec::new("Pipeline") };
    let wanted = "step `countvectorizer` takes documents, which come from a frame and not from another step";
    assert_eq!(error(&later, &corpus(&expect, &["title"], "topic", 3)).message, wanted);
    let scaled = Spec { parts: vec![part("CountVectorizer", ""), part("StandardScaler", "")], ..Spec::new("Pipeline") };
    let found = error(&scaled, &corpus(&expect, &["title"], "topic", 3));
    assert!(found.message.contains("StandardScaler cannot subtract the mean"), "{found}");
}

#[test]
fn trainings_on_documents_repeat() {
    let expect = expected("text.json");
    for name in ["classes", "columns", "ridge", "svd_wide"] {
        let (spec, data) = model_case(&expect, name);
        let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let bytes = |threads: usize| pool(threads).install(|| applied(&fit(&spec, &data), &data));
        assert!(bytes(1) == bytes(3), "{name}: threads change the result");
    }
}

#[test]
fn damaged_files_of_text_models_are_errors() {
    let expect = expected("text.json");
    for name in ["columns", "union", "svd", "hashing_small", "bayes"] {
        let (spec, data) = model_case(&expect, name);
        let fitted = fit(&spec, &data);
        let bytes = save::to_bytes(&fitted).unwrap();
        let header = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        let mut read = 0;
        for k in 0..400_usize {
            let mut changed = bytes.clone();
            // Digits of the description, and bytes of the arrays.
            let place = 8 + (k * 7919) % (bytes.len() - 8);
            let place = if k % 2 == 0 { 8 + (k * 104_729) % header } else { place };
            changed[place] = match changed[place] {
                digit @ b'0'..=b'9' => b'0' + (digit - b'0' + 1 + (k % 9) as u8) % 10,
                other => other ^ (1 << (k % 8)),
            };
            let Ok(model) = save::from_bytes(&changed) else { continue };
            read += 1;
            // The model may answer otherwise or refuse the rows, but not panic.
            let wanted: Vec<usize> = (0..model.outputs().len().min(8)).collect();
            let _ = model.apply(&data, &wanted);
            let _ = model.attribute("coef");
        }
        assert!(read > 0, "{name}: no file was read");
    }
}

#[test]
fn the_stop_words_are_those_of_scikit_learn() {
    let words = strings(&expected("text.json")["english"]);
    let texts = [words.join(" "), "kept words".to_string()];
    let spec = Spec::new("CountVectorizer").with("stop_words", "english").with("token_pattern", r"\w+");
    let fitted = fit(&spec, &Data::new(vec![documents("text", &texts)]));
    let Attribute::Frame(columns) = fitted.attribute("vocabulary").unwrap() else { panic!() };
    assert_eq!(columns[0].1, Values::Strs(vec!["kept".to_string(), "words".to_string()]));
}

#[test]
fn the_final_estimator_of_a_stack_takes_no_documents() {
    let words = ["red sun", "blue sea", "red fire", "blue sky", "red wine", "blue ice", "red rose", "blue moon"];
    let documents: Vec<Option<&str>> = words.iter().map(|w| Some(*w)).collect();
    let y = (0..8).map(|i| f64::from(i % 2)).collect();
    let classes = vec!["red".to_string(), "blue".to_string()];
    let data = Data { y, classes, ..Data::new(vec![Column::category("words", &documents)]) };
    let part = |name: &str, spec: Spec| Part { name: name.to_string(), columns: Vec::new(), spec };
    let steps = vec![
        part("tfidfvectorizer", Spec::new("TfidfVectorizer")),
        part("logisticregression", Spec::new("LogisticRegression")),
    ];
    let inside = Spec { parts: steps, ..Spec::new("Pipeline") };
    let parts = vec![part("words", inside), part("final_estimator", Spec::new("LogisticRegression"))];
    let cv = Some(Splitter::Auto { n_splits: 2 });
    let fitted = fit(&Spec { parts, cv, ..Spec::new("StackingClassifier") }, &data);
    // Each document has the word that names its class.
    assert_eq!(fitted.apply(&data, &[0]).unwrap()[0], data.y);
}
