//! Models in plans: columns of a fitted model as expressions, metrics as aggregates, splits as steps. Values by hand,
//! and from scikit-learn 1.9.1 where a test says so.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use onrush_frame::TaskHandle;
use onrush_wire::learn::{
    Evaluation, Fit, Grid, ModelAsk, ModelId, ModelInfo, Param, Size, Spec, Splitter, TrainSizes,
};
use onrush_wire::plan::{Op, Split, SplitPart};
use onrush_wire::{Class, Diagnostic, Expr, ExprKind, FrameId, ModelOutput};

use super::support::*;

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn try_fit(b: &TestEngine, spec: Spec, frame: FrameId, target: Option<&str>) -> Result<ModelInfo, Diagnostic> {
    let fit = Fit { spec, frame, target: target.map(Expr::column), eval: Vec::new() };
    let id = ModelId(b.id().0);
    b.engine.fit(id, &fit, Some(&span(7)), &TaskHandle::new()).map(|(info, _)| info)
}

fn fit(b: &TestEngine, spec: Spec, frame: FrameId, target: Option<&str>) -> ModelInfo {
    try_fit(b, spec, frame, target).unwrap_or_else(|d| panic!("{d} {:?}", d.help))
}

fn output(info: &ModelInfo, name: &str) -> Expr {
    Expr::new(ExprKind::Model(ModelOutput { model: ModelId(0), key: info.key, output: name.to_string() }))
}

