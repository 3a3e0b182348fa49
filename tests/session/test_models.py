"""Models live in the session: they outlive cells and engines, are shared, and say what is wrong before they are trained.

Expected figures are from scikit-learn 1.9.1 on `tests/learn/data`, unless a test says otherwise.
"""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

import processes
from driver import PATIENCE, Kernel
from processes import wait_until

DATA = Path(__file__).parents[1] / "learn" / "data"
IRIS = 'let iris = read_csv("iris.csv");'
DIABETES = 'let diabetes = read_csv("diabetes.csv");'


@pytest.fixture
def start(kernelspecs):
    kernels = []

    def start() -> Kernel:
        kernels.append(Kernel(kernelspecs, DATA))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.close()


@pytest.fixture
def kernel(start):
    return start()


def close(found: str, wanted: float, relative: float = 1e-9):
    assert float(found) == pytest.approx(wanted, rel=relative)


def test_attributes_predictions_and_scores(kernel):
    kernel.ok(DIABETES)
    kernel.ok('let ols = LinearRegression::new().fit(&diabetes, "target");')
    # LinearRegression().fit(X, y): intercept_, coef_[2], score(X, y).
    close(kernel.value("ols.intercept()"), 152.13348416289617)
    close(kernel.value('ols.coef().filter(x!(feature == "bmi")).value::<f64>(x!(coef.sum()))'), 519.845920054)
    close(kernel.value("ols.score(&diabetes)"), 0.5177484222203498)
    # As an aggregate over the prediction, in one query.
    expression = "diabetes.with_columns(x!(p = {ols.prediction()})).value::<f64>(x!(r2_score(target, p)))"
    close(kernel.value(expression), 0.5177484222203498)
    assert kernel.value("ols.predict(&diabetes).columns().last().unwrap()") == '"prediction"'


def test_classes_keep_their_type_and_features_are_found_by_name(kernel):
    kernel.ok('let f = frame! { a: [1.0, 2.0, 3.0, 4.0], b: [0.0, 1.0, 0.0, 1.0], ok: ["no", "no", "yes", "yes"] };')
    kernel.ok('let m = DecisionTreeClassifier::new().fit(&f, "ok");')
    assert kernel.value('m.predict(&f.select(["b", "a"])).column::<String>("prediction").to_vec()') == '["no", "no", "yes", "yes"]'
    assert kernel.value("m.output_names()") == '["prediction", "proba_no", "proba_yes"]'
    kernel.ok("let g = f.with_columns(x!(t = a > 2.5));")
    assert kernel.value('DecisionTreeClassifier::new().features(["a"]).fit(&g, "t").predict(&g).column::<bool>("prediction").to_vec()') == (
        "[false, false, true, true]"
    )
    # The expression of a feature is computed again.
    kernel.ok('let e = LinearRegression::new().features(x!(twice = a * 2.0)).fit(&f.with_columns(x!(y = a)), "y");')
    assert kernel.value('e.feature_names()') == '["twice"]'
    close(kernel.value('e.predict(&frame! { a: [10.0] }).value::<f64>(x!(prediction.sum()))'), 10.0)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('Ridge::new().alpha(-1.0).fit(&f, "y")', ["`alpha` is -1.0", "at least 0"]),
        ('Ridge::new().fit(&f, "z")', ["no column `z`"]),
        ('Ridge::new().features(["y"]).fit(&f, "name")', ["holds strings", "regressor predicts numbers"]),
        ('Ridge::new().features(["age", "y"]).fit(&f, "y")', ["among the features"]),
        ('LogisticRegression::new().features(["age"]).fit(&f, "y")', ["`age` has 1 null in 4 rows", "takes no missing values", "SimpleImputer"]),
        ('LogisticRegression::new().features(["name"]).fit(&f, "y")', ["`name` holds strings", "OneHotEncoder"]),
        ('LogisticRegression::new().features(["y"]).fit(&f.filter(x!(y == 1)), "one")', ["one class"]),
        ('KMeans::new().init("sideways").fit(&f.select("y"))', ["init"]),
        ('StandardScaler::new().fit(&f.select(["when"]))', ["`when` is `date`", "numbers, booleans and strings"]),
        ('Ridge::new().features(["y"]).fit(&f, "one").predict(&f.drop("y"))', ["`y`", "the model was trained on y"]),
        (
            'GridSearchCV::new(make_pipeline((StandardScaler::new(), Ridge::new()))).param("ridge__alhpa", [1.0])'
            '.fit(&f.select(["y", "one"]), "one")',
            ["no parameter `ridge__alhpa`", "did you mean `ridge__alpha`?"],
        ),
        ('cross_validate(&Ridge::new().features(["y"]), &f, "one", 10)', ["10", "4"]),
        (
            'cross_val_predict(&Ridge::new().features(["y"]), &f, "one", ShuffleSplit::new(3))',
            ["each row must be tested once", "KFold"],
        ),
        ('cross_val_predict(&Ridge::new().features(["y"]), &f, "one", cv(2).method("predict_proba"))', ["no probabilities"]),
        ('cross_val_score(&Ridge::new().features(["y"]), &f, "one", cv(2).scoring(["r2", "neg_max_error"]))', ["one scorer"]),
        ('learning_curve(&Ridge::new().features(["y"]), &f, "one", [0.5, 2.0], 2)', ["`train_sizes` has 2", "at most 1"]),
        (
            'GridSearchCV::new(Ridge::new().features(["y"])).param("alpha", [1.0]).cv(2).scoring(["r2", "neg_max_error"]).refit("mse").fit(&f, "one")',
            ["`refit` is `mse`", "r2, neg_max_error"],
        ),
        ('Ridge::new().features(["y"]).fit(&f, "age")', ["the target `age` has 1 null in 4 rows"]),
        ('LogisticRegression::new().features(["y"]).fit(&f, "age")', ["the target `age` has 1 null in 4 rows"]),
        (
            'Ridge::new().features(["y"]).fit(&f.with_columns(x!(inf = one / 0.0)), "inf")',
            ["the target `inf` has 4 infinite values in 4 rows"],
        ),
        ('load_model("iris.csv")', ["iris.csv", "not a model file"]),
        ('Ridge::new().features(["y"]).fit(&f, "one").save("m.pickle")', ["m.pickle", "safetensors"]),
    ],
)
def test_wrong_input_is_named_at_the_call(kernel, code, words):
    kernel.ok(
        'let f = frame! { age: [Some(1.0), None, Some(3.0), Some(4.0)], name: ["a", "b", "c", "d"], y: [1, 0, 1, 0], one: [1, 1, 1, 1], '
        'when: [NaiveDate::from_ymd_opt(2020, 1, 1).unwrap(); 4] };'
    )
    text = kernel.fails(code).error_text
    for word in words:
        assert word in text, text


