"""Tables in a browser, in JupyterLab and Notebook 7: a hundred million rows, filters, brushes, files; what is left when the kernel is
gone; values that try to be markup."""

import duckdb
import pytest

from lab import open_in_notebook_7, open_notebook, write_notebook

HOSTILE = '<img src=x onerror="window.hacked = 1">'
CELLS = [
    'let large = sql("select n, n % 1000 as rest, (n * 7919) % 100003 / 7.0 as value from range(100000000) as t(n)").persist(); large',
    f"""frame! {{ "{HOSTILE.replace('"', "'")}": [Some("{HOSTILE.replace('"', "'")}"), None, Some(""), Some("  ")],
    "<b>x</b>": [Some(f64::NAN), Some(f64::INFINITY), None, Some(-1.5)], "שם": ["שלום", "two\\nlines", "</td>", "&amp;"] }}""",
]


@pytest.fixture(scope="module")
def notebook(notebooks_copy) -> str:
    return write_notebook(notebooks_copy, "tables.ipynb", CELLS)


def restart(page):
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")


class Table:
    """One drawn table."""

    def __init__(self, page, cell: int):
        self.page = page
        self.output = page.locator(f'.jp-Cell[data-windowed-list-index="{cell}"] .onrush-output')
        # JupyterLab draws only cells in view.
        page.evaluate("cell => window.jupyterapp?.shell.currentWidget?.content.scrollToItem?.(cell, 'smart')", cell)
        self.output.locator(".foot").wait_for()

    @property
    def foot(self) -> str:
        return self.output.locator(".foot .shape").inner_text().replace("\u202f", "")

    def wait_foot(self, text: str):
        self.wait("([root, text]) => root.querySelector('.foot .shape').textContent.replaceAll('\u202f', '').includes(text)", text)

    def wait(self, test: str, argument=None):
        handle = self.output.element_handle()
        self.page.wait_for_function(f"([output, argument]) => ({test})([output.shadowRoot, argument])", arg=[handle, argument])

    def wait_live(self):
        self.wait("([root]) => root.querySelector('.root.live')")

    def rows(self) -> list[list[str]]:
        """The rows in view, with their positions first."""
        return self.output.evaluate(
            "output => [...output.shadowRoot.querySelectorAll('.line')].map(line => [...line.children].map(cell => cell.textContent))"
        )

    def wait_first(self, text: str, column: int = 1):
        """Until the first row in view has that text in the column."""
        self.wait(
            "([root, [text, column]]) => root.querySelector('.line')?.children[column]?.textContent.replaceAll('\u202f', '') === text",
            [text, column],
        )

    def head(self, index: int):
        return self.output.locator(".column").nth(index)

    def button(self, name: str):
        return self.output.locator(".foot").get_by_role("button", name=name)


