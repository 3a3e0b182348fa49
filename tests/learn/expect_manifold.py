"""Writes `manifold.json`: results of scikit-learn for embeddings.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_manifold.py`. The data sets are those of `datasets.py`.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.manifold import TSNE, trustworthiness

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1])


def tsne():
    """The divergence depends on the rounding of each step: the tests take it as a bound."""
    out = {}

    def case(name, x, **params):
        m = TSNE(**{"random_state": 0, **params})
        z = m.fit_transform(x)
        out[name] = {
            "kl_divergence": float(m.kl_divergence_),
            "n_iter": int(m.n_iter_),
            "trustworthiness": float(trustworthiness(x, z, n_neighbors=12)),
        }

    iris, wine, digits = load("iris"), load("wine"), load("digits")
    case("iris", iris)
    case("iris_exact", iris, method="exact", perplexity=15)
    case("iris_exact_3", iris, method="exact", n_components=3)
    case("wine_manhattan", wine, metric="manhattan", perplexity=20, learning_rate=100)
    case("digits", digits)
    case("digits_random", digits[:700], init="random", max_iter=500, perplexity=20)
    case("digits_3", digits[:800], n_components=3, max_iter=400)
    case("digits_cosine", digits[:600], metric="cosine", early_exaggeration=20)
    return out


def main() -> None:
    results = {"tsne": tsne()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "manifold.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