def test_a_killed_engine_costs_no_second_training(kernel, tmp_path):
    kernel.ok(IRIS)
    rows = shutil.copy(DATA / "iris.csv", tmp_path)
    kernel.ok(f'let m = RandomForestClassifier::new().n_estimators(20).fit(&read_csv("{rows}"), "target");')
    before = kernel.value("m.score(&iris)")
    kernel.ok("let held = m.predict(&iris);")
    # Without its rows the training cannot be repeated.
    os.remove(rows)
    engine = processes.engine()
    os.kill(engine, signal.SIGKILL)
    wait_until(lambda: processes.engine() != engine, 10, "the engine is still there")
    assert kernel.value("m.score(&iris)") == before
    assert kernel.value('held.shape()') == "(150, 6)"


def test_a_failed_cell_keeps_its_model_for_the_next(kernel):
    kernel.ok(IRIS)
    fit = 'let m = HistGradientBoostingClassifier::new().max_iter(300).fit(&iris, "target"); show(&m);'
    trained = card(kernel.fails(f"{fit}\nlet wrong = iris.select(\"nothing\");"))
    assert "HistGradient" not in str(kernel.ok(":vars").bundles)
    # The card has the seconds of the training: a second training would show others.
    assert card(kernel.ok(fit)) == trained
    assert kernel.value("m.score(&iris)") == "1.0"


def card(ran) -> str:
    """The card of the only model that a cell has shown."""
    [html] = [b["text/html"] for b in ran.bundles if b["text/plain"].startswith("HistGradientBoostingClassifier(")]
    return html


def test_models_are_variables_that_can_be_published(start):
    one, two = start(), start()
    one.ok(IRIS)
    one.ok('let m = GaussianNB::new().fit(&iris, "target"); m.publish("bayes");')
    assert "GaussianNB() on 150 x 4" in str(one.ok(":vars").bundles)
    # GaussianNB().fit(X, y).score(X, y).
    two.ok(IRIS)
    close(two.value('get_model("bayes").score(&iris)'), 0.96)
    assert "is a model, not a frame" in two.fails('get("bayes")').error_text


