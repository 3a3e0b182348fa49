"""`%%python` cells in JupyterLab: tables, figures, an error, an interrupt, a restart of the kernel."""

import os
import sys

import pytest

from lab import cells, open_notebook, set_last_cell, write_notebook

NAME = "python-cells.ipynb"
OUTPUT = ".jp-Notebook .jp-Cell.jp-mod-active .jp-OutputArea"


@pytest.fixture(scope="module")
def python():
    """JupyterLab, which is started after this, passes it on to kernels."""
    before = os.environ.get("ONRUSH_PYTHON")
    os.environ["ONRUSH_PYTHON"] = sys.executable
    yield
    if before is None:
        del os.environ["ONRUSH_PYTHON"]
    else:
        os.environ["ONRUSH_PYTHON"] = before


@pytest.fixture(scope="module")
def notebook(python, notebooks_copy, lab, page):
    write_notebook(notebooks_copy, NAME, ["1"])
    open_notebook(page, lab, NAME)
    run(page, 'let late = frame! { carrier: ["AA", "UA", "DL"], delay: [10.5, 20.0, 4.0] };')
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


def test_a_table_of_python_is_drawn(notebook, outputs_dir):
    pytest.importorskip("pandas")
    outputs = run(notebook, "%%python -i late -o worst --as pandas\nworst = late[late.delay > 5]\nworst")
    assert "text/html" in outputs[0]["data"]
    rows = notebook.locator(f"{OUTPUT} table.dataframe tbody tr:visible")
    assert rows.count() == 2 and "UA" in rows.nth(1).inner_text()
    # The frame in Rust, with Onrush's own table.
    run(notebook, "worst")
    notebook.locator(OUTPUT).get_by_text("UA").first.wait_for()
    notebook.screenshot(path=outputs_dir / "python-table.png")


def test_a_figure_is_drawn(notebook, outputs_dir):
    pytest.importorskip("matplotlib")
    code = "%%python\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(5, 2))\nax.bar(late.carrier, late.delay);"
    outputs = run(notebook, code)
    assert "image/png" in outputs[0]["data"]
    width = notebook.locator(f"{OUTPUT} img").evaluate("image => image.decode().then(() => image.naturalWidth)")
    assert width > 200
    notebook.screenshot(path=outputs_dir / "python-figure.png")


def test_an_error_shows_its_line(notebook, outputs_dir):
    run(notebook, "%%python\nminutes = {'hour': 60}\nminutes['day']")
    text = notebook.locator(OUTPUT).inner_text()
    assert "KeyError" in text and "line 3" in text and "minutes['day']" in text, text
    notebook.screenshot(path=outputs_dir / "python-error.png")


def test_the_interrupt_button_ends_the_cell(notebook, outputs_dir):
    start(notebook, "%%python\nprint('begun', flush=True)\nwhile True: pass")
    notebook.wait_for_selector(f"{OUTPUT} :text('begun')")
    notebook.evaluate("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    notebook.wait_for_selector(f"{OUTPUT} :text('KeyboardInterrupt')")
    idle(notebook)
    notebook.screenshot(path=outputs_dir / "python-interrupt.png")
    outputs = run(notebook, "%%python\nminutes")
    assert outputs[0]["data"]["text/plain"] == "{'hour': 60}"


def test_a_question_is_asked_below_the_cell(notebook, outputs_dir):
    start(notebook, "%%python\nname = input('name? ')\nname")
    box = notebook.wait_for_selector(f"{OUTPUT} input")
    notebook.screenshot(path=outputs_dir / "python-input.png")
    box.fill("ada")
    box.press("Enter")
    idle(notebook)
    assert cells(notebook)[-1]["outputs"][-1]["data"]["text/plain"] == "'ada'"


def test_a_restart_forgets_and_python_runs_again(notebook, outputs_dir):
    notebook.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    idle(notebook)
    run(notebook, "%%python\nminutes")
    assert "NameError" in notebook.locator(OUTPUT).inner_text()
    outputs = run(notebook, "%%python\nminutes = 1\nminutes")
    assert outputs[0]["data"]["text/plain"] == "1"
    notebook.screenshot(path=outputs_dir / "python-restart.png")
