"""A graph in a browser: hover, selection into a later cell, search, keys, the live layout; what is left without a kernel."""

import json

import pytest

from lab import cells, open_notebook, write_notebook

HOSTILE = '<img src=x onerror="window.hacked = 1">'
KARATE = (
    "0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8 0 10 0 11 0 12 0 13 0 17 0 19 0 21 0 31 1 2 1 3 1 7 1 13 1 17 1 19 1 21 1 30 2 3 2 7 2 8 2 9 2 13"
    " 2 27 2 28 2 32 3 7 3 12 3 13 4 6 4 10 5 6 5 10 5 16 6 16 8 30 8 32 8 33 9 33 13 33 14 32 14 33 15 32 15 33 18 32 18 33 19 33 20 32"
    " 20 33 22 32 22 33 23 25 23 27 23 29 23 32 23 33 24 25 24 27 24 31 25 31 26 29 26 33 27 33 28 31 28 33 29 32 29 33 30 32 30 33 31 32"
    " 31 33 32 33"
)
ENDS = KARATE.split()
OFFICER = {8, 9, 14, 15, 18, *range(20, 34)} - {21}
CLUBS = [(HOSTILE if i == 33 else "officer") if i in OFFICER else "Mr. Hi" for i in range(34)]
CELLS = [
    f'let edges = frame! {{ a: [{", ".join(ENDS[0::2])}], b: [{", ".join(ENDS[1::2])}] }};\n'
    f'let people = frame! {{ id: [{", ".join(map(str, range(34)))}], club: {json.dumps(CLUBS)} }};\n'
    'let v = edges.graph("a", "b").with_nodes(people, "id").view().color("club").size("degree").title("Karate club");\nv',
    'println!("{:?}", v.selection().column::<i64>("node").to_vec());',
    'let spiral = sql("select n as a, (n + 7) % 20000 as b from range(20000) as t(n)");\n'
    'let places = sql("select n as id, sqrt(n) * cos(n / 50.0) as x, sqrt(n) * sin(n / 50.0) as y from range(20000) as t(n)");\n'
    'spiral.graph("a", "b").with_nodes(places, "id").view().positions("x", "y").width(500).height(400)',
]


@pytest.fixture(scope="module")
def notebook(notebooks_copy) -> str:
    return write_notebook(notebooks_copy, "graph-view.ipynb", CELLS)


def record_requests(page):
    """Counts the requests of pictures by their method in `window.asked`: those without an answer, and those with one."""
    page.evaluate(
        """() => {
            const one = () => ({ open: 0, answered: 0, read: 0, nodes: 0 });
            window.asked = { select: one(), raster: one() };
            const waiting = new Map();
            const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
            kernel.anyMessage.connect((_, { msg, direction }) => {
                const { comm_id, data } = msg.content;
                const key = `${comm_id}:${data?.id}`;
                if (msg.header.msg_type !== 'comm_msg') return;
                if (direction === 'send' && window.asked[data.method]) {
                    waiting.set(key, data);
                    window.asked[data.method].open++;
                } else if (direction === 'recv' && waiting.has(key)) {
                    const { method, params } = waiting.get(key);
                    waiting.delete(key);
                    window.asked[method].open--;
                    window.asked[method].answered++;
                    window.asked[method].nodes = params.nodes?.length ?? 0;
                }
            });
        }"""
    )


class View:
    """The drawn graph."""

    def __init__(self, page, cell: int = 0):
        self.page = page
        # JupyterLab draws only cells in view.
        page.evaluate("cell => window.jupyterapp.shell.currentWidget.content.scrollToItem(cell, 'smart')", cell)
        self.output = page.locator(f'.jp-Cell[data-windowed-list-index="{cell}"] .onrush-output')
        self.output.locator("canvas").wait_for()
        self.canvas = self.output.locator("canvas")

    def wait(self, test: str, argument=None):
        handle = self.output.element_handle()
        self.page.wait_for_function(f"([output, argument]) => ({test})([output.shadowRoot, argument])", arg=[handle, argument])

    def wait_live(self):
        self.page.wait_for_function("output => output.classList.contains('live')", arg=self.output.element_handle())

    def wait_status(self, text: str):
        self.wait("([root, text]) => root.querySelector('.status').textContent === text", text)

    def pixels(self) -> str:
        """The picture once it is still: the same in five frames of the screen, after the one that draws the last change."""
        return self.canvas.evaluate(
            """async canvas => {
                const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
                await frame();
                let [last, same] = ['', 0];
                while (same < 5) {
                    await frame();
                    const now = canvas.toDataURL();
                    same = now === last ? same + 1 : 0;
                    last = now;
                }
                return last;
            }"""
        )

    def wait_pixels(self, test: str, other: str):
        """Until the test holds for the picture and the other one."""
        self.page.wait_for_function(
            f"([canvas, other]) => ({test})(canvas.toDataURL(), other)", arg=[self.canvas.element_handle(), other]
        )

    @property
    def spoken(self) -> str:
        return self.output.locator(".unseen").inner_text()

    def selection(self) -> list[int]:
        """What the second cell reads, after the kernel has answered a new selection, which is the shown one."""
        self.wait(
            """([root]) => {
                const { answered, read, open, nodes } = window.asked.select;
                return open === 0 && answered > read && nodes === Number.parseInt(root.querySelector('.status').textContent || '0');
            }"""
        )
        self.page.evaluate("window.asked.select.read = window.asked.select.answered")
        self.page.evaluate(
            """async () => {
                const notebook = window.jupyterapp.shell.currentWidget.content;
                notebook.activeCellIndex = 1;
                await window.jupyterapp.commands.execute('notebook:run-cell');
            }"""
        )
        [output] = cells(self.page)[1]["outputs"]
        return json.loads("".join(output["text"]))


