"""The notebooks of `docs/kaggle.md` and `docs/colab.md`, run by ipykernel as on the machines that they are for."""

import shutil
import tempfile
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300


@pytest.fixture
def execute(onrush_bin, tmp_path, monkeypatch):
    """Runs a guide's notebook without its cells that install packages."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "kernel/python"))
    monkeypatch.setenv("ONRUSH_PROGRAMS", str(onrush_bin.parent))
    # Sockets of this test alone: the names that a notebook publishes stay.
    sockets = tempfile.mkdtemp(prefix="onrush-g")
    monkeypatch.setenv("ONRUSH_RUNTIME_DIR", sockets)
    folder = tmp_path / "docs"
    folder.mkdir()

    def run(name: str):
        notebook = nbformat.read(ROOT / "docs" / name, as_version=4)
        nbformat.validate(notebook)
        notebook.cells = [cell for cell in notebook.cells if "install" not in cell.metadata.get("tags", [])]
        client = nbclient.NotebookClient(
            notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )
        client.execute()
        return notebook, folder

    yield run
    shutil.rmtree(sockets, ignore_errors=True)


def shown(notebook, cell_id: str) -> dict:
    [cell] = [cell for cell in notebook.cells if cell.id == cell_id]
    return [o.data for o in cell.outputs if o.output_type in ("execute_result", "display_data")][-1]


def test_kaggle(execute, tmp_path):
    data = tmp_path / "notebooks/data"
    data.mkdir(parents=True)
    shutil.copy(ROOT / "notebooks/data/titanic.csv", data)
    notebook, folder = execute("kaggle.ipynb")
    assert "757" in shown(notebook, "k-4")["text/plain"] and "text/html" in shown(notebook, "k-4")
    assert "image/svg+xml" in shown(notebook, "k-6") or "image/png" in shown(notebook, "k-6")
    # pandas: of 144 women in the first class, 139 survived.
    assert "144" in shown(notebook, "k-9")["text/plain"] and "0.965278" in shown(notebook, "k-9")["text/plain"]
    scores = [float(line.split()[-1]) for line in shown(notebook, "k-12")["text/plain"].splitlines()[1:]]
    assert len(scores) == 2 and min(scores) > 0.7
    assert len((folder / "submission.csv").read_text().splitlines()) == 1310


def test_colab(execute, tmp_path):
    """A file of the shape of Colab's: the values are made up."""
    sample = tmp_path / "docs/sample_data"
    random = np.random.default_rng(0)
    n = 2000
    income = random.gamma(4, 1, n)
    houses = pl.DataFrame(
        {
            "longitude": random.uniform(-124, -114, n),
            "latitude": random.uniform(32.5, 42, n),
            "housing_median_age": random.integers(1, 53, n).astype(float),
            "total_rooms": random.integers(100, 9000, n).astype(float),
            "median_income": income,
            "median_house_value": 50_000 + 40_000 * income,
        }
    )
    sample.mkdir()
    houses.write_csv(sample / "california_housing_train.csv")
    notebook, _ = execute("colab.ipynb")
    assert "median_income" in shown(notebook, "c-3")["text/plain"]
    assert "image/png" in shown(notebook, "c-6") and "image/svg+xml" in shown(notebook, "c-7")
    rich = houses.filter(pl.col("median_income") > 5)
    assert str(rich.height) in shown(notebook, "c-14")["text/plain"]
    mean = float(shown(notebook, "c-15")["text/plain"].removeprefix("np.float64(").removesuffix(")"))
    assert mean == pytest.approx(income.mean())
