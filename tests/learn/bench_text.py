"""Seconds of scikit-learn on the documents of `runtime/learn/examples/bench_text.rs`.

`cargo run --release -p onrush-learn --example bench_text -- write documents.txt`, then
`python tests/learn/bench_text.py documents.txt`.
"""

import sys
import time
from pathlib import Path

from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

LINES = [line.split(" ", 1) for line in Path(sys.argv[1]).read_text().split("\n")]
TEXTS, Y = [text for _, text in LINES], [int(c) for c, _ in LINES]

for name, estimator in [
    ("vectorizer", TfidfVectorizer()),
    ("words", make_pipeline(TfidfVectorizer(), LogisticRegression())),
    ("pairs", make_pipeline(TfidfVectorizer(ngram_range=(1, 2), min_df=2), LogisticRegression())),
    ("hashing", make_pipeline(HashingVectorizer(), LogisticRegression())),
]:
    start = time.perf_counter()
    estimator.fit(TEXTS, Y)
    fit = time.perf_counter() - start
    start = time.perf_counter()
    if name != "vectorizer":
        estimator.predict(TEXTS)
    print(f"{name} {fit:.3f} predict {time.perf_counter() - start:.3f}")
