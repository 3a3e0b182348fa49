"""Errors in JupyterLab: the place in the source, what to do, the calls that led there. Live, and in a notebook that was saved."""

import json

import pytest

from lab import cells, open_notebook, set_last_cell

# Markup in the source, in the message and in the name of what is not there.
HOSTILE = "<img src=x onerror=\"window.hostile=1\">"
MEAN = f"""// {HOSTILE}
fn mean(all: &[i32], nth: usize) -> i32 {{ let hostile = "<script>window.hostile=2</script>";
    if nth > all.len() {{
        panic!("{{hostile}} {HOSTILE.replace('"', "'")}") }}
    all[nth]
}}"""
CALL = "let doubled = 2;\nlet all = [1, 2, 3];\n[1usize, 7].iter().map(|nth| mean(&all, *nth)).sum::<i32>()"
COLUMN = 'let flown = frame! { dep_delay: [1.0, 2.0] };\nflown.filter(x!(dep_dela > 3))'
PARTS = """() => {
    const cells = window.jupyterapp.shell.currentWidget.content.widgets;
    const root = cells.at(-1).node.querySelector('.jp-OutputArea .onrush-output *')?.shadowRoot;
    if (!root?.querySelector('.error')) return null;
    const texts = selector => [...root.querySelectorAll(selector)].map(one => one.innerText ?? one.textContent);
    return {
        message: texts('.message')[0], code: texts('.code-name')[0], marks: texts('mark'), items: texts('.said'),
        source: texts('.source .code'), folded: !(root.querySelector('.trace')?.open ?? false),
        calls: [...root.querySelectorAll('.call')].map(one => one.textContent),
        markup: root.querySelectorAll('img, script').length,
    };
}"""


@pytest.fixture(scope="module")
def notebook(notebooks_copy, page, lab) -> str:
    name = "errors.ipynb"
    spec = {"kernelspec": {"name": "onrush", "display_name": "Rust", "language": "rust"}}
    cell = {"cell_type": "code", "id": "first", "metadata": {}, "execution_count": None, "outputs": [], "source": "1"}
    (notebooks_copy / name).write_text(json.dumps({"cells": [cell], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))
    open_notebook(page, lab, name)
    return name


def fail(page, code: str) -> dict:
    """The last cell's error, as it is drawn."""
    set_last_cell(page, code)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell'); null")
    return page.wait_for_function(PARTS).json_value()


def test_an_error_shows_its_place_and_who_called(page, notebook):
    set_last_cell(page, MEAN)
    page.evaluate("window.held = window.jupyterapp.commands.execute('notebook:run-cell')")
    drawn = fail(page, CALL)
    assert drawn["code"] == "panic"
    assert drawn["message"] == "<script>window.hostile=2</script> <img src=x onerror='window.hostile=1'>"
    assert drawn["marks"] == ["panic"]
    assert any("<img src=x onerror='window.hostile=1'>" in line for line in drawn["source"])
    assert drawn["markup"] == 0 and page.evaluate("window.hostile") is None
    # Folded, and every call with its cell and line. The first cell of the notebook has not run.
    assert drawn["folded"]
    assert drawn["calls"] == ["In [1], line 4 in mean", "In [2], line 3 in a closure", "In [2], line 3 "]
    # Nothing but one output, as the notebook's format has it.
    [output] = cells(page)[-1]["outputs"]
    assert sorted(output) == ["ename", "evalue", "output_type", "traceback"]


def test_a_call_leads_to_its_line(page, notebook):
    place = "window.jupyterapp.shell.currentWidget.content"
    page.evaluate(
        f"{place}.widgets.at(-1).node.querySelector('.onrush-output *').shadowRoot.querySelector('.call button').click()"
    )
    page.wait_for_function(
        f"() => {{ const cell = {place}.activeCell; return cell.model.executionCount === 1"
        " && cell.editor?.getCursorPosition().line === 3 && cell.editor.hasFocus(); }"
    )


def test_a_column_that_is_not_there_and_what_to_write(page, notebook):
    drawn = fail(page, COLUMN)
    assert drawn["marks"] == ["dep_dela"]
    assert drawn["message"] == "there is no column dep_dela"
    assert "did you mean dep_delay? copy" in drawn["items"]
    assert drawn["calls"] == []


def test_a_saved_notebook_shows_the_same(page, notebook, lab):
    before = page.evaluate(PARTS)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    open_notebook(page, lab, notebook)
    page.evaluate(
        """() => { const notebook = window.jupyterapp.shell.currentWidget.content;
        notebook.activeCellIndex = notebook.widgets.length - 1; return notebook.scrollToItem(notebook.activeCellIndex); }"""
    )
    assert page.wait_for_function(PARTS).json_value() == before


def test_errors_of_other_kernels_look_as_usual(page, notebook):
    page.evaluate(
        r"""() => { const cell = window.jupyterapp.shell.currentWidget.content.widgets.at(-1);
        cell.model.outputs.clear();
        cell.model.outputs.add({output_type: 'error', ename: 'NameError', evalue: 'x',
            traceback: ['\u001b[31m---------\u001b[39m', '\u001b[31mNameError\u001b[39m Traceback']}); }"""
    )
    selector = "[data-mime-type='application/vnd.jupyter.stderr'] pre"
    page.wait_for_function(
        "selector => window.jupyterapp.shell.currentWidget.content.widgets.at(-1).node.querySelector(selector)?.textContent"
        " === '---------\\nNameError Traceback'",
        arg=selector,
    )
