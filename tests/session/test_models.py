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


SEARCH = """let s = GridSearchCV::new(RandomForestClassifier::new().n_estimators(5).random_state(1))
    .param("max_depth", 1..=400).cv(2).fit(&many, "target");"""


def test_an_interrupted_search_gives_the_best_of_its_complete_trials(kernel):
    kernel.ok('let many = concat(&vec![read_csv("digits.csv"); 20]).persist();')
    message = kernel.client.execute(f"{SEARCH}\nlet after = 1;")
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
