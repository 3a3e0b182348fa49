"""The tour in JupyterLab in a browser: every cell is run as a user runs it, a typing mistake and an interrupt are tried, and
screenshots are left in ONRUSH_TEST_OUTPUTS for people to look at."""

import pytest

from lab import cells, open_notebook, run_last, set_last_cell

PATIENCE = 240


def run_all(page) -> list[dict]:
    """Runs all cells and returns them: id, tags, execution count, outputs. Without the stored outputs, which have counts, too."""
    page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.onrushDone = true; }); null")
    page.wait_for_function("window.onrushDone === true", timeout=PATIENCE * 1000)
    # JupyterLab's promise ends at the first error, also at one that is allowed.
    page.wait_for_function(
        "[...window.jupyterapp.shell.currentWidget.content.model.cells]"
        ".every(c => c.type !== 'code' || c.toJSON().execution_count || !c.toJSON().source.length)",
        timeout=PATIENCE * 1000,
    )
    return cells(page)


def screenshots(page, folder, stem: str):
    count = page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")
    for index in range(0, count, 4):
        page.evaluate("i => window.jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", index)
        page.wait_for_timeout(300)
        page.screenshot(path=folder / f"{stem}-{index:02}.png")


@pytest.mark.parametrize("name", ["01-tour.ipynb", "02-for-pandas-users.ipynb", "03-looking-at-data.ipynb"])
def test_every_cell_runs(page, lab, outputs_dir, name):
    open_notebook(page, lab, name)
    ran = run_all(page)
    screenshots(page, outputs_dir, name.removesuffix(".ipynb"))
    assert ran
    for cell in ran:
        errors = [o for o in cell["outputs"] if o["output_type"] == "error"]
        wanted = 1 if "raises-exception" in cell["metadata"].get("tags", []) else 0
        assert len(errors) == wanted, f"{cell['source']}\n{errors}"
        assert cell["execution_count"], cell["source"]
    # What was drawn, and not only sent. JupyterLab takes cells out of the page that are not in view.
    page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.content.widgets.flatMap(cell => [...cell.node.querySelectorAll('.onrush-output')])"
        ".filter(output => output.shadowRoot?.querySelector('.line')).length > 0"
    )


def test_plots_are_drawn(page, lab):
    open_notebook(page, lab, "01-tour.ipynb")
    run_all(page)
    sizes = page.evaluate(
        """async () => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            const sizes = [];
            for (let i = 0; i < notebook.widgets.length; i++) {
                const cell = notebook.widgets[i].model.toJSON();
                if (!(cell.outputs ?? []).some(o => 'application/vnd.vegalite.v5+json' in (o.data ?? {}))) continue;
                await notebook.scrollToItem(i, 'center');
                let drawn;
                for (let turn = 0; turn < 100 && !drawn; turn++) {
                    await new Promise(resolve => setTimeout(resolve, 100));
                    drawn = notebook.widgets[i].node.querySelector('.vega-embed canvas, .vega-embed svg.marks');
                }
                const box = drawn?.getBoundingClientRect();
                sizes.push([box?.width ?? 0, box?.height ?? 0]);
            }
            return sizes;
        }"""
    )
    assert sizes
    assert all(width > 200 and height > 100 for width, height in sizes), sizes


def test_a_typing_mistake_an_interrupt_and_a_restart(page, lab, outputs_dir):
    open_notebook(page, lab, "01-tour.ipynb")
    set_last_cell(page, "let kept = 41;")
    assert run_last(page)["outputs"] == []
    set_last_cell(page, "let broken = ;")
    assert [o["output_type"] for o in run_last(page)["outputs"]] == ["error"]
    set_last_cell(page, "loop { std::hint::spin_loop(); }")
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell'); null")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'")
    page.wait_for_timeout(700)
    page.evaluate("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    page.wait_for_function(
        "[...window.jupyterapp.shell.currentWidget.content.model.cells].at(-1).toJSON().outputs.some(o => o.output_type === 'error')"
    )
    set_last_cell(page, "kept + 1")
    [output] = run_last(page)["outputs"]
    assert output["data"]["text/plain"] == "42"
    page.screenshot(path=outputs_dir / "interrupted.png")

    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    set_last_cell(page, "kept + 1")
    [output] = run_last(page)["outputs"]
    assert output["output_type"] == "error" and "kept" in output["evalue"] + "".join(output["traceback"])


def type_into_last(page, code: str) -> None:
    page.evaluate("window.jupyterapp.commands.execute('notebook:enter-edit-mode')")
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCell.editor.focus()")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.activeCell.editor.hasFocus()")
    page.keyboard.type(code)


