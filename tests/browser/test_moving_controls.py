"""Controls in JupyterLab: moved with the mouse and the keyboard, while a cell runs, and after the page was loaded again."""

import json

import pytest

from lab import open_in_notebook_7, open_notebook, run_last, set_last_cell

INTERACT = 'interact!(|threshold: 0..60, carrier: ["UA", "AA"], late: true| { println!("{carrier} above {threshold}, {late}"); })'


@pytest.fixture(scope="module")
def notebook(notebooks_copy, page, lab) -> str:
    """An empty notebook, open in the browser."""
    name = "controls.ipynb"
    spec = {"kernelspec": {"name": "onrush", "display_name": "Rust", "language": "rust"}}
    cell = {"cell_type": "code", "id": "first", "metadata": {}, "execution_count": None, "outputs": [], "source": "1"}
    (notebooks_copy / name).write_text(json.dumps({"cells": [cell], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))
    open_notebook(page, lab, name)
    return name


def last(page, selector: str) -> str:
    """In the output of the last cell, which becomes the active one."""
    page.evaluate(
        """() => { const notebook = window.jupyterapp.shell.currentWidget.content;
        notebook.activeCellIndex = notebook.widgets.length - 1; return notebook.scrollToItem(notebook.activeCellIndex); }"""
    )
    return f".jp-Notebook .jp-Cell.jp-mod-active .jp-OutputArea {selector}"


def wait_for_text(page, selector: str, text: str) -> None:
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.innerText.trim() === text", arg=[last(page, selector), text]
    )


def theme(page, name: str) -> None:
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
    page.wait_for_function("dark => (document.body.dataset.jpThemeLight === 'false') === dark", arg="Dark" in name)


def screenshot(page, folder, name: str) -> None:
    for dark, suffix in [("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")]:
        theme(page, dark)
        page.wait_for_timeout(300)
        page.screenshot(path=folder / f"{name}-{suffix}.png")


def drag(page, share: float) -> None:
    """The handle of the first slider to a share of its track."""
    handle, track = last(page, ".noUi-handle"), last(page, ".noUi-base")
    # The page scrolls to what is new, and outputs above may grow: whoever misses the handle tries again.
    for _ in range(5):
        page.hover(handle)
        boxes = page.evaluate("names => names.map(name => document.querySelector(name).getBoundingClientRect().toJSON())", [handle, track])
        grip, base = boxes
        page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
        page.mouse.down()
        if page.locator(f"{handle}.noUi-active").count():
            break
        page.mouse.up()
        page.wait_for_timeout(200)
    else:
        raise AssertionError(f"the handle cannot be taken at {grip}")
    for step in range(1, 11):
        page.mouse.move(base["x"] + base["width"] * share * step / 10, base["y"] + 5)
    page.mouse.up()


def drag_and_choose(page) -> None:
    """`INTERACT` as the last cell, its slider at the end and its selection changed."""
    set_last_cell(page, INTERACT)
    run_last(page)
    wait_for_text(page, ".widget-output", "UA above 0, true")
    drag(page, 1.0)
    wait_for_text(page, ".widget-output", "UA above 59, true")
    page.select_option(last(page, "select"), "AA")
    wait_for_text(page, ".widget-output", "AA above 59, true")


def test_a_dragged_slider_changes_the_output(page, notebook, outputs_dir):
    drag_and_choose(page)
    page.click(last(page, "input[type=checkbox]"))
    wait_for_text(page, ".widget-output", "AA above 59, false")
    page.focus(last(page, ".noUi-handle"))
    page.keyboard.press("ArrowLeft")
    wait_for_text(page, ".widget-output", "AA above 58, false")
    screenshot(page, outputs_dir, "controls-interact")


def test_a_page_that_is_loaded_again_has_its_controls(page, notebook, lab):
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    open_notebook(page, lab, notebook)
    wait_for_text(page, ".widget-output", "AA above 58, false")
    drag(page, 0.0)
    wait_for_text(page, ".widget-output", "AA above 0, false")


def test_a_change_waits_for_the_cell_that_runs(page, notebook, notebooks_copy):
    set_last_cell(page, "interact!(|n: 0..100| { println!(\"n is {n}\") })")
    run_last(page)
    wait_for_text(page, ".widget-output", "n is 0")
    # The kernel's own view of the cell above it stays in sight.
    page.evaluate(
        """() => { const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        kernel.requestExecute({code: 'while !std::path::Path::new("go").exists() { std::thread::sleep(std::time::Duration::from_millis(10)); }'}); }"""
    )
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'")
    drag(page, 1.0)
    wait_for_text(page, ".widget-html-content", "waits for the cell that runs")
    (notebooks_copy / "go").touch()
    wait_for_text(page, ".widget-output", "n is 99")
    wait_for_text(page, ".widget-html-content", "")


