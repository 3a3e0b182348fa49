"""A dashboard in a browser: brushes by the pointer and by keys, a lasso, filters in cells, reload, a page without a kernel.

The rows are of known numbers: 100 columns of 40 points, so that the counts of a filter are products."""

import json

import pytest

from lab import cells, open_notebook, run_last, set_last_cell, write_notebook

# x has 100 values of 40 rows each, y has 40 values of 100 rows, k has 4 values of 1,000 rows.
CELLS = [
    'let lattice = sql("select n % 100 as x, n // 100 as y, n % 4 as k, \'abcd\'[n % 4 + 1] as s from range(4000) as t(n)");\n'
    'let d = dashboard(&lattice).number(x!(points = len())).histogram("x").range(0, 100).bins(50).bar("s").histogram("y").range(0, 40).bins(40)'
    '.heatmap("k", "s").raster("x", "y").table(["x", "y"]).title("Lattice");\n'
    "d",
    'println!("{} {}", d.selection().len(), d.code());',
]


@pytest.fixture(scope="module")
def notebook(notebooks_copy) -> str:
    return write_notebook(notebooks_copy, "dashboard-view.ipynb", CELLS)


class View:
    def __init__(self, page):
        self.page = page
        self.output = page.locator(".onrush-output, #dashboard").first
        self.output.wait_for()
        page.wait_for_function("output => output.classList.contains('live')", arg=self.output.element_handle())

    def tile(self, at: int):
        return self.output.locator(".tile").nth(at)

    def count(self) -> str:
        return self.output.locator(".count").inner_text().replace("\u202f", "")

    def wait_count(self, text: str):
        """Until this is said of the rows, and no answer is on its way."""
        self.page.wait_for_function(
            """([output, text]) => {
                const root = output.shadowRoot.querySelector('.root');
                const said = root.querySelector('.count').textContent.replaceAll('\u202f', '');
                return said.startsWith(text) && !root.hasAttribute('aria-busy');
            }""",
            arg=[self.output.element_handle(), text],
        )

    def drag(self, at: int, start: float, end: float, *, y=(0.5, 0.5), release=True):
        """Drags over a view, from and to shares of its data area."""
        tile = self.tile(at)
        tile.scroll_into_view_if_needed()
        area = tile.locator(".area")
        if area.count():
            box = area.bounding_box()
        else:
            # The bars' places: of the picture, without its labels.
            rects = tile.locator(".all rect")
            first, last = rects.first.bounding_box(), rects.last.bounding_box()
            svg = tile.locator("svg").bounding_box()
            box = {"x": first["x"], "width": last["x"] + last["width"] - first["x"], "y": svg["y"] + 40, "height": svg["height"] - 80}
        place = lambda x, up: (box["x"] + box["width"] * x, box["y"] + box["height"] * up)
        self.page.mouse.move(*place(start, y[0]))
        self.page.mouse.down()
        self.page.mouse.move(*place((start + end) / 2, (y[0] + y[1]) / 2), steps=3)
        self.page.mouse.move(*place(end, y[1]), steps=3)
        if release:
            self.page.mouse.up()


def test_brushing(page, lab, notebook, outputs_dir):
    open_notebook(page, lab, notebook)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    view = View(page)
    view.wait_count("all 4000 rows")
    page.screenshot(path=outputs_dir / "dashboard.png")

    # Bins 10 to 19 of x: 20 values of 40 rows. While the button is down, only the browser has counted.
    view.drag(1, 0.205, 0.395, release=False)
    page.wait_for_function(
        "output => output.shadowRoot.querySelector('.count').textContent.replaceAll('\u202f', '').startsWith('800 of')",
        arg=view.output.element_handle(),
    )
    page.mouse.up()
    view.wait_count("800 of 4000 rows")
    assert view.tile(0).locator(".value").inner_text().replace("\u202f", "") == "800"
    page.screenshot(path=outputs_dir / "dashboard-brushed.png")

    # One bar of s: every fourth row.
    view.tile(2).locator("button.bar").first.click()
    view.wait_count("200 of 4000 rows")
    # And one more.
    view.tile(2).locator("button.bar").nth(1).click(modifiers=["Shift"])
    view.wait_count("400 of 4000 rows")
    assert view.tile(2).locator("button.bar").nth(1).get_attribute("aria-pressed") == "true"

    # A cell sees the selection.
    set_last_cell(page, 'println!("{}", d.selection().len());')
    run_last(page)
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.widgets.at(-1).node.innerText.includes('400')")

    view.output.locator(".tools button").click()
    view.wait_count("all 4000 rows")


