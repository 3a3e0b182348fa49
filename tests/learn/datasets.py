"""Writes the data sets of scikit-learn that the expectations use to `data/`, as CSV files with all digits.

Run in an environment with scikit-learn 1.9: `python tests/learn/datasets.py`. The sets are part of scikit-learn (BSD-3-Clause).
"""

from pathlib import Path

from sklearn import datasets

HERE = Path(__file__).parent / "data"


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name in ["iris", "wine", "diabetes", "breast_cancer", "digits"]:
        extra = {"scaled": True} if name == "diabetes" else {}
        bunch = getattr(datasets, f"load_{name}")(**extra)
        names = [str(n).replace(" (cm)", "").replace(" ", "_").replace("/", "_") for n in bunch.feature_names]
        lines = [",".join([*names, "target"])]
        for row, target in zip(bunch.data, bunch.target, strict=True):
            lines.append(",".join(repr(float(v)).removesuffix(".0") for v in [*row, target]))
        (HERE / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