#[test]
fn predictions_are_columns_that_fuse_with_the_query_around_them() {
    let b = TestEngine::default();
    // y = 1 + 2 a - b, exactly.
    let f = b.frame(vec![
        ("a", floats(&[0.0, 1.0, 2.0, 3.0])),
        ("b", floats(&[1.0, 0.0, 1.0, 0.0])),
        ("y", floats(&[0.0, 3.0, 4.0, 7.0])),
    ]);
    let model = fit(&b, Spec::new("LinearRegression"), f, Some("y"));
    assert_eq!(model.features.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let rounded = Expr::call("round", [output(&model, "prediction"), Expr::literal(6)]);
    assert_eq!(b.select(f, rounded), "f64: 0.0 3.0 4.0 7.0");
    // In another order, with other columns and another type of number.
    let g = b.frame(vec![
        ("b", Arc::new(Int64Array::from(vec![5, 0]))),
        ("other", strings(&["x", "y"])),
        ("a", Arc::new(Int64Array::from(vec![10, -1]))),
    ]);
    let above = Expr::new(ExprKind::Binary(
        onrush_wire::BinaryOp::Greater,
        Box::new(output(&model, "prediction")),
        Box::new(Expr::literal(0.5)),
    ));
    assert_eq!(b.select(g, above), "bool: true false");
    let error = b.try_select(b.frame(vec![("a", floats(&[1.0]))]), output(&model, "prediction")).unwrap_err();
    assert!(error.message.contains("`b`") && error.message.contains("the model needs"), "{error}");
    assert!(error.notes.iter().any(|n| n.contains("trained on a, b")), "{error:?}");
    let error = b.try_select(f, output(&model, "predictoin")).unwrap_err();
    assert!(error.help.iter().any(|h| h.contains("`prediction`")), "{error:?}");
}

#[test]
fn classes_are_of_the_type_of_the_target_and_probabilities_add_up() {
    let b = TestEngine::default();
    let f = b.frame(vec![
        ("x", floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ("y", strings(&["low", "low", "low", "high", "high", "high"])),
    ]);
    let model = fit(&b, Spec::new("DecisionTreeClassifier"), f, Some("y"));
    let names: Vec<&str> = model.outputs.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["prediction", "proba_high", "proba_low"]);
    assert_eq!(b.select(f, output(&model, "prediction")), "str: low low low high high high");
    assert_eq!(b.select(f, output(&model, "proba_high")), "f64: 0.0 0.0 0.0 1.0 1.0 1.0");
    let accuracy = Expr::call("accuracy_score", [Expr::column("y"), output(&model, "prediction")]);
    assert_eq!(b.select(f, accuracy), "f64: 1.0");
}

#[test]
fn a_null_in_a_feature_ends_the_query_with_its_column() {
    let b = TestEngine::default();
    let f = b.frame(vec![("x", floats(&[1.0, 2.0, 3.0])), ("y", floats(&[1.0, 2.0, 3.0]))]);
    let model = fit(&b, Spec::new("Ridge"), f, Some("y"));
    let g = b.frame(vec![("x", Arc::new(Float64Array::from(vec![Some(1.0), None])))]);
    let id = b.try_select(g, output(&model, "prediction")).unwrap();
    let error = b.try_rows(id).unwrap_err();
    assert_eq!(error.message, "`x` has 1 null in 2 rows, and Ridge takes no missing values");
    let error = try_fit(&b, Spec::new("Ridge").with("alpha", -1.0), f, Some("y")).unwrap_err();
    assert_eq!((error.message.as_str(), error.labels.len()), ("`alpha` is -1.0: at least 0", 1));
}

#[test]
fn metrics_are_aggregates_by_group() {
    let b = TestEngine::default();
    let f = b.frame(vec![
        ("g", strings(&["a", "a", "a", "a", "b", "b", "b", "b"])),
        ("y", Arc::new(Int64Array::from(vec![0, 0, 1, 1, 0, 1, 0, 1]))),
        ("s", floats(&[0.1, 0.4, 0.35, 0.8, 0.2, 0.9, 0.3, 0.7])),
    ]);
    // scikit-learn: roc_auc_score([0, 0, 1, 1], [.1, .4, .35, .8]) is 0.75.
    let aggs = vec![
        Expr::call("roc_auc_score", [Expr::column("y"), Expr::column("s")]).alias("auc"),
        Expr::call("mean_squared_error", [Expr::column("y"), Expr::column("s")]).alias("mse"),
    ];
    let id = b.step(Op::GroupBy { input: f, keys: vec![Expr::column("g")], aggs });
    assert_eq!(b.column(id, 1), ["0.75", "1.0"]);
    // (0.01 + 0.16 + 0.4225 + 0.04) / 4, (0.04 + 0.01 + 0.09 + 0.09) / 4.
    let mse: Vec<f64> = b.column(id, 2).iter().map(|v| v.parse().unwrap()).collect();
    assert!((mse[0] - 0.158125).abs() < 1e-12 && (mse[1] - 0.0575).abs() < 1e-12, "{mse:?}");
    // Defined for one class only: null.
    let one = b.step(Op::Slice { input: f, offset: 0, length: Some(2) });
    let auc = Expr::call("roc_auc_score", [Expr::column("y"), Expr::column("s")]);
    assert_eq!(b.select(one, auc), "f64: null");
    let error = b.try_select(f, Expr::call("r2_score", [Expr::column("y"), Expr::column("g")])).unwrap_err();
    assert_eq!(error.message, "`r2_score` compares numbers, and `g` is `str`");
}

#[test]
fn splits_have_the_rows_of_scikit_learn() {
    let b = TestEngine::default();
    let f = b.frame(vec![("i", Arc::new(Int64Array::from_iter_values(0..10)))]);
    let split = Split::TrainTest {
        test_size: Some(Size::Share(0.3)),
        train_size: None,
        shuffle: true,
        stratify: None,
        random_state: 1,
    };
    let side = |part| b.step(Op::Split { input: f, split: split.clone(), part });
    // train_test_split(range(10), test_size=0.3, random_state=1).
    assert_eq!(b.column(side(SplitPart::Test), 0), ["2", "9", "6"]);
    assert_eq!(b.column(side(SplitPart::Train), 0), ["4", "0", "3", "1", "7", "8", "5"]);
}

#[test]
fn a_model_is_found_by_its_key_and_restored_from_its_file() {
    let b = TestEngine::default();
    let f = b.frame(vec![("x", floats(&[1.0, 2.0, 9.0, 10.0])), ("y", floats(&[1.0, 2.0, 9.0, 10.0]))]);
    let spec = || Spec::new("KMeans").with("n_clusters", 2usize);
    let (one, two) = (fit(&b, spec(), f, None), fit(&b, spec(), f, None));
    assert_eq!(one.key, two.key);
    assert_ne!(one.key, fit(&b, spec().with("random_state", 1usize), f, None).key);
    let fit = Fit { spec: spec(), frame: f, target: None, eval: Vec::new() };
    let (_, file) = b.engine.fit(ModelId(900), &fit, None, &TaskHandle::new()).unwrap();
    let other = TestEngine::default();
    let (info, _) = other.engine.restore_model(ModelId(801), "m.safetensors", file.clone()).unwrap();
    assert_eq!((info.key, &info.card.title), (one.key, &one.card.title));
    let g = other.frame(vec![("x", floats(&[1.5, 9.5])), ("y", floats(&[1.5, 9.5]))]);
    let labels = other.column(other.step(Op::Select { input: g, exprs: vec![output(&info, "label")] }), 0);
    assert_ne!(labels[0], labels[1]);
    // Cut off anywhere, it is refused.
    for length in [0, 7, 8, 100, file.len() - 1] {
        let error = other.engine.restore_model(ModelId(802), "cut", file[..length].to_vec()).unwrap_err();
        assert!(error.class == Class::Run && error.message.contains("not a model file"), "{length}: {error}");
    }
    let ask = ModelAsk::Attribute("centres".to_string());
    let error = other.engine.model_ask(ModelId(801), &ask, &TaskHandle::new()).err().unwrap();
    assert!(error.notes.iter().any(|n| n.contains("cluster_centers")), "{error:?}");
    let ask = ModelAsk::Evaluate { frame: g, what: Evaluation::Score(None) };
    assert!(other.engine.model_ask(ModelId(801), &ask, &TaskHandle::new()).is_err(), "clusters have no default score");
}

/// Scores of `sklearn.model_selection.validation_curve` (scikit-learn 1.9.1) with `Ridge()`, `KFold(3)` and r2.
#[test]
fn a_validation_curve_has_the_scores_of_scikit_learn() {
    let b = TestEngine::default();
    let column = |of: fn(i32) -> i32| floats(&(0..12).map(|i| f64::from(of(i))).collect::<Vec<_>>());
    let f = b.frame(vec![
        ("a", column(|i| i)),
        ("b", column(|i| i * 7 % 5)),
        ("y", column(|i| 2 * i - i * 7 % 5 + i * 3 % 4)),
    ]);
    let spec = Spec { estimator: "Ridge".to_string(), ..Default::default() };
    let fit = Fit { spec, frame: f, target: Some(Expr::column("y")), eval: Vec::new() };
    let cv = Splitter::KFold { n_splits: 3, shuffle: false, random_state: 0 };
    let alphas = Grid::List([0.1, 1.0, 10.0].map(Param::Float).to_vec());
    let task = TaskHandle::new();
    let curve = b.engine.validation_curve(&fit, &cv, &[], ("alpha", alphas.clone()), &task).unwrap();
    let values = |name: &str| {
        let column = curve.column(curve.schema().index_of(name).unwrap()).unwrap();
        column.as_primitive::<Float64Type>().values().to_vec()
    };
    assert_eq!(values("alpha"), [0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 10.0, 10.0, 10.0]);
    let near = |found: Vec<f64>, expected: [f64; 9]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{found:?} {expected:?}");
    };
    near(
        values("train_score"),
        [0.95878493, 0.98803478, 0.94246925, 0.95806326, 0.98795705, 0.94117647, 0.91601512, 0.98247771, 0.87946719],
    );
    near(
        values("test_score"),
        [0.60510231, 0.67628327, 0.8039459, 0.64030157, 0.65980352, 0.83333333, -0.05327781, 0.55486274, -0.23089807],
    );
    let fails =
        |param: &str, values: Grid| b.engine.validation_curve(&fit, &cv, &[], (param, values), &task).unwrap_err();
    assert!(fails("alhpa", alphas).message.contains("alhpa"));
    assert_eq!(fails("alpha", Grid::List(vec![])).message, "`alpha` has no values to try");
    let long = fails("max_iter", Grid::Integers(1, i64::MAX));
    assert!(long.message.contains("at most 1000000"), "{long}");
}