def test_a_box_and_a_lasso(page, outputs_dir):
    view = View(page)
    # A quarter of the area of the raster has a quarter of the points, but for those at the edges.
    view.drag(5, 0.25, 0.75, y=(0.25, 0.75))
    page.wait_for_function(
        """output => {
            const root = output.shadowRoot.querySelector('.root');
            const rows = Number(root.querySelector('.count').textContent.replaceAll('\u202f', '').split(' of ')[0]);
            return rows > 900 && rows < 1100 && !root.hasAttribute('aria-busy');
        }""",
        arg=view.output.element_handle(),
    )
    page.screenshot(path=outputs_dir / "dashboard-box.png")
    area = view.tile(5).locator(".area")
    area.focus()
    page.keyboard.press("Escape")
    view.wait_count("all 4000 rows")
    # A triangle over half of the area.
    view.tile(5).locator(".lasso").click()
    box = area.bounding_box()
    corners = [(0.001, 0.001), (0.999, 0.001), (0.001, 0.999)]
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in [*places[1:], places[0]]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()
    page.wait_for_function(
        """output => {
            const rows = Number(output.shadowRoot.querySelector('.count').textContent.replaceAll('\u202f', '').split(' of ')[0]);
            return rows > 1850 && rows < 2100;
        }""",
        arg=view.output.element_handle(),
    )
    view.output.locator(".tools button").click()
    view.wait_count("all 4000 rows")


def test_by_keys_alone(page):
    view = View(page)
    # From the last bin downwards: ten bins less, and the first one two up.
    first, last = view.tile(1).locator("[role=slider]").nth(0), view.tile(1).locator("[role=slider]").nth(1)
    assert first.get_attribute("aria-label") == "x: first selected"
    last.focus()
    page.keyboard.press("PageDown")
    view.wait_count("3200 of 4000 rows")
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    view.wait_count("3040 of 4000 rows")
    assert first.get_attribute("aria-valuetext") == "4 to 5"
    page.keyboard.press("Escape")
    view.wait_count("all 4000 rows")
    # Cells of a heat map.
    cells_area = view.tile(4).locator(".area")
    cells_area.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    view.wait_count("1000 of 4000 rows")
    page.keyboard.press("Escape")
    view.wait_count("all 4000 rows")
    bar = view.tile(2).locator("button.bar").first
    bar.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    view.wait_count("1000 of 4000 rows")


def test_a_reload_shows_what_was_seen(page, lab, notebook):
    # The filter of the test before is in the kernel, which the reload keeps.
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.reload()
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'")
    view = View(page)
    view.wait_count("1000 of 4000 rows")
    # Without a kernel the picture stays.
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_function("output => !output.classList.contains('live')", arg=view.output.element_handle())
    assert view.tile(1).locator("svg").is_visible() and not view.output.locator(".tools button").is_visible()


def test_a_page_filters_without_a_network(page, lab, notebooks_copy, outputs_dir):
    name = write_notebook(notebooks_copy, "dashboard-page.ipynb", [CELLS[0].replace("\nd", '\nd.save("lattice.html");')])
    open_notebook(page, lab, name)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.widgets[0].model.executionCount === 1")
    path = notebooks_copy / "lattice.html"
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    assert path.exists(), json.dumps(cells(page)[0]["outputs"])[:2000]
    context = page.context.browser.new_context(offline=True, viewport={"width": 1000, "height": 1400})
    try:
        alone, problems = context.new_page(), []
        alone.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        alone.on("pageerror", lambda error: problems.append(str(error)))
        alone.goto(path.as_uri())
        view = View(alone)
        view.wait_count("all 4000 rows")
        view.drag(1, 0.205, 0.395)
        view.wait_count("800 of 4000 rows")
        view.tile(2).locator("button.bar").first.click()
        view.wait_count("200 of 4000 rows")
        alone.screenshot(path=outputs_dir / "dashboard-page.png")
        assert problems == []
    finally:
        context.close()


def test_filtered_means_have_an_axis(page, lab, notebooks_copy):
    """The mean of x is 49.5 at every y, and 89.5 of the rows with x from 80 on: a line beyond the first axis."""
    cell = CELLS[0].split("let d")[0] + (
        'dashboard(&lattice).histogram("x").range(0, 100).bins(50).line("y", "x").range(0, 40).bins(40).save("means.html");'
    )
    name = write_notebook(notebooks_copy, "dashboard-means.ipynb", [cell])
    open_notebook(page, lab, name)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.widgets[0].model.executionCount === 1")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    context = page.context.browser.new_context(offline=True, viewport={"width": 1000, "height": 900})
    try:
        alone = context.new_page()
        alone.goto((notebooks_copy / "means.html").as_uri())
        view = View(alone)
        labels = view.tile(1).locator("g.axis text")
        assert labels.all_text_contents() == ["49", "50"]
        view.drag(0, 0.805, 0.995)
        view.wait_count("800 of 4000 rows")
        assert labels.all_text_contents() == ["60", "80"]
        line = view.tile(1).locator("path.shown").bounding_box()
        top, bottom = (labels.nth(at).bounding_box()["y"] for at in (1, 0))
        # 89.5 lies above the label of 80, nearly half as far as 60 lies below it.
        assert 0.2 < (top - line["y"]) / (bottom - top) < 0.7
    finally:
        context.close()