def test_a_stopped_fit_leaves_nothing_and_the_session_goes_on(kernel):
    kernel.ok('let many = concat(&vec![read_csv("digits.csv"); 20]).persist();')
    message = kernel.client.execute('let m = HistGradientBoostingClassifier::new().max_iter(2000).fit(&many, "target");')
    until_shown(kernel, message, "round ")
    begun = time.monotonic()
    kernel.interrupt()
    ran = kernel.wait(message, begun)
    assert time.monotonic() - begun < 5
    assert ran.error, ran
    assert kernel.value("many.height()") == "35940"


def test_predictions_on_folds_stand_next_to_their_rows(kernel):
    kernel.ok(IRIS)
    kernel.ok('let f = cross_val_predict(&GaussianNB::new(), &iris, "target", 5);')
    # (cross_val_predict(GaussianNB(), X, y, cv=5) == y).mean()
    close(kernel.value('f.value::<f64>(x!(accuracy_score(target, prediction)))'), 0.9533333333333334)
    assert kernel.value("f.columns().last().unwrap()") == '"prediction"' and kernel.value("f.height()") == "150"
    # A second call replaces the column.
    assert kernel.value('cross_val_predict(&GaussianNB::new(), &f, "target", 3).width()') == kernel.value("f.width()")
    names = 'cross_val_predict(&GaussianNB::new(), &iris, "target", cv(5).method("predict_proba")).columns()[5..].to_vec()'
    assert kernel.value(names) == '["proba_0", "proba_1", "proba_2"]'
    names = 'cross_val_predict(&LogisticRegression::new(), &iris, "target", cv(5).method("decision_function")).columns()[5..].to_vec()'
    assert kernel.value(names) == '["decision_0", "decision_1", "decision_2"]'
    kernel.ok('let words = iris.with_columns(x!(kind = if target == 0 { "a" } else { "b" })).drop("target");')
    kernel.ok('let g = cross_val_predict(&GaussianNB::new(), &words, "kind", StratifiedKFold::new(3).shuffle(true));')
    assert kernel.value('g.filter(x!(kind == prediction)).height()') == "150"


def test_scores_on_folds_are_numbers_and_frames(kernel):
    kernel.ok(IRIS + DIABETES)
    # cross_val_score(GaussianNB(), X, y, cv=5)
    scores = kernel.value('cross_val_score(&GaussianNB::new(), &iris, "target", 5)')
    assert [float(s) for s in scores.strip("[]").split(",") if s.strip()] == pytest.approx([0.9333333333333333, 0.9666666666666667, 0.9333333333333333, 0.9333333333333333, 1.0])
    assert kernel.value('cross_val_score(&Ridge::new(), &diabetes, "target", cv(3).scoring(x!(m = (target - prediction).abs().mean()))).len()') == "3"
    columns = 'cross_validate(&GaussianNB::new(), &iris, "target", cv(5).scoring(["accuracy", "roc_auc_ovr"]).return_train_score(true)).columns()[4..].to_vec()'
    assert kernel.value(columns) == '["test_accuracy", "test_roc_auc_ovr", "train_accuracy", "train_roc_auc_ovr"]'
    # learning_curve(Ridge(), X, y, train_sizes=[0.1, 0.33, 1.0], cv=4): the sizes.
    kernel.ok('let curve = learning_curve(&Ridge::new(), &diabetes, "target", [0.1, 0.33, 1.0], 4);')
    assert kernel.value('curve.column::<i64>("train_size").to_vec()') == "[33, 33, 33, 33, 109, 109, 109, 109, 331, 331, 331, 331]"
    kernel.ok('curve.group_by("train_size").agg(x!(train = train_score.mean(), test = test_score.mean())).plot().line("train_size", ["train", "test"])')
    # Numbers of rows, shuffled.
    assert kernel.value('learning_curve(&Ridge::new(), &diabetes, "target", train_sizes([200, 50]).shuffle(true).random_state(8), 4).height()') == "8"


def test_scores_of_clusters_are_aggregates(kernel):
    kernel.ok("let f = frame! { a: [0, 0, 1, 1], b: [0, 0, 1, 2] };")
    # homogeneity_score([0, 0, 1, 1], [0, 0, 1, 2]) and so on.
    wanted = {"homogeneity": 1.0, "completeness": 0.6666666666666667, "rand": 0.8333333333333334, "mutual_info": 0.6931471805599453}
    for name, value in wanted.items():
        close(kernel.value(f"f.value::<f64>(x!({name}_score(a, b)))"), value)