#[test]
fn predictions_on_folds_have_the_type_of_the_target_and_the_order_of_the_rows() {
    let b = TestEngine::default();
    let values: Vec<f64> = (0..12).map(|i| f64::from(i * 5 % 12) + if i * 5 % 12 < 6 { 0.0 } else { 100.0 }).collect();
    let kinds: Vec<&str> = values.iter().map(|v| if *v < 50.0 { "no" } else { "yes" }).collect();
    let f = b.frame(vec![("x", floats(&values)), ("y", strings(&kinds))]);
    let fit = Fit { spec: Spec::new("GaussianNB"), frame: f, target: Some(Expr::column("y")), eval: Vec::new() };
    let (cv, task) = (Splitter::Auto { n_splits: 3 }, TaskHandle::new());
    let predicted = b.engine.cross_val_predict(&fit, &cv, "predict", &task).unwrap();
    let column = predicted.column(predicted.schema().index_of("prediction").unwrap()).unwrap();
    assert_eq!(column.data_type(), &DataType::Utf8View);
    assert_eq!(column.as_string_view().iter().flatten().collect::<Vec<_>>(), kinds);
    let proba = b.engine.cross_val_predict(&fit, &cv, "predict_proba", &task).unwrap();
    let names: Vec<&str> = proba.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!((names, proba.rows()), (vec!["proba_no", "proba_yes"], 12));
    let sizes = TrainSizes { sizes: vec![Size::Rows(6), Size::Share(1.0)], shuffle: true, random_state: 1 };
    let curve = b.engine.learning_curve(&fit, &cv, &[], &sizes, &task).unwrap();
    let sizes = curve.column(curve.schema().index_of("train_size").unwrap()).unwrap();
    assert_eq!(sizes.as_primitive::<Int64Type>().values(), &[6, 6, 6, 8, 8, 8]);
}
