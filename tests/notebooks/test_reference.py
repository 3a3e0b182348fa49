"""The reference of functions (`docs/reference`): every example of frames and expressions runs, and the names of pandas and
Polars exist. The examples of SQL run in `runtime/plan-tests/tests/plan/reference.rs`."""

import subprocess
from pathlib import Path

import nbformat
import pandas as pd
import polars as pl
import polars.selectors
import pytest
from numpy import __dict__ as numpy_names
from pandas.core.groupby import DataFrameGroupBy
from polars.dataframe.group_by import GroupBy

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "kernel/cell/data/reference"
PATIENCE = 600
# Examples of one cell: rustc is called once for each.
TOGETHER = 12


def rows(name: str):
    """`name | pandas | Polars | SQL | example` as lists."""
    lines = [line for line in (LISTS / name).read_text().splitlines() if line and line[0] not in "#[~:"]
    return [[field.replace("-", "", 1) if field == "-" else field for field in line.split(" | ", 4)] for line in lines]


def statement(name: str, example: str) -> str:
    is_whole = name == "frames.txt" or example.startswith("f.")
    return example if is_whole else f"f.select(x!({example}))"


def cells():
    """The frames as the page shows them, then the examples: files are written before they are read."""
    page = (ROOT / "docs/reference/frames.md").read_text()
    yield page.split("```rust\n")[1].split("```")[0]
    for name in ["frames.txt", "expressions.txt"]:
        examples = [statement(name, row[4]) for row in rows(name) if row[4]]
        for at in range(0, len(examples), TOGETHER):
            yield "\n".join(f"show!({example});" for example in examples[at : at + TOGETHER])


def test_examples_run(onrush_bin, tmp_path):
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "onrush", "display_name": "Rust (Onrush)", "language": "rust"}},
        cells=[nbformat.v4.new_code_cell(source) for source in cells()],
    )
    nbformat.write(notebook, tmp_path / "examples.ipynb")
    command = [onrush_bin, "run", "--allow-errors", "examples.ipynb", "-o", "out.ipynb"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    executed = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    for cell in executed.cells:
        errors = [output for output in cell.outputs if output.output_type == "error"]
        assert not errors, "\n".join(errors[0].traceback)
        shown = [output for output in cell.outputs if output.output_type == "display_data"]
        # Publishing has no value to show.
        assert len(shown) == cell.source.count("show!(") - cell.source.count("publish(")
    assert run.returncode == 0, run.stderr


EXPRESSION = pl.col("a")
PANDAS = {"pd": pd, "DataFrame": pd.DataFrame, "Series": pd.Series, "DataFrameGroupBy": DataFrameGroupBy, "Categorical": pd.Categorical}
POLARS = {"pl": pl, "selectors": polars.selectors, "DataFrame": pl.DataFrame, "Series": pl.Series, "LazyFrame": pl.LazyFrame,
          "Expr": EXPRESSION, "GroupBy": GroupBy}


def exists(name: str, roots: dict, default) -> bool:
    """`DataFrame.groupby`, `str.contains` of the default type, `np.sqrt`."""
    first, *rest = name.split(".")
    if first == "np":
        return rest[0] in numpy_names
    found, parts = (roots[first], rest) if first in roots and rest else (default, [first, *rest])
    for part in parts:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize(("file", "of_pandas", "of_polars"), [
    ("frames.txt", pd.DataFrame, pl.DataFrame), ("expressions.txt", pd.Series, EXPRESSION),
])
def test_names_of_other_libraries_exist(file, of_pandas, of_polars):
    names = [(row[0], of.split(", "), roots, default) for row in rows(file)
             for of, roots, default in [(row[1], PANDAS, of_pandas), (row[2], POLARS, of_polars)] if of]
    assert len(names) > 200
    missing = [(entry, name) for entry, all_of, roots, default in names for name in all_of if not exists(name, roots, default)]
    assert not missing