def test_groups_stay_together(kernel):
    kernel.ok('let f = frame! { g: [10, 10, 9, 9, 8, 8], x: [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], y: [0, 1, 0, 1, 0, 1] };')
    # LeaveOneGroupOut goes through the groups in order: 8, 9, 10.
    assert kernel.value('LeaveOneGroupOut.split_groups(&f, "g").iter().map(|(_, t)| t.column::<f64>("x").to_vec()).collect::<Vec<_>>()') == (
        "[[5.0, 7.0], [3.0, 4.0], [1.0, 2.0]]"
    )
    kernel.ok('let m = cross_validate(&Ridge::new().groups("g"), &f, "y", LeaveOneGroupOut); assert_eq!(m.height(), 3);')
    kernel.ok('let p = cross_val_predict(&Ridge::new().groups("g"), &f, "y", LeaveOneGroupOut); assert_eq!(p.height(), 6);')
    assert kernel.value('LeavePGroupsOut::new(2).split_groups(&f, "g").len()') == "3"
    assert kernel.value('StratifiedGroupKFold::new(3).split_stratified_groups(&f, "y", "g").len()') == "3"
    assert kernel.value('GroupShuffleSplit::new(2).test_size(1).split_groups(&f, "g")[0].1.height()') == "2"
    assert kernel.value("LeavePOut::new(2).split(&f, None).len()") == "15"


def test_shap_values_sum_to_the_output(kernel):
    kernel.ok(DIABETES)
    kernel.ok('let m = HistGradientBoostingRegressor::new().max_iter(20).fit(&diabetes, "target"); let s = m.shap(&diabetes);')
    assert kernel.value("s.values().columns() == m.feature_names()") == "true"
    kernel.ok('let sum = s.values().select(x!(sum = bmi + bp + s1 + s2 + s3 + s4 + s5 + s6 + age + sex + {s.base_value()}));')
    kernel.ok('let both = sum.hstack(&m.predict(&diabetes).select("prediction"));')
    assert float(kernel.value("both.value::<f64>(x!((sum - prediction).abs().max()))")) < 1e-9
    assert kernel.value("s.importance().columns()") == '["feature", "importance"]'
    kernel.ok('let _ = (s.beeswarm(), s.bar(), s.waterfall(3), s.dependence("bmi"), s.dependence_by("bmi", "sex"));')
    assert "no feature `bmx` was explained" in kernel.fails('s.dependence("bmx")').error_text
    kernel.ok(IRIS)
    kernel.ok('let f = RandomForestClassifier::new().n_estimators(5).fit(&iris, "target"); let t = f.shap(&iris);')
    assert kernel.value("(t.values().height(), t.importance().height(), t.scale())") == '(450, 12, "probability")'
    assert kernel.value("t.class(1).values().height()") == "150"
    assert "SHAP values of 3 classes" in kernel.fails("t.beeswarm();").error_text
    options = "shap_options().class(2).background(&iris.head(20)).max_evals(20)"
    kernel.ok(f'let g = GaussianNB::new().fit(&iris, "target"); let u = g.shap_with(&iris.head(5), {options});')
    assert kernel.value("(u.values().height(), u.scale())") == '(5, "probability")'


def test_importances_and_curves_take_options(kernel):
    kernel.ok(IRIS)
    kernel.ok('let two = iris.with_columns(x!(kind = if target == 1 { "b" } else { "a" })).drop("target"); let m = GaussianNB::new().fit(&two, "kind");')
    kernel.ok("m.permutation_importance(&two);")
    assert kernel.value('m.permutation_importance_by(&two, "roc_auc", 10).height()') == "4"
    options = 'n_repeats(3).scoring(["roc_auc", "accuracy"]).random_state(1)'
    assert kernel.value(f"m.permutation_importance_with(&two, {options}).columns()") == '["scorer", "feature", "importance_mean", "importance_std"]'
    assert kernel.value(f"m.permutation_importance_with(&two, {options}).height()") == "8"
    # The curve of the first class is that of the second one, mirrored.
    area = 'm.roc_curve_of(&two, "{}").value::<f64>(x!(fpr.sum() - tpr.sum()))'
    assert float(kernel.value(area.format("a"))) < 0 and float(kernel.value(area.format("b"))) < 0
    assert kernel.value('m.precision_recall_curve_of(&two, "a").columns()') == '["recall", "precision", "threshold"]'
    assert kernel.value('m.calibration_curve_of(&two, "a", 5).value::<f64>(x!(count.sum()))') == "150.0"
    assert "there is no class `c`" in kernel.fails('m.roc_curve_of(&two, "c")').error_text