def offered(page, code: str) -> list[str]:
    """What JupyterLab lists for code that was typed into a new cell, after Tab."""
    set_last_cell(page, "")
    type_into_last(page, code)
    page.keyboard.press("Tab")
    page.wait_for_selector(".jp-Completer:not(.lm-mod-hidden) .jp-Completer-item")
    return page.eval_on_selector_all(".jp-Completer-item .jp-Completer-match", "all => all.map(one => one.textContent)")


def test_completion_and_inspection(page, lab, outputs_dir):
    open_notebook(page, lab, "01-tour.ipynb")
    set_last_cell(page, 'let numbers = vec![3, 1, 2]; let flown = read_parquet("data/flights.parquet");')
    assert run_last(page)["outputs"] == []
    # Names from the documentation of `Vec` and of slices.
    matches = offered(page, "numbers.")
    assert {"push", "iter", "sort_unstable", "windows"} <= set(matches)
    page.screenshot(path=outputs_dir / "completion.png")
    page.keyboard.press("Escape")
    matches = offered(page, "numbers.iter().map(|n| n.che")
    assert "checked_add" in matches
    page.keyboard.press("Escape")
    matches = offered(page, 'flown.sort("dep_')
    assert {"dep_time", "dep_delay"} <= set(matches)
    page.screenshot(path=outputs_dir / "completion-columns.png")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    set_last_cell(page, "")
    type_into_last(page, "numbers.push(")
    page.keyboard.press("Shift+Tab")
    tooltip = page.wait_for_selector(".jp-Tooltip")
    assert "Appends an element" in tooltip.inner_text()
    page.screenshot(path=outputs_dir / "inspection.png")


def results(cell: dict) -> list[str]:
    """Kinds of the outputs, but for a line of progress, which is there if the machine was slow."""
    return [o["output_type"] for o in cell["outputs"] if not o.get("metadata", {}).get("onrush", {}).get("progress")]


def test_plots_tell_their_values_and_have_panels(page, lab, outputs_dir):
    open_notebook(page, lab, "01-tour.ipynb")
    set_last_cell(page, 'bar(["low", "high"], [3, 5]).title("Two bars")')
    run_last(page)
    output = "window.jupyterapp.shell.currentWidget.content.activeCell.node"
    canvas = page.wait_for_selector(".jp-Cell.jp-mod-active .vega-embed canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.7 * box["height"])
    tooltip = page.wait_for_selector("#vg-tooltip-element.visible")
    assert "high" in tooltip.inner_text() and "5" in tooltip.inner_text()
    set_last_cell(page, 'read_parquet("data/flights.parquet").plot().hist("dep_delay").color("month").facet("origin")')
    assert results(run_last(page)) == ["execute_result"]
    canvas = page.wait_for_selector(".jp-Cell.jp-mod-active .vega-embed canvas")
    assert canvas.bounding_box()["width"] > 500
    # Vega says in the output what it does not understand.
    assert "rror" not in page.evaluate(f"{output}.querySelector('.jp-OutputArea').innerText")
    canvas.screenshot(path=outputs_dir / "panels.png")
    # A panel whose values are all missing does not take the others with it.
    set_last_cell(page, 'frame! { k: ["a", "b"], x: [1.0, 2.0], y: [1.0, f64::NAN] }.plot().scatter("x", "y").facet("k").free_y()')
    assert results(run_last(page)) == ["execute_result"]
    page.wait_for_selector(".jp-Cell.jp-mod-active .vega-embed canvas")
    assert "rror" not in page.evaluate(f"{output}.querySelector('.jp-OutputArea').innerText")
    # Names that would end the text of an expression.
    names = r"""let odd = frame! { "a \"quoted\" name": ["x\"1", "y\\2", "z\n3"], "back\\slash\\": [1.0, 2.0, 3.0], "new\nline": [3, 2, 1] };"""
    quoted, slash, line = r'"a \"quoted\" name"', r'"back\\slash\\"', r'"new\nline"'
    for plot in [
        f"bar({quoted}, {slash}).color({quoted}).legend_title({slash})",
        f"scatter({line}, {slash}).size_by({line}).color({slash}).title({quoted})",
        f"heatmap({quoted}, {line}).color({slash})",
        f"box_plot({quoted}, {slash}).hline(2.0, {quoted})",
    ]:
        set_last_cell(page, f"{names} odd.plot().{plot}")
        assert results(run_last(page)) == ["execute_result"]
        canvas = page.wait_for_selector(".jp-Cell.jp-mod-active .vega-embed canvas")
        assert canvas.bounding_box()["width"] > 300
        assert "rror" not in page.evaluate(f"{output}.querySelector('.jp-OutputArea').innerText")