def test_a_hundred_million_rows(page, lab, notebook, notebooks_copy, outputs_dir):
    open_notebook(page, lab, notebook)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    table = Table(page, 0)
    table.wait_live()
    assert table.foot.startswith("100000000 rows × 3 columns")
    assert table.rows()[0][:3] == ["0", "0", "0"]

    # The scroll bar's middle is the middle of the rows; a turn of the wheel is a few rows, not a few million.
    scroller = table.output.locator(".scroller")
    scroller.evaluate("element => { element.scrollTop = (element.scrollHeight - element.clientHeight) / 2; }")
    table.wait("([root]) => Number(root.querySelector('.line')?.children[1]?.textContent) > 1e6")
    middle = int(table.rows()[0][1])
    assert abs(middle - 50_000_000) < 200_000
    assert [row[1] for row in table.rows()[:3]] == [str(middle + i) for i in range(3)]
    scroller.hover()
    page.mouse.wheel(0, 240)
    table.wait("([root, middle]) => Number(root.querySelector('.line')?.children[1]?.textContent) > middle", middle)
    assert 0 < int(table.rows()[0][1]) - middle <= 12
    scroller.focus()
    page.keyboard.press("Control+End")
    table.wait("([root]) => [...root.querySelectorAll('.line')].at(-1)?.children[1]?.textContent === '99999999'")
    page.keyboard.press("Control+Home")
    table.wait_first("0")

    # From the key to the rows on the screen, at places that were not seen before.
    times = table.output.evaluate(
        """async output => {
            const root = output.shadowRoot, scroller = root.querySelector('.scroller'), times = [];
            const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
            for (let i = 1; i <= 25; i++) {
                const begun = performance.now();
                scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * i / 26;
                await frame();
                await frame();
                while (root.querySelector('.cell.missing')) await frame();
                times.push(performance.now() - begun);
            }
            return times.sort((a, b) => a - b);
        }"""
    )
    print(f"a jump to other rows: median {times[12]:.0f} ms, largest {times[-1]:.0f} ms")
    assert times[12] < 2000

    # The picture of a column is a filter.
    table.wait("([root]) => root.querySelectorAll('svg.picture').length === 3")
    page.screenshot(path=outputs_dir / "table-large.png")
    picture = table.head(1).locator("svg.picture").bounding_box()
    page.mouse.move(picture["x"] + 2, picture["y"] + 8)
    page.mouse.down()
    page.mouse.move(picture["x"] + picture["width"] / 10, picture["y"] + 8, steps=4)
    page.mouse.up()
    table.wait("([root]) => root.querySelectorAll('.chip').length === 1")
    chip = table.output.locator(".chip .text").inner_text()
    assert chip.startswith("rest from 0 to ")
    last = int(chip.rsplit(" ", 1)[1])
    table.wait_foot(f"{(last + 1) * 100_000} of 100000000 rows")

    # Clicks on a head: rising, falling; with Shift a second key.
    table.head(1).locator(".name").click()
    table.wait_first("0", 2)
    table.head(1).locator(".name").click()
    table.wait_first(str(last), 2)
    table.head(0).locator(".name").click(modifiers=["Shift"])
    table.wait("([root]) => root.querySelectorAll('.arrow').length === 2")
    table.wait_first(str(last))
    assert [row[1] for row in table.rows()[:2]] == [str(last), str(last + 1000)]

    table.button("The filters and the order as code").click()
    code = table.output.locator(".popup .value").inner_text()
    assert code.split() == [
        "large", f".filter(x!(rest", ">=", "0", "&&", "rest", "<=", f"{last}))",
        '.sort([desc("rest").nulls_last(),', 'asc("n").nulls_last()])',
    ]  # fmt: skip
    page.keyboard.press("Escape")

    # A narrower filter by its form, and the rows as a file.
    table.head(0).hover()
    table.head(0).locator(".menu").click()
    table.output.get_by_label("From", exact=True).fill("1000")
    table.output.get_by_label("To", exact=True).fill("5_999")
    page.keyboard.press("Enter")
    table.wait("([root]) => root.querySelectorAll('.chip').length === 2")
    count = (last + 1) * 5
    table.wait_foot(f"{count} of 100000000 rows")
    table.button("Write these rows to a Parquet file").click()
    table.wait_foot("table.parquet written")
    written = duckdb.sql(f"select count(*), min(n), max(rest) from '{notebooks_copy}/table.parquet'").fetchall()
    assert written == [(count, 1000, last)]


