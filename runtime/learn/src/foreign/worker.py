"""Trains models of LightGBM and CatBoost in a process that Onrush starts: these libraries can end their process.

A request on standard input is the length of its head (8 bytes, little endian), the head (JSON), then for each set of
rows its blocks of doubles: the features column after column, the target, the weights if it has some, the sizes of
groups if it has some. The head has `library`, `kind` (`classifier`, `regressor` or `ranker`), `params`, `rounds`,
`importance`, `names`, `levels` (for each feature its categories, or null) and `sets`: the training rows first, each
with `rows`, `weight` and `groups` (0 if there are none).

An answer is lines of fields between tabs: `warning TEXT`, `names SET METRIC SET METRIC ..`, `round NUMBER VALUE ..`,
`best SET METRIC VALUE`, `importances VALUE ..`. The last one is `error KIND TEXT`, or
`model BEST BYTES` with that many bytes after it. BEST is the number of rounds that predict, or 0.
"""

import json
import os
import select
import sys
import tempfile
import threading

IDLE_SECONDS = 120


class Answers:
    def __init__(self):
        self.file = os.fdopen(os.dup(1), "wb")
        # The libraries print on standard output.
        os.dup2(2, 1)
        self.warnings = set()

    def say(self, *fields):
        clean = (str(f).replace("\\", "/").replace("\t", " ").replace("\r", " ").replace("\n", " ") for f in fields)
        self.file.write(("\t".join(clean) + "\n").encode("utf-8", "replace"))
        self.file.flush()

    def warn(self, text):
        text = text.strip().removeprefix("[LightGBM] [Warning] ")
        # Said of most trainings of few rows.
        if text.startswith("No further splits with positive gain"):
            return
        if text and text not in self.warnings and len(self.warnings) < 20:
            self.warnings.add(text)
            self.say("warning", text)

    def numbers(self, *fields, values):
        self.say(*fields, *(repr(float(v)) for v in values))

    def model(self, best, data):
        self.say("model", best, len(data))
        self.file.write(data)
        self.file.flush()


class Failed(Exception):
    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def fill(file, array):
    view = memoryview(array).cast("B")
    while len(view):
        count = file.readinto(view)
        if not count:
            sys.exit(0)
        view = view[count:]


def rows_of(np, file, head, described):
    """The features as columns in one block, the target, the weights and the sizes of groups."""
    rows = described["rows"]
    features = np.empty((len(head["names"]), rows))
    target = np.empty(rows)
    weight = np.empty(rows) if described["weight"] else None
    groups = np.empty(described["groups"]) if described["groups"] else None
    for array in (features, target, weight, groups):
        if array is not None and array.size:
            fill(file, array.reshape(-1))
    return features.T, target, weight, None if groups is None else groups.astype("int32")


def with_lightgbm(head, sets, answers):
    import lightgbm

    if int(lightgbm.__version__.split(".")[0]) < 4:
        raise Failed("version", lightgbm.__version__)

    class Log:
        def info(self, text):
            if text.startswith("[LightGBM] [Warning]"):
                answers.warn(text)

        def warning(self, text):
            answers.warn(text)

    lightgbm.register_logger(Log())
    params = head["params"]
    categories = [at for at, levels in enumerate(head["levels"]) if levels is not None]
    data = []
    for features, target, weight, groups in sets:
        data.append(lightgbm.Dataset(
            features, label=target, weight=weight, group=groups, feature_name=head["names"],
            categorical_feature=categories, params=params, reference=data[0] if data else None,
        ))
    data[0].construct()
    unknown = [text for text in answers.warnings if text.startswith("Unknown parameter")]
    if unknown:
        raise Failed("parameter", unknown[0].split(":")[-1].strip())
    done = 0

    def after(env):
        nonlocal done
        found = env.evaluation_result_list
        if done == 0 and found:
            answers.say("names", *(text for one in found for text in one[:2]))
        answers.numbers("round", done, values=[one[2] for one in found])
        done += 1

    after.order = 15
    booster = lightgbm.train(
        params, data[0], head["rounds"], valid_sets=data[1:],
        valid_names=[f"valid_{at}" for at in range(len(data) - 1)], callbacks=[after],
    )
    best = max(booster.best_iteration, 0) if "early_stopping_round" in params else 0
    for name, scores in booster.best_score.items():
        for metric, value in scores.items():
            answers.numbers("best", name, metric, values=[value])
    answers.numbers("importances", values=booster.feature_importance(head["importance"]))
    answers.model(best, booster.model_to_string().encode())