def test_every_control_is_drawn(page, notebook, outputs_dir):
    set_last_cell(
        page,
        'let name = text_field("JFK").label("airport"); let told = label("nothing yet"); let tell = told.clone();\n'
        'let load = button("Load").on_click(move || tell.set("loaded"));\n'
        'vbox((hbox((slider(0.0..1.0).initial(0.3).label("share"), range_slider(0..100).initial(20, 70).label("between"))),\n'
        '  radio(["mean", "median"]).label("by"), multi_select(["UA", "AA", "DL"]).initial(["AA"]).label("carriers"),\n'
        '  number_field(2013).label("year"), checkbox(true).label("late only"), &name, hbox((&load, &told))))',
    )
    run_last(page)
    page.wait_for_selector(last(page, ".noUi-handle"))
    page.click(last(page, "button"))
    wait_for_text(page, ".jupyter-widgets.widget-label", "loaded")
    screenshot(page, outputs_dir, "controls-all")
    assert page.locator(last(page, "select[multiple] option")).count() == 3
    assert page.locator(last(page, "input[type=radio]")).count() == 2
    page.fill(last(page, "input[type=text]"), "LGA")
    page.keyboard.press("Enter")
    set_last_cell(page, "name.value()")
    assert run_last(page)["outputs"][0]["data"]["text/plain"] == '"LGA"'


def test_a_long_label_leaves_room_for_what_is_set(page, notebook):
    set_last_cell(page, 'vbox((slider(0..60).label(&"l".repeat(300)), text_field("x").label("b")))')
    run_last(page)
    page.wait_for_selector(last(page, ".noUi-handle"))
    area = page.locator(last(page, "")).first.bounding_box()
    for part in (".noUi-base", "input[type=text]"):
        box = page.locator(last(page, part)).bounding_box()
        assert box["width"] > 60 and box["x"] + box["width"] <= area["x"] + area["width"], (part, box, area)


def test_untrusted_text_of_controls_stays_text(page, notebook):
    hostile = "<img src=x onerror='window.hostile = 1'>"
    set_last_cell(page, f"""vbox((slider(0..60).initial(7).label("{hostile}"), dropdown(["{hostile}", "b"]), button("{hostile}"),
        radio(["{hostile}", "<b>x</b>"]), label("{hostile}")))""")
    run_last(page)
    page.wait_for_selector(last(page, ".noUi-handle"))
    page.wait_for_function("selector => document.querySelector(selector)?.textContent.split('onerror').length >= 5", arg=last(page, ".widget-vbox"))
    assert page.locator(last(page, "img")).count() == 0
    assert page.evaluate("window.hostile") is None


def test_after_a_restart_there_are_values_and_no_error(page, notebook, lab):
    """ipywidgets says "model not found" of controls whose kernel is gone."""
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    open_notebook(page, lab, notebook)
    table = last(page, "table")
    page.wait_for_selector(table)
    assert "7" in page.inner_text(table) and "<img src=x" in page.inner_text(table)
    # The renderer of ipywidgets has found no model, and is not seen.
    page.wait_for_function(
        "selector => document.querySelector(selector)?.parentElement.textContent.includes('Error displaying widget')",
        arg=last(page, ".jupyter-widgets"),
    )
    assert "Error displaying" not in page.inner_text(last(page, ""))
    assert page.evaluate("window.hostile") is None


def test_notebook_7_has_the_same_controls(page, notebook, lab, outputs_dir):
    """The notebook of the tests before, whose kernel was restarted."""
    open_in_notebook_7(page, lab, notebook)
    assert page.evaluate("window.jupyterapp.name") == "Jupyter Notebook"
    drag_and_choose(page)
    page.screenshot(path=outputs_dir / "controls-notebook7.png")
    # A cell sees where a control stands that an earlier one made.
    set_last_cell(page, 'let share = slider(0..100).initial(20).label("share"); share.clone()')
    run_last(page)
    page.wait_for_selector(last(page, ".noUi-handle"))
    drag(page, 0.0)
    page.wait_for_function(
        "selector => document.querySelector(selector)?.innerText.trim() === '0'", arg=last(page, ".widget-readout")
    )
    set_last_cell(page, "share.value()")
    assert run_last(page)["outputs"][0]["data"]["text/plain"] == "0"