def test_the_karate_club(page, lab, notebook, outputs_dir):
    open_notebook(page, lab, notebook)
    record_requests(page)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    view = View(page)
    view.wait_live()
    assert view.output.locator(".foot .shape").inner_text() == "34 nodes, 78 edges"
    assert [entry.inner_text() for entry in view.output.locator(".key .entry").all()] == ["officer", "Mr. Hi", HOSTILE]
    page.screenshot(path=outputs_dir / "graph-view.png")

    # By keys: the largest nodes are 33, 0, 32.
    view.canvas.focus()
    page.keyboard.press("Tab")
    assert view.spoken.startswith("33, degree 17")
    assert HOSTILE in view.output.locator(".tip").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    view.wait_status("1 node selected")
    assert view.selection() == [0]
    page.screenshot(path=outputs_dir / "graph-view-selected.png")

    # By search.
    view.output.locator(".search").fill("32")
    assert view.output.locator(".results li").all_inner_texts() == ["32"]
    page.keyboard.press("Enter")
    view.pixels()
    assert view.selection() == [32]

    # The node flown to is in the middle: a click there selects it alone, with Shift it goes.
    box = view.canvas.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Shift")
    page.mouse.click(*middle)
    page.keyboard.up("Shift")
    view.wait_status("")
    page.mouse.click(*middle)
    view.wait_status("1 node selected")

    # All of them by a box over everything.
    view.canvas.focus()
    page.keyboard.press("0")
    view.pixels()
    view.output.get_by_role("button", name="Select by a box").click()
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + box["height"] - 3, steps=5)
    page.screenshot(path=outputs_dir / "graph-view-box.png")
    page.mouse.up()
    view.wait_status("34 nodes selected")
    assert view.selection() == list(range(34))
    view.canvas.focus()
    page.keyboard.press("Escape")
    view.wait_status("")
    assert view.selection() == []
    assert page.evaluate("window.hacked") is None


def test_the_wheel_zooms_a_view_that_has_the_focus(page):
    view = View(page)
    view.canvas.evaluate("canvas => canvas.blur()")
    view.canvas.hover(position={"x": 5, "y": 5})
    before = view.pixels()
    page.mouse.wheel(0, 40)
    # The page scrolls, and the picture says how it is zoomed.
    view.output.locator(".hint").wait_for()
    assert view.pixels() == before
    view.canvas.focus()
    page.mouse.wheel(0, -240)
    view.wait_pixels("(now, before) => now !== before", before)
    page.keyboard.press("0")
    view.wait_pixels("(now, before) => now === before", before)


def test_the_layout_runs_and_goes_back(page, outputs_dir):
    view = View(page)
    before = view.pixels()
    view.output.get_by_role("button", name="Run the layout").click()
    view.wait("([root]) => root.querySelector('.unseen').textContent === 'the layout has finished'")
    assert view.pixels() != before
    page.screenshot(path=outputs_dir / "graph-view-layout.png")
    view.output.get_by_role("button", name="Back to the first positions").click()
    view.wait_pixels("(now, before) => now === before", before)


def test_a_raster_is_drawn_anew_where_the_camera_rests(page, outputs_dir):
    view = View(page, 2)
    view.wait_live()
    assert "20000 nodes" in view.output.locator(".foot .shape").inner_text().replace("\u202f", "")
    page.wait_for_function("() => window.asked.raster.answered > 0 && window.asked.raster.open === 0")
    view.pixels()
    view.canvas.focus()
    # The old picture is enlarged at once, and replaced by a sharp one.
    enlarged = view.canvas.evaluate(
        """async canvas => {
            for (let i = 0; i < 6; i++) canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
            await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            return canvas.toDataURL();
        }"""
    )
    view.wait_pixels("(now, enlarged) => now !== enlarged", enlarged)
    page.wait_for_function("() => window.asked.raster.open === 0")
    view.pixels()
    page.screenshot(path=outputs_dir / "graph-view-raster.png")
    assert view.output.locator(".foot .error").inner_text() == ""


def test_a_dark_page_and_no_kernel(page, outputs_dir):
    view = View(page)
    light = view.pixels()
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.wait_for_function("document.body.dataset.jpThemeName === 'JupyterLab Dark'")
    view.wait_pixels("(now, light) => now !== light", light)
    view.pixels()
    page.screenshot(path=outputs_dir / "graph-view-dark.png")
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' })")
    # The kernel ends: the picture stays, and can be searched.
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_function("output => !output.classList.contains('live')", arg=view.output.element_handle())
    view.output.locator(".search").fill("17")
    page.keyboard.press("Enter")
    view.wait_status("1 node selected")
    assert view.output.locator(".foot .error").inner_text() == ""
