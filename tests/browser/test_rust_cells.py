"""`%%onrush` cells of a Python notebook in JupyterLab: tables, plots, progress, an error, an interrupt, a restart."""

import json
from pathlib import Path

import pytest

from lab import cells, open_notebook, set_last_cell

NAME = "rust-cells.ipynb"
PACKAGE = Path(__file__).resolve().parents[2] / "kernel/python"
OUTPUT = ".jp-Notebook .jp-Cell.jp-mod-active .jp-OutputArea"


@pytest.fixture(scope="module")
def package(onrush_bin):
    """JupyterLab, which is started after this, passes it on to the Python kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PACKAGE))
        patch.setenv("ONRUSH_PROGRAMS", str(onrush_bin.parent))
        yield


@pytest.fixture(scope="module")
def notebook(package, notebooks_copy, lab, page):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": [cell]}
    (notebooks_copy / NAME).write_text(json.dumps(content))
    open_notebook(page, lab, NAME)
    table = "{'carrier': ['AA', 'UA', 'DL'], 'delay': [10.5, 20.0, 4.0]}"
    run(page, f"%load_ext onrush\nimport polars as pl\ndf = pl.DataFrame({table})")
    return page


def idle(page):
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")


def start(page, code):
    set_last_cell(page, code)
    page.evaluate("window.held = window.jupyterapp.commands.execute('notebook:run-cell'); null")


def run(page, code) -> list[dict]:
    start(page, code)
    page.evaluate("window.held")
    idle(page)
    return cells(page)[-1]["outputs"]


def test_a_table_of_rust_is_drawn(notebook, outputs_dir):
    outputs = run(notebook, '%%onrush -i df -o late\nlet late = df.filter(x!(delay > 5)).sort(desc("delay"));\nlate')
    assert "text/html" in outputs[-1]["data"]
    text = notebook.locator(OUTPUT).inner_text()
    assert "UA" in text and "DL" not in text
    notebook.screenshot(path=outputs_dir / "rust-table.png")
    assert run(notebook, "late['carrier'].to_list()")[0]["data"]["text/plain"] == "['UA', 'AA']"


def test_a_plot_of_rust_is_drawn(notebook, outputs_dir):
    outputs = run(notebook, '%%onrush\ndf.plot().bar("carrier", "delay")')
    assert "image/svg+xml" in outputs[-1]["data"]
    drawn = notebook.wait_for_selector(f"{OUTPUT} svg, {OUTPUT} canvas, {OUTPUT} img")
    assert drawn.bounding_box()["width"] > 200
    notebook.screenshot(path=outputs_dir / "rust-plot.png")


def test_progress_is_one_line(notebook, outputs_dir):
    start(notebook, "%%onrush\nfor i in progress(0..60) { std::thread::sleep(std::time::Duration::from_millis(50)); }")
    notebook.wait_for_selector(f"{OUTPUT} :text('of 60')")
    notebook.screenshot(path=outputs_dir / "rust-progress.png")
    notebook.evaluate("window.held")
    idle(notebook)
    assert len(cells(notebook)[-1]["outputs"]) == 1


def test_an_error_is_that_of_rust(notebook, outputs_dir):
    outputs = run(notebook, '%%onrush\nlet a = 1;\nlet b: i32 = a + "x";')
    assert [output["output_type"] for output in outputs] == ["error"]
    # Drawn by the extension, in a shadow root.
    notebook.wait_for_selector(f"{OUTPUT} :text('cannot add')")
    notebook.wait_for_selector(f"{OUTPUT} :text('line 3')")
    assert notebook.locator(f"{OUTPUT} :text('Traceback')").count() == 0
    notebook.screenshot(path=outputs_dir / "rust-error.png")


def test_the_interrupt_button_ends_the_rust_cell(notebook, outputs_dir):
    run(notebook, "%%onrush\nlet kept = 5;")
    start(notebook, '%%onrush\nprintln!("begun");\nloop { std::thread::sleep(std::time::Duration::from_millis(20)); }')
    notebook.wait_for_selector(f"{OUTPUT} :text('begun')")
    notebook.evaluate("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    notebook.wait_for_selector(f"{OUTPUT} :text('nterrupted')")
    idle(notebook)
    notebook.screenshot(path=outputs_dir / "rust-interrupt.png")
    assert run(notebook, "%%onrush\nkept")[-1]["data"]["text/plain"].strip() == "5"


def test_a_query_is_shown(notebook, outputs_dir):
    run(notebook, "import onrush\nonrush.publish(df, 'delays')")
    outputs = run(notebook, "%%onsql\nselect carrier, delay from delays order by delay")
    assert "text/html" in outputs[0]["data"]
    notebook.wait_for_selector(f"{OUTPUT} td:text('DL')")
    notebook.screenshot(path=outputs_dir / "rust-query.png")


def test_a_restart_of_python_ends_the_rust_kernel(notebook):
    notebook.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    idle(notebook)
    run(notebook, "%load_ext onrush")
    run(notebook, "%%onrush\nkept")
    notebook.wait_for_selector(f"{OUTPUT} :text('cannot find value')")
    assert run(notebook, "%%onrush\n1 + 1")[-1]["data"]["text/plain"].strip() == "2"
