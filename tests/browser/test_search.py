"""A search in JupyterLab: its trials appear in a live table, and its button keeps the best so far."""

import json

import pytest

from lab import cells, open_notebook, run_last, set_last_cell

TABLE = ".jp-Notebook .jp-Cell.jp-mod-active .onrush-progress-table"
BUTTON = ".jp-Notebook .jp-Cell.jp-mod-active .onrush-progress-line button:visible"
# Minutes of work, unless somebody stops it.
SEARCH = (
    'let digits = read_csv("data/digits.csv");\n'
    "let search = RandomizedSearchCV::new(HistGradientBoostingClassifier::new().max_iter(10).max_leaf_nodes(8))\n"
    '    .param("learning_rate", log_uniform(0.01, 0.3)).param("l2_regularization", uniform(0.0, 1.0))\n'
    '    .n_iter(400).cv(3).fit(&digits, "digit");'
)


@pytest.fixture(scope="module")
def notebook(notebooks_copy, page, lab) -> str:
    name = "search.ipynb"
    spec = {"kernelspec": {"name": "onrush", "display_name": "Rust", "language": "rust"}}
    cell = {"cell_type": "code", "id": "first", "metadata": {}, "execution_count": None, "outputs": [], "source": "1"}
    (notebooks_copy / name).write_text(json.dumps({"cells": [cell], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))
    open_notebook(page, lab, name)
    return name


def test_trials_are_live_and_the_button_keeps_the_best(page, notebook, outputs_dir):
    set_last_cell(page, SEARCH)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell'); null")
    page.wait_for_selector(f"{TABLE}:visible", timeout=90_000)
    # Some trials have a score.
    page.wait_for_function(
        "[...document.querySelectorAll('.jp-mod-active .onrush-progress-table td:nth-child(2)')].filter(c => c.textContent).length > 2"
    )
    page.screenshot(path=outputs_dir / "search-live.png")
    head = page.locator(f"{TABLE} th").all_inner_texts()
    assert head[:4] == ["trial", "mean", "std", "folds"] and "learning_rate" in head, head
    page.click(BUTTON)
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    outputs = cells(page)[-1]["outputs"]
    assert not any(o["output_type"] == "error" for o in outputs), outputs
    set_last_cell(page, 'println!("{}", search.results().filter(x!(state == \"done\")).height() < 400);\nsearch')
    outputs = run_last(page)["outputs"]
    page.screenshot(path=outputs_dir / "search-card.png")
    assert "true" in outputs[0]["text"], outputs
    assert outputs[1]["data"]["text/plain"].startswith("RandomizedSearchCV of HistGradientBoostingClassifier"), outputs
