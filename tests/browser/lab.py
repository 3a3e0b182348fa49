"""What tests do in JupyterLab, through the page's own application."""

import json


def write_notebook(folder, name: str, sources: list[str]) -> str:
    """Writes a notebook of code cells that have not run, and returns its name."""
    cell = lambda i, source: {
        "cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": source, "outputs": [], "execution_count": None,
    }  # fmt: skip
    kernelspec = {"name": "onrush", "display_name": "Rust (Onrush)", "language": "rust"}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": [cell(i, c) for i, c in enumerate(sources)]}
    (folder / name).write_text(json.dumps(content))
    return name


def open_notebook(page, lab, name: str):
    address, token = lab
    page.goto(f"{address}/lab/tree/{name}?reset&token={token}")
    wait_for_kernel(page, name)


def open_in_notebook_7(page, lab, name: str):
    address, token = lab
    page.goto(f"{address}/notebooks/{name}?token={token}")
    wait_for_kernel(page, name)


def wait_for_kernel(page, name: str):
    """Until the notebook is open and its kernel idle: what is run before is run by nobody."""
    page.wait_for_function(
        "name => window.jupyterapp?.shell.currentWidget?.context?.path === name"
        " && window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'",
        arg=name,
    )


def cells(page) -> list[dict]:
    return page.evaluate(
        "[...window.jupyterapp.shell.currentWidget.content.model.cells].filter(c => c.type === 'code').map(c => c.toJSON())"
    )


def set_last_cell(page, code: str) -> None:
    page.evaluate(
        """async code => {
            const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
            notebook.activeCellIndex = notebook.widgets.length - 1;
            await app.commands.execute('notebook:insert-cell-below');
            notebook.activeCell.model.sharedModel.setSource(code);
            // JupyterLab draws only cells in view, and makes their editors when it has time.
            await notebook.scrollToItem(notebook.activeCellIndex);
            await notebook.activeCell.ready;
        }""",
        code,
    )
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.activeCell.editor")


def run_last(page) -> dict:
    page.evaluate("window.held = window.jupyterapp.commands.execute('notebook:run-cell')")
    return cells(page)[-1]
