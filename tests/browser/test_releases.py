"""What outputs hold in the kernel and in the session is given back when they are gone for good, and only then."""

import json
import re

import pytest

from lab import cells, open_in_notebook_7, open_notebook

CELLS = [
    'sql("select n * 3 as three from range(1000) as t(n)").persist()',
    'sql("select n * 5 as five from range(1000) as t(n)").persist()',
    """{
    let step = slider(1..9).initial(4);
    let frame = sql("select n * 7 as seven from range(1000) as t(n)").persist();
    step.on_change(move |by| println!("{} {by}", frame.height()));
    step
}""",
    "let a = 1;",
]


@pytest.fixture
def notebook(notebooks_copy, request) -> str:
    name = f"held-{request.node.name[5:12]}.ipynb"
    cell = lambda i, source: {
        "cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": source, "outputs": [], "execution_count": None,
    }  # fmt: skip
    kernelspec = {"name": "onrush", "display_name": "Rust (Onrush)", "language": "rust"}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": [cell(i, c) for i, c in enumerate(CELLS)]}
    (notebooks_copy / name).write_text(json.dumps(content))
    return name


def run_all(page):
    assert page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")


class Ledger:
    """What the session holds for a notebook, as another one sees it."""

    def __init__(self, kernel, page, notebook: str):
        self.kernel, self.page, self.row = kernel, page, re.compile(rf"^{re.escape(notebook.removesuffix('.ipynb'))} +(\d+) ", re.MULTILINE)

    def frames(self) -> int:
        text = self.kernel.ok(":top").stdout
        found = self.row.search(text)
        return int(found[1]) if found else 0

    def wait(self, wanted: int):
        for _ in range(200):
            if self.frames() == wanted:
                return
            self.page.wait_for_timeout(150)
        assert self.frames() == wanted


def wait_live(page, tables: int):
    page.wait_for_function(
        """wanted => [...document.querySelectorAll('.onrush-output')].filter(
            output => output.shadowRoot?.querySelector('.root.live')).length === wanted""",
        arg=tables,
    )


def test_cleared_outputs_and_closed_notebooks_hold_nothing(page, lab, notebook, kernel):
    ledger = Ledger(kernel, page, notebook)
    open_notebook(page, lab, notebook)
    run_all(page)
    wait_live(page, 2)
    page.locator(".jp-OutputArea-output .widget-slider").wait_for()
    assert ledger.frames() == 3

    # Drawn anew, they are still there: a cell that moves, and a tab that is in the background.
    page.evaluate(
        """async () => {
            const { commands, shell } = window.jupyterapp;
            shell.currentWidget.content.activeCellIndex = 1;
            await commands.execute('notebook:move-cell-up');
            await commands.execute('launcher:create');
        }"""
    )
    page.wait_for_timeout(2000)
    page.evaluate(
        """name => {
            const { shell } = window.jupyterapp;
            shell.activateById([...shell.widgets('main')].find(one => one.context?.path === name).id);
        }""",
        notebook,
    )
    wait_live(page, 2)
    assert ledger.frames() == 3

    # A cell that runs again replaces what it held.
    page.evaluate(
        """async () => {
            window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0;
            await window.jupyterapp.commands.execute('notebook:run-cell');
        }"""
    )
    wait_live(page, 2)
    page.wait_for_timeout(1500)
    ledger.wait(3)

    page.evaluate("window.jupyterapp.commands.execute('notebook:clear-cell-output')")
    ledger.wait(2)
    # Also while a cell runs, and what a control's closure holds when the cell is over.
    page.evaluate(
        """() => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = 3;
            notebook.activeCell.model.sharedModel.setSource('std::thread::sleep(std::time::Duration::from_secs(4));');
            window.held = window.jupyterapp.commands.execute('notebook:run-cell');
        }"""
    )
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'")
    page.evaluate(
        """async () => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            for (const index of [1, 2]) {
                notebook.activeCellIndex = index;
                await window.jupyterapp.commands.execute('notebook:clear-cell-output');
            }
        }"""
    )
    ledger.wait(1)
    ledger.wait(0)

    # Closed, with a kernel that goes on.
    run_all(page)
    wait_live(page, 2)
    ledger.wait(3)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.evaluate("window.jupyterapp.shell.currentWidget.close()")
    ledger.wait(0)
    # Opened again, it has its rows, and says how to get the others.
    open_notebook(page, lab, notebook)
    assert [cell["execution_count"] for cell in cells(page)].count(None) == 0
    table = page.locator(".onrush-output .foot").first
    table.wait_for()
    print(table.inner_text())


def test_a_closed_page_of_notebook_7_is_told_to_the_kernel(page, lab, notebook, kernel):
    """What the kernel does then is in `tests/jupyter/test_tables.py`."""
    address, token = lab
    page.goto(f"{address}/lab?reset&token={token}")
    page.wait_for_function("window.jupyterapp?.serviceManager.isReady")
    pages = lambda: page.evaluate(
        """async notebook => {
            const { sessions, kernels } = window.jupyterapp.serviceManager;
            await sessions.refreshRunning();
            const model = [...sessions.running()].find(one => one.path === notebook)?.kernel;
            window.watched ??= kernels.connectTo({ model });
            const { content } = await window.watched.requestCommInfo({ target_name: 'onrush.outputs' });
            return Object.keys(content.comms).length;
        }""",
        notebook,
    )

    def wait(wanted: int):
        for _ in range(200):
            if pages() == wanted:
                return
            page.wait_for_timeout(150)
        assert pages() == wanted

    second = page.context.browser.new_page()
    second.set_default_timeout(60_000)
    open_in_notebook_7(second, lab, notebook)
    run_all(second)
    wait_live(second, 2)
    wait(1)
    ledger = Ledger(kernel, page, notebook)
    ledger.wait(3)
    second.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    second.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    # A page that is loaded again goes on with what there is.
    second.reload()
    wait_live(second, 2)
    wait(1)
    assert ledger.frames() == 3
    second.close(run_before_unload=True)
    wait(0)