def test_a_search_has_columns_for_each_scorer(kernel):
    kernel.ok(IRIS)
    kernel.ok(
        'let s = GridSearchCV::new(make_pipeline((StandardScaler::new(), LogisticRegression::new()))).param("logisticregression__C", [0.1, 1.0])'
        '.cv(5).scoring(["roc_auc_ovr", "accuracy"]).refit("accuracy").return_train_score(true).fit(&iris, "target");'
    )
    columns = kernel.value('s.results().columns().join(",")')
    for name in ["mean_test_roc_auc_ovr", "rank_test_accuracy", "split4_test_accuracy", "mean_train_accuracy", "param_logisticregression__C"]:
        assert name in columns
    assert kernel.value("s.best_score()") == kernel.value("s.results().value::<f64>(x!(mean_test_accuracy.max()))")
    kernel.ok('let c = LogisticRegression::new().param("C", 0.5).fit(&iris, "target");')
    # Without a name the first scorer decides.
    first = 'GridSearchCV::new(GaussianNB::new()).param("var_smoothing", [1e-9, 1e-3]).cv(2).scoring(["accuracy", "roc_auc_ovr"]).fit(&iris, "target")'
    assert "mean_test_roc_auc_ovr" in kernel.value(f"{first}.results().columns()")
    bad = 'GridSearchCV::new(KNeighborsClassifier::new()).param("n_neighbors", [3, 500]).cv(3).error_score("raise").fit(&iris, "target")'
    assert "`n_neighbors` is 500" in kernel.fails(bad).error_text


def test_early_stopping_on_folds(kernel):
    kernel.ok(DIABETES)
    kernel.ok("let x = XGBRegressor::new().n_estimators(60).max_depth(3).early_stopping_rounds(4);")
    ran = kernel.run('let f = cross_validate(&x, &diabetes, "target", KFold::new(3));')
    if ran.status != "ok":
        assert "XGBoost is not installed" in ran.error_text
        pytest.skip("no library of XGBoost")
    # XGBRegressor(...).fit(train, eval_set=[test]).best_iteration on KFold(3), xgboost-cpu 3.2.0.
    assert kernel.value('f.column::<f64>("best_iteration").to_vec()') == "[3.0, 6.0, 14.0]"
    kernel.ok('let g = cross_validate(&x, &diabetes, "target", cv(KFold::new(3)).scoring(x!(m = r2_score(target, prediction))));')
    kernel.ok('let p = cross_val_predict(&make_pipeline((StandardScaler::new(), x.clone())), &diabetes, "target", 3);')
    kernel.ok('let s = GridSearchCV::new(x).param("max_depth", [2, 3]).cv(3).fit(&diabetes, "target"); s.predict(&diabetes);')


SEARCH = """let s = GridSearchCV::new(RandomForestClassifier::new().n_estimators(5).random_state(1))
    .param("max_depth", 1..=400).cv(2).fit(&many, "target");"""


RANDOMIZED = """let s = RandomizedSearchCV::new(make_pipeline((StandardScaler::new(), RandomForestClassifier::new().n_estimators(5).random_state(1))))
    .param("randomforestclassifier__max_depth", 1..=400).n_iter(400).cv(2).fit(&many, "target");"""


@pytest.mark.parametrize("search", [SEARCH, RANDOMIZED])
def test_an_interrupted_search_gives_the_best_of_its_complete_trials(kernel, search):
    kernel.ok('let many = concat(&vec![read_csv("digits.csv"); 20]).persist();')
    message = kernel.client.execute(f"{search}\nlet after = 1;")
    until_shown(kernel, message, ">done<", "text/html")
    begun = time.monotonic()
    kernel.interrupt()
    ran = kernel.wait(message, begun)
    assert ran.status == "ok", ran.error_text
    assert "best of its complete trials" in ran.stderr and time.monotonic() - begun < 30
    states = kernel.value('s.results().select(x!(state)).unique().sort("state").column::<String>("state").to_vec()')
    assert "done" in states and "stopped" in states
    # The best of the complete trials, by the table of all trials.
    best = kernel.value('s.results().filter(x!(state == "done")).value::<f64>(x!(mean_test_score.max()))')
    assert kernel.value("s.best_score()") == best and kernel.value("after") == "1"
    assert kernel.value("s.predict(&many).height()") == "35940"