def test_a_table_scrolls_while_a_cell_runs(page, lab, notebook):
    table = Table(page, 0)
    page.evaluate(
        """async () => {
            const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
            notebook.activeCellIndex = notebook.widgets.length - 1;
            await app.commands.execute('notebook:insert-cell-below');
            notebook.activeCell.model.sharedModel.setSource('loop { std::thread::sleep(std::time::Duration::from_millis(20)); }');
            app.commands.execute('notebook:run-cell');
        }"""
    )
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'")
    while table.output.locator(".chip .remove").count():
        chips = table.output.locator(".chip").count()
        table.output.locator(".chip .remove").first.click()
        table.wait("([root, chips]) => root.querySelectorAll('.chip').length < chips", chips)
    table.wait("([root]) => !root.querySelector('.shape.busy')")
    assert table.foot.startswith("100000000 rows")
    table.output.locator(".scroller").evaluate("element => { element.scrollTop = element.scrollHeight / 3; }")
    table.wait("([root]) => !root.querySelector('.cell.missing') && Number(root.querySelector('.line').children[2].textContent) < 800")
    assert page.evaluate("[...window.jupyterapp.shell.currentWidget.content.model.cells].at(-1).toJSON().outputs.length") == 0
    page.evaluate("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    table.wait_live()
    page.evaluate(
        """async () => {
            const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
            notebook.activeCellIndex = notebook.widgets.length - 1;
            await app.commands.execute('notebook:delete-cell');
        }"""
    )


def test_values_are_never_markup(page, lab, notebook, outputs_dir):
    table = Table(page, 1)
    table.wait_live()
    heads = table.output.locator(".column .label").all_inner_texts()
    assert heads == [HOSTILE.replace('"', "'"), "<b>x</b>", "שם"]
    rows = table.rows()
    assert [row[1] for row in rows] == [HOSTILE.replace('"', "'"), "null", '""', '"␣␣"']
    assert [row[2] for row in rows] == ["NaN", "∞", "null", "-1.5"]
    assert [row[3] for row in rows] == ["שלום", "two⏎lines", "</td>", "&amp;"]
    kinds = table.output.evaluate("o => [...o.shadowRoot.querySelectorAll('.line')].map(l => l.children[1].className.split(' ')[1])")
    assert kinds == ["plain", "null", "blank", "blank"]
    table.output.locator(".cell").nth(0).dblclick()
    assert table.output.locator(".popup .value").inner_text() == HOSTILE.replace('"', "'")
    page.keyboard.press("Escape")
    table.head(0).hover()
    table.head(0).locator(".menu").click()
    table.output.get_by_label("Text").fill("<img")
    page.keyboard.press("Enter")
    table.wait_foot("1 of 4 rows")
    page.screenshot(path=outputs_dir / "table-hostile.png")
    assert page.evaluate("window.hacked") is None
    assert table.output.evaluate("o => o.shadowRoot.querySelectorAll('img, script, b, td').length") == 0
    table.output.locator(".chip .remove").click()
    table.wait_foot("4 rows")


def frames(page, count: int = 3):
    """Until the screen was drawn that often, so everything that was to be drawn is."""
    page.evaluate(
        """async count => {
            while (count--) await new Promise(resolve => requestAnimationFrame(resolve));
        }""",
        count,
    )


def test_clicks_outlast_what_is_drawn_under_them(page, lab, notebook):
    """The table is drawn between each press and its release: by the press, which selects, and by what else may come meanwhile."""
    table = Table(page, 1)
    table.wait_live()

    def click(target, times: int = 1):
        target.hover()
        for count in range(1, times + 1):
            page.mouse.down(click_count=count)
            # What an answer of the kernel leads to.
            table.output.locator(".scroller").evaluate("element => element.dispatchEvent(new Event('scroll'))")
            frames(page)
            page.mouse.up(click_count=count)

    click(table.output.locator(".cell").nth(0), times=2)
    assert table.output.locator(".popup .value").inner_text() == HOSTILE.replace('"', "'")
    page.keyboard.press("Escape")
    assert table.output.locator(".cell.cursor").count() == 1

    table.head(1).hover()
    click(table.head(1).locator(".menu"))
    table.output.get_by_label("From", exact=True).fill("-2")
    page.keyboard.press("Enter")
    # NaN is above all numbers, as in sorts.
    table.wait_foot("3 of 4 rows")
    click(table.output.locator(".chip .text"))
    assert table.output.locator(".popup .title").inner_text() == "<b>x</b>"
    page.keyboard.press("Escape")
    code = table.button("The filters and the order as code")
    code.focus()
    click(code)
    assert "x!(" in table.output.locator(".popup .value").inner_text()
    page.keyboard.press("Escape")
    click(table.output.locator(".chip .remove"))
    table.wait_foot("4 rows")
    click(table.head(1).locator(".name"))
    table.wait_first("-1.5", 2)
    click(table.head(1).locator(".name"))
    table.wait_first("NaN", 2)
    click(table.head(1).locator(".name"))
    table.wait("([root]) => !root.querySelector('.arrow')")


def shows_saved(table: Table):
    """The kernel that knew the frame is gone: the first rows are there, and nothing that cannot work is offered."""
    table.wait("([root]) => root.querySelector('.line') && !root.querySelector('.root.live')")
    assert "the first 100 rows" in table.foot and "run the cell again" in table.foot
    assert table.output.locator(".foot button").count() == 0
    assert table.output.locator("svg.picture").count() == 0
    table.head(0).locator(".name").click()
    table.head(0).locator(".name").click()
    table.wait_first("99")


def test_saved_tables_outlive_their_kernel(page, lab, notebook, outputs_dir):
    table = Table(page, 0)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    # The page is loaded again, and the kernel lives: so do the tables.
    open_notebook(page, lab, notebook)
    table = Table(page, 0)
    table.wait_live()
    table.output.locator(".scroller").evaluate("element => { element.scrollTop = element.scrollHeight; }")
    table.wait("([root]) => [...root.querySelectorAll('.line')].at(-1)?.children[1]?.textContent === '99999999'")
    restart(page)
    shows_saved(table)
    page.screenshot(path=outputs_dir / "table-saved.png")
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    open_notebook(page, lab, notebook)
    shows_saved(Table(page, 0))
    assert "Error displaying widget" not in page.content()


def test_notebook_7_draws_tables(page, lab, notebook, outputs_dir):
    open_in_notebook_7(page, lab, notebook)
    shows_saved(Table(page, 0))
    # In the output the keys are the table's.
    page.locator(".jp-Cell").nth(1).locator(".jp-InputArea-editor").click()
    page.keyboard.press("Control+Enter")
    table = Table(page, 1)
    table.wait_live()
    assert [row[2] for row in table.rows()] == ["NaN", "∞", "null", "-1.5"]
    table.head(1).locator(".name").click()
    table.wait_first("-1.5", 2)
    page.screenshot(path=outputs_dir / "table-notebook7.png")
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_tables_in_both_themes(page, lab, notebooks_copy, outputs_dir, theme):
    open_notebook(page, lab, "01-tour.ipynb")
    # Promises that the page itself holds: one that only the test waits for may be collected.
    page.evaluate("theme => { window.held = window.jupyterapp.commands.execute('apputils:change-theme', { theme }); }", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
    page.evaluate(
        """() => {
            const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
            notebook.activeCellIndex = 0;
            window.held = (async () => {
                await app.commands.execute('notebook:insert-cell-above');
                notebook.activeCell.model.sharedModel.setSource('read_parquet("data/flights.parquet")');
                await app.commands.execute('notebook:run-cell');
            })();
        }"""
    )
    table = Table(page, 0)
    table.wait("([root]) => root.querySelectorAll('svg.picture').length >= 5")
    page.screenshot(path=outputs_dir / f"table-{theme.rsplit(' ', 1)[1].lower()}.png")
    # Text stands out from what is behind it: WCAG's 4.5 to 1.
    contrast = table.output.evaluate(
        """output => {
            const cell = output.shadowRoot.querySelector('.cell');
            const light = text => {
                const [r, g, b] = text.match(/[0-9.]+/g).map(Number).map(v => v / (text.startsWith('color(') ? 1 : 255))
                    .map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const text = light(getComputedStyle(cell).color), back = light(getComputedStyle(cell.parentElement).backgroundColor);
            return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
        }"""
    )
    assert contrast > 4.5, contrast


def test_columns_are_found_hidden_pinned_and_resized_and_cells_copied(page, lab, notebooks_copy):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    # The frame that the test before has shown.
    table = Table(page, 0)
    table.wait_live()
    table.output.locator(".search").fill("carr")
    table.wait("([root]) => root.querySelector('.cell.cursor')?.textContent === 'UA'")
    labels = lambda: table.output.locator(".column .label").all_inner_texts()
    assert "carrier" in labels() and "year" not in labels()

    head = table.output.locator(".column", has=page.locator(".label", has_text="carrier"))
    head.hover()
    head.locator(".menu").click()
    table.output.get_by_role("button", name="Keep the column in view").click()
    table.output.locator(".scroller").evaluate("element => { element.scrollLeft = 0; }")
    table.wait("([root]) => root.querySelectorAll('.column .label')[1]?.textContent === 'year'")
    assert labels()[0] == "carrier"
    second = table.head(1)
    second.hover()
    second.locator(".menu").click()
    table.output.get_by_role("button", name="Hide the column").click()
    table.wait("([root]) => root.querySelectorAll('.column .label')[1]?.textContent === 'month'")
    assert "1 hidden" in table.foot

    width = "output => parseFloat(output.shadowRoot.querySelectorAll('.column')[1].style.width)"
    before = table.output.evaluate(width)
    handle = table.head(1).locator(".handle").bounding_box()
    page.mouse.move(handle["x"] + 3, handle["y"] + 20)
    page.mouse.down()
    page.mouse.move(handle["x"] + 63, handle["y"] + 20, steps=3)
    page.mouse.up()
    assert abs(table.output.evaluate(width) - before - 60) <= 1

    # Two rows and three columns with the keyboard; then more than is on the page, which the session writes.
    table.output.locator(".cell").first.click()
    for key in ["Shift+ArrowDown", "Shift+ArrowRight", "Shift+ArrowRight", "Control+c"]:
        page.keyboard.press(key)
    table.wait_foot("copied 2 rows")
    assert page.evaluate("navigator.clipboard.readText()") == "UA\t1\t1\nUA\t1\t1"
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+Shift+End")
    table.wait("([root]) => root.querySelector('.line:last-child .cell.cursor')")
    page.keyboard.press("Control+c")
    table.wait_foot("copied 336776 rows")
    lines = page.evaluate("navigator.clipboard.readText()").split("\n")
    # The third column in view, of the days: the file ends with the flights of the 30th of September.
    assert (len(lines), lines[0], lines[-1]) == (336_776, "1", "30")
    page.keyboard.press("Enter")
    assert table.output.locator(".popup .value").inner_text() == "30"
    page.keyboard.press("Escape")
    assert table.output.locator(".popup").count() == 0
