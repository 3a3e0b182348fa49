"""A line of progress in JupyterLab, and its button: a query of the session and a loop of the cell are stopped by it."""

import json

import pytest

from lab import cells, open_notebook, run_last, set_last_cell

LINE = ".jp-Notebook .jp-Cell.jp-mod-active .onrush-progress-line"
# Rows of one group, each with each.
QUERY = (
    'let f = frame! { a: (0..60_000i64).collect::<Vec<_>>(), k: vec![1i64; 60_000] };\n'
    'f.inner_join(&f, "k").group_by("a").agg(x!(s = a_right.sum())).len()'
)


@pytest.fixture(scope="module")
def notebook(notebooks_copy, page, lab) -> str:
    name = "progress.ipynb"
    spec = {"kernelspec": {"name": "onrush", "display_name": "Rust", "language": "rust"}}
    cell = {"cell_type": "code", "id": "first", "metadata": {}, "execution_count": None, "outputs": [], "source": "1"}
    (notebooks_copy / name).write_text(json.dumps({"cells": [cell], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))
    open_notebook(page, lab, name)
    return name


def stop_it(page, folder, code: str, name: str) -> list[dict]:
    set_last_cell(page, code)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell'); null")
    page.wait_for_selector(f"{LINE} button:visible")
    page.screenshot(path=folder / f"progress-{name}.png")
    page.click(f"{LINE} button")
    page.wait_for_function(
        "[...window.jupyterapp.shell.currentWidget.content.model.cells].at(-1).toJSON().outputs.some(o => o.output_type === 'error')"
    )
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    page.screenshot(path=folder / f"progress-{name}-stopped.png")
    return cells(page)[-1]["outputs"]


@pytest.mark.parametrize("name", ["loop", "query"])
def test_the_button_stops_it(page, notebook, outputs_dir, name):
    loop = 'for a in progress(0..1000).label("files") { for b in progress(0..20) { std::thread::sleep(std::time::Duration::from_millis(100)); } }'
    outputs = stop_it(page, outputs_dir, loop if name == "loop" else QUERY, name)
    line = next(o for o in outputs if o.get("metadata", {}).get("onrush", {}).get("progress"))
    assert "stopped" in line["data"]["text/plain"], outputs
    assert page.locator(f"{LINE} button:visible").count() == 0
    set_last_cell(page, "1 + 1")
    assert run_last(page)["outputs"][0]["data"]["text/plain"] == "2"
