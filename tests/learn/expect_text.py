"""Writes `text.json`: results of scikit-learn for vectorizers and for estimators of sparse features.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_text.py`. The file has the documents, too.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import (
    compose,
    decomposition,
    feature_extraction,
    feature_selection,
    linear_model,
    model_selection,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
)

HERE = Path(__file__).parent
MODULES = [
    compose, decomposition, feature_extraction.text, feature_selection, linear_model, model_selection, naive_bayes,
    neighbors, pipeline, preprocessing,
]
NONE = ("norm", "strip_accents")

MIXED = [
    "The quick brown Fox jumps over the lazy dog. The dog sleeps!",
    "Crème brûlée, café au lait & naïve Ångström: ÀÉÎÕÜ ﬁne ² ½ Ⅷ",
    "中文 分词 需要 空格 中文",
    "東京タワー と 富士山 を見る 東京タワー",
    "emoji 😀😀 are 👍🏽 not words, but_underscores are 42 4 a I",
    "",
    "   \t\n  ",
    "हिन्दी भाषा में मात्राएँ हैं",
    "ΣΊΣΥΦΟΣ ὈΔΥΣΣΕΎΣ İstanbul STRASSE straße",
    "don't re-read e-mail: user@example.com, http://example.com/a?b=c  x\t\ty",
    "dog dog dog DOG Dog's fox; quick-quick",
    "Ünïcödé ñandú \u0130\u0131 ǆ Ⓐ a\u0301b e\u0301te\u0301 \u00a0nbsp\u2003em",
]


def corpus():
    """120 documents of three classes with two columns of numbers, by a seed."""
    random = np.random.default_rng(4)
    topics = [
        "ball team game goal player season score coach win league match field".split(),
        "stock market bank price share money trade rate profit invest loss fund".split(),
        "atom energy star planet physics light wave field theory quantum orbit data".split(),
    ]
    common = "the a of and to in is it that for on with as this was are be by an or".split()
    topic = np.arange(120) % 3
    random.shuffle(topic)
    text = []
    for t in topic:
        own = random.choice(topics[t], size=random.integers(2, 9))
        other = random.choice(topics[(t + 1) % 3], size=random.integers(0, 5))
        words = np.concatenate([own, other, random.choice(common, size=random.integers(3, 12))])
        random.shuffle(words)
        text.append(" ".join(words))
    title = [" ".join(random.choice(topics[t] + common[:4], size=3)) for t in topic]
    number = np.round(random.normal(size=120) + topic, 3)
    price = np.round(np.exp(random.normal(size=120)) * 10 * (1 + topic), 2)
    y = np.round(number + 0.5 * topic + random.normal(size=120), 3)
    return pd.DataFrame({"text": text, "title": title, "number": number, "price": price, "topic": topic, "y": y})


def spec(estimator, *parts, **params):
    return {"estimator": estimator, "params": params, "parts": list(parts)}


def steps(*specs):
    return spec("Pipeline", *[{"name": s["estimator"].lower(), "columns": [], "spec": s} for s in specs])


def part(name, columns, inner):
    return {"name": name, "columns": columns, "spec": inner}


def build(s):
    """The estimator of scikit-learn."""
    name = s["estimator"]
    if name == "passthrough":
        return name
    params = {k: None if k in NONE and v == "none" else v for k, v in s["params"].items()}
    if "ngram_range" in params:
        params["ngram_range"] = tuple(params["ngram_range"])
    if "score_func" in params:
        params["score_func"] = getattr(feature_selection, params["score_func"])
    of = next(getattr(m, name) for m in MODULES if hasattr(m, name))
    if name in ("Pipeline", "FeatureUnion"):
        return of([(p["name"], build(p["spec"])) for p in s["parts"]], **params)
    if name == "ColumnTransformer":
        text = lambda p: "ectorizer" in str(build(p["spec"]))
        return of([(p["name"], build(p["spec"]), p["columns"][0] if text(p) else p["columns"]) for p in s["parts"]], **params)
    if name == "GridSearchCV":
        grid = {k: [tuple(v) if isinstance(v, list) else v for v in values] for k, values in s["grid"].items()}
        return of(build(s["parts"][0]["spec"]), grid, **params)
    return of(**params)


def rounded(values, digits=13):
    return [float(f"{v:.{digits}g}") for v in np.asarray(values, dtype=float).ravel()]


def vectorizers(docs):
    out = []

    def case(name, **params):
        m = build(spec(name, **params))
        x = sp.csr_matrix(m.fit_transform(docs))
        x.sort_indices()
        row = {"spec": spec(name, **params), "indptr": x.indptr.tolist(), "indices": x.indices.tolist(), "data": rounded(x.data), "width": x.shape[1]}
        if hasattr(m, "vocabulary_"):
            row["vocabulary"] = m.get_feature_names_out().tolist()
        if hasattr(m, "idf_") and m.use_idf:
            row["idf"] = rounded(m.idf_)
        out.append(row)

    count, tfidf, hashing = "CountVectorizer", "TfidfVectorizer", "HashingVectorizer"
    case(count)
    case(count, lowercase=False)
    case(count, strip_accents="unicode")
    case(count, strip_accents="ascii", ngram_range=[1, 2])
    case(count, stop_words="english", ngram_range=[1, 3])
    case(count, stop_words=["dog", "the", "are"], binary=True, ngram_range=[2, 2])
    case(count, token_pattern=r"(?u)\b\w+\b")
    case(count, token_pattern=r"[\w'-]+")
    case(count, token_pattern=r"(\w+)-\w+")
    case(count, analyzer="char", ngram_range=[1, 2])
    case(count, analyzer="char", ngram_range=[3, 3], lowercase=False)
    case(count, analyzer="char_wb", ngram_range=[2, 4])
    case(count, analyzer="char_wb", ngram_range=[7, 8], strip_accents="unicode")
    case(count, min_df=2)
    case(count, max_df=1)
    case(count, min_df=0.15, max_df=0.9, analyzer="char")
    case(count, max_features=2)
    case(count, vocabulary=["fox", "absent", "dog", "quick-quick", "中文"])
    case(tfidf)
    case(tfidf, norm="l1", sublinear_tf=True)
    case(tfidf, norm="none", smooth_idf=False)
    case(tfidf, use_idf=False, binary=True, ngram_range=[1, 2])
    case(tfidf, analyzer="char_wb", ngram_range=[2, 3], min_df=2, sublinear_tf=True)
    case(tfidf, vocabulary=["dog", "never", "fox"])
    case(hashing, n_features=64)
    case(hashing, n_features=50, alternate_sign=False, norm="l1", ngram_range=[1, 2])
    case(hashing, n_features=8, norm="none")
    case(hashing, n_features=8, norm="none", binary=True)
    return out


TFIDF, COUNT = spec("TfidfVectorizer"), spec("CountVectorizer")
EXACT = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
LOGISTIC = spec("LogisticRegression", **EXACT)


def models(data):
    out = {}

    def case(name, s, x, y, folds=False, weight=None):
        m = build(s)
        m.fit(x, y) if weight is None else m.fit(x, y, **{f"{m.steps[-1][0]}__sample_weight": weight})
        row = {"spec": s}
        last = m.steps[-1][1]
        if hasattr(last, "coef_"):
            names = m[:-1].get_feature_names_out().tolist() if "hashing" not in name else None
            row["names"] = names
            row["coef"] = rounded(last.coef_) if names else None
            row["intercept"] = rounded(last.intercept_)
        if hasattr(m, "predict_proba"):
            row["proba"] = rounded(m.predict_proba(x))
        if hasattr(m, "predict"):
            row["predict"] = rounded(m.predict(x))
        if hasattr(last, "components_"):
            row["transform"] = rounded(m.transform(x))
            row["explained_variance"] = rounded(last.explained_variance_)
            row["explained_variance_ratio"] = rounded(last.explained_variance_ratio_)
            row["singular_values"] = rounded(last.singular_values_)
        if folds:
            cv = model_selection.StratifiedKFold(4, shuffle=False)
            row["folds"] = rounded(model_selection.cross_val_score(build(s), x, y, cv=cv))
        out[name] = row

    two = data[data.topic < 2].reset_index(drop=True)
    weight = np.arange(len(two)) % 5.0
    balanced = spec("LogisticRegression", C=3.0, class_weight="balanced", **EXACT)
    case("binary", steps(TFIDF, LOGISTIC), two.text, two.topic, folds=True)
    case("binary_balanced", steps(TFIDF, balanced), two.text, two.topic)
    case("binary_weighted", steps(TFIDF, LOGISTIC), two.text, two.topic, weight=weight)
    flat = spec("LogisticRegression", fit_intercept=False, C=50.0, **EXACT)
    case("binary_flat", steps(spec("TfidfVectorizer", ngram_range=[1, 2]), flat), two.text, two.topic)
    case("classes", steps(TFIDF, LOGISTIC), data.text, data.topic, folds=True)
    case("classes_counts", steps(COUNT, spec("TfidfTransformer", sublinear_tf=True), LOGISTIC), data.text, data.topic)
    newton = spec("LogisticRegression", solver="newton-cg", tol=1e-11, max_iter=1000)
    case("hashing", steps(spec("HashingVectorizer"), newton), data.text, data.topic)
    case("hashing_small", steps(spec("HashingVectorizer", n_features=256), LOGISTIC), data.text, data.topic)
    case("bayes", steps(COUNT, spec("MultinomialNB", alpha=0.3)), data.text, data.topic, folds=True)
    case("bayes_weighted", steps(TFIDF, spec("MultinomialNB")), two.text, two.topic, weight=weight)
    best = spec("SelectKBest", score_func="chi2", k=12)
    case("selected", steps(TFIDF, best, spec("MultinomialNB")), data.text, data.topic, folds=True)
    case("selected_linear", steps(COUNT, best, LOGISTIC), data.text, data.topic)
    ridge = {"solver": "sparse_cg", "tol": 1e-14, "max_iter": 10_000}
    case("ridge", steps(TFIDF, spec("Ridge", alpha=0.5, **ridge)), data.text, data.y)
    case("ridge_flat", steps(COUNT, spec("Ridge", alpha=2.0, fit_intercept=False, **ridge)), data.text, data.y)
    case("ridge_weighted", steps(COUNT, spec("Ridge", **ridge)), two.text, two.y, weight=weight)
    scaler = spec("StandardScaler", with_mean=False)
    case("scaled", steps(COUNT, scaler, LOGISTIC), data.text, data.topic)
    case("scaled_weighted", steps(COUNT, scaler, spec("Ridge", **ridge)), two.text, two.y)
    case("largest", steps(COUNT, spec("MaxAbsScaler"), spec("Normalizer", norm="l1"), LOGISTIC), data.text, data.topic)
    wide = spec("TfidfVectorizer", ngram_range=[1, 2])
    case("svd", steps(TFIDF, spec("TruncatedSVD", n_components=5, random_state=3)), data.text, None)
    case("svd_wide", steps(wide, spec("TruncatedSVD", n_components=4, n_iter=8, random_state=1)), data.text, None)
    case("neighbors", steps(TFIDF, spec("KNeighborsClassifier", n_neighbors=3)), data.text, data.topic)
    columns = spec(
        "ColumnTransformer",
        part("words", ["text"], TFIDF),
        part("numbers", ["number", "price"], spec("StandardScaler")),
        part("title", ["title"], steps(COUNT, spec("TfidfTransformer"))),
    )
    case("columns", steps(columns, LOGISTIC), data[["text", "title", "number", "price"]], data.topic, folds=True)
    union = spec(
        "FeatureUnion",
        part("words", [], TFIDF),
        part("characters", [], spec("CountVectorizer", analyzer="char_wb", ngram_range=[2, 2], max_features=30)),
    )
    case("union", steps(union, spec("MaxAbsScaler"), LOGISTIC), data.text, data.topic)
    return out


def search(data):
    s = spec("GridSearchCV", part("estimator", [], steps(TFIDF, LOGISTIC)))
    s["grid"] = {"logisticregression__C": [0.1, 10.0], "tfidfvectorizer__ngram_range": [[1, 1], [1, 2]]}
    m = build(s).fit(data.text, data.topic)
    return {
        "spec": s,
        "mean_test_score": rounded(m.cv_results_["mean_test_score"]),
        "params": [[p["logisticregression__C"], list(p["tfidfvectorizer__ngram_range"])] for p in m.cv_results_["params"]],
        "predict": m.predict(data.text).tolist(),
        "best": int(m.best_index_),
    }


def main():
    data = corpus()
    out = {
        "mixed": MIXED,
        "corpus": {name: data[name].tolist() for name in data.columns},
        "vectorizers": vectorizers(MIXED),
        "models": models(data),
        "search": search(data),
        "english": sorted(feature_extraction.text.ENGLISH_STOP_WORDS),
    }
    (HERE / "text.json").write_text(json.dumps(out, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