def with_catboost(head, sets, answers):
    import catboost
    import pandas

    categories = [at for at, levels in enumerate(head["levels"]) if levels is not None]

    def pool(features, target, weight, _):
        columns = {}
        for at, levels in enumerate(head["levels"]):
            column = features[:, at]
            if levels is None:
                columns[at] = column
            else:
                # The last one is for missing values.
                names = pandas.Series([*levels, "nan"], dtype=object)
                missing = column != column
                codes = column.copy()
                codes[missing] = len(levels)
                columns[at] = names.to_numpy()[codes.astype("int64")]
        frame = pandas.DataFrame(columns)
        frame.columns = head["names"]
        if head["kind"] == "classifier":
            target = target.astype("int64")
        return catboost.Pool(frame, target, weight=weight, cat_features=categories)

    class After:
        def __init__(self):
            self.done = 0

        def after_iteration(self, info):
            found = [(name, metric, values[-1]) for name, scores in info.metrics.items() if name != "learn"
                     for metric, values in scores.items() if values]
            if self.done == 0 and found:
                answers.say("names", *(text for one in found for text in one[:2]))
            answers.numbers("round", self.done, values=[one[2] for one in found])
            self.done += 1
            return True

    pools = [pool(*rows) for rows in sets]
    after = After()
    make = catboost.CatBoostClassifier if head["kind"] == "classifier" else catboost.CatBoostRegressor
    model = make(**head["params"], logging_level="Silent", allow_writing_files=False)
    model.fit(pools[0], eval_set=pools[1:] or None, callbacks=[after])
    for name, scores in model.get_best_score().items():
        for metric, value in scores.items():
            answers.numbers("best", name, metric, values=[value])
    best = model.get_best_iteration() if pools[1:] else None
    answers.numbers("importances", values=model.get_feature_importance())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json", pool=pools[0])
        with open(path, "rb") as file:
            data = file.read()
    answers.model(0 if best is None else best + 1, data)


def watch():
    """Ends this process with the one that started it, also inside of a training."""
    poll = select.poll()
    poll.register(0, 0)
    poll.poll()
    os._exit(1)


def answer(head, file, answers):
    library = head["library"]
    try:
        import numpy as np

        if library == "lightgbm":
            import lightgbm  # noqa: F401
        else:
            import catboost  # noqa: F401
    except ModuleNotFoundError as error:
        kind = "missing" if error.name == library else "broken"
        raise Failed(kind, f"{error}") from error
    except Exception as error:
        raise Failed("broken", f"{error}") from error
    sets = [rows_of(np, file, head, described) for described in head["sets"]]
    (with_lightgbm if library == "lightgbm" else with_catboost)(head, sets, answers)


def main():
    # The folder in which this runs is not a place of packages.
    sys.path = [path for path in sys.path if path]
    answers = Answers()
    file = os.fdopen(0, "rb", buffering=1 << 20, closefd=False)
    threading.Thread(target=watch, daemon=True).start()
    while True:
        if not select.select([0], [], [], IDLE_SECONDS)[0]:
            return
        size = file.read(8)
        if len(size) < 8:
            return
        head = json.loads(file.read(int.from_bytes(size, "little")))
        answers.warnings.clear()
        try:
            answer(head, file, answers)
        except Failed as error:
            answers.say("error", error.kind, error)
            return
        except BaseException as error:
            text = str(error) or type(error).__name__
            answers.say("error", "library", text)
            return


main()