def test_an_interrupted_search_at_the_end_of_a_pipeline_keeps_its_best(kernel):
    kernel.ok('let many = concat(&vec![read_csv("digits.csv"); 20]).persist();')
    search = """let p = make_pipeline((StandardScaler::new(), GridSearchCV::new(RandomForestClassifier::new().n_estimators(5).random_state(1))
        .param("max_depth", 1..=400).cv(2))).fit(&many, "target");"""
    message = kernel.client.execute(f"{search}\nlet after = 1;")
    until_shown(kernel, message, ">done<", "text/html")
    begun = time.monotonic()
    kernel.interrupt()
    ran = kernel.wait(message, begun)
    assert ran.status == "ok", ran.error_text
    assert time.monotonic() - begun < 30 and kernel.value("after") == "1"
    assert kernel.value("p.predict(&many).height()") == "35940"
    assert '"stopped"' in kernel.value('p.attribute("results").select(x!(state)).unique().column::<String>("state").to_vec()')


def test_a_second_interrupt_ends_the_cell(kernel):
    kernel.ok('let many = concat(&vec![read_csv("digits.csv"); 20]).persist();')
    message = kernel.client.execute(f"{SEARCH}\nlet more = 1; loop {{}}")
    until_shown(kernel, message, ">done<", "text/html")
    begun = time.monotonic()
    kernel.interrupt()
    kernel.interrupt()
    ran = kernel.wait(message, begun)
    assert "all variables are as they were before it" in ran.error_text and time.monotonic() - begun < 30
    assert "more" not in str(kernel.ok(":vars").bundles)


def until_shown(kernel, message: str, word: str, mime: str = "text/plain"):
    """Waits until the progress of a cell has the word."""
    until, shown = time.monotonic() + PATIENCE, ""
    while word not in shown:
        assert time.monotonic() < until, f"no {word!r} in the progress; the last one: {shown}"
        received = kernel.client.get_iopub_msg(timeout=PATIENCE)
        if received["parent_header"].get("msg_id") == message and received["msg_type"].endswith("display_data"):
            shown = received["content"]["data"].get(mime, "")


def test_many_fits_leave_the_memory_where_it_was(kernel):
    kernel.ok(DIABETES)
    loop = 'for i in 1..=200 {{ let m = Ridge::new().alpha(f64::from(i) * {0}).fit(&diabetes, "target"); assert!(m.intercept() > 100.0); }}'
    kernel.ok(loop.format(0.01))
    pid = processes.engine()
    before = resident(pid)
    kernel.ok(loop.format(0.02))
    assert resident(pid) - before < 20 << 20


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_files_come_back_bit_for_bit(kernel, tmp_path):
    kernel.ok(IRIS)
    kernel.ok('let m = make_pipeline((StandardScaler::new(), LogisticRegression::new())).fit(&iris, "target");')
    kernel.ok(f'm.save("{tmp_path}/m.safetensors"); let again = load_model("{tmp_path}/m.safetensors");')
    same = "m.predict_proba(&iris).column::<f64>(\"proba_1\").to_vec() == again.predict_proba(&iris).column::<f64>(\"proba_1\").to_vec()"
    assert kernel.value(same) == "true"
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "m.safetensors").read_bytes()[:300])
    assert "not a model file" in kernel.fails(f'load_model("{tmp_path}/cut.safetensors")').error_text
    (tmp_path / "m.pkl").write_bytes(b"\x80\x04\x95")
    assert "can run code" in kernel.fails(f'load_model("{tmp_path}/m.pkl")').error_text


def test_splits_and_folds_have_the_rows_of_scikit_learn(kernel):
    kernel.ok("let f = frame! { i: (0..10).collect::<Vec<i64>>() };")
    # train_test_split(range(10), test_size=0.3, random_state=1): the test rows.
    assert kernel.value('train_test_split(&f, split(0.3).random_state(1)).1.column::<i64>("i").to_vec()') == "[2, 9, 6]"
    # KFold(5, shuffle=True, random_state=42), first fold.
    assert kernel.value('KFold::new(5).shuffle(true).random_state(42).split(&f, None)[0].1.column::<i64>("i").to_vec()') == "[1, 8]"


def test_the_card_is_html_and_one_line_of_text(kernel):
    kernel.ok(DIABETES)
    bundle = kernel.ok('Ridge::new().alpha(0.5).fit(&diabetes, "target")').bundles[-1]
    assert bundle["text/plain"].startswith("Ridge(alpha=0.5) on 442 x 10, r2 0.4")
    assert "alpha=<b>0.5</b>" in bundle["text/html"] and "<script" not in bundle["text/html"]
