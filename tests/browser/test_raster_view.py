"""A raster in a browser: keys, the wheel, a drag and a box move its window, and the kernel draws it again."""

import pytest

from lab import open_notebook, write_notebook

CELLS = [
    'let lattice = sql("select n % 100 as x, n // 100 as y from range(4000) as t(n)");\n'
    'lattice.plot().raster("x", "y").title("Lattice")',
]


@pytest.fixture(scope="module")
def notebook(notebooks_copy) -> str:
    return write_notebook(notebooks_copy, "raster-view.ipynb", CELLS)


class View:
    def __init__(self, page):
        self.page = page
        self.output = page.locator(".onrush-output")
        self.output.wait_for()
        page.wait_for_function("output => output.classList.contains('live')", arg=self.output.element_handle())
        self.area = self.output.locator(".area")

    def rows(self) -> int:
        return int(self.output.locator(".picture").get_attribute("alt").rsplit("\n", 1)[1].split(" rows")[0].replace("\u202f", ""))

    def wait_rows(self, test: str):
        """Until the picture that the kernel drew has this number of rows, and none is on its way."""
        self.page.wait_for_function(
            f"""output => {{
                const root = output.shadowRoot;
                const rows = Number(root.querySelector('.picture').alt.split('\\n').at(-1).replace(' rows', '').replace('\u202f', ''));
                return !root.querySelector('.area').classList.contains('moving') && ({test})(rows);
            }}""",
            arg=self.output.element_handle(),
        )


def test_looking_around(page, lab, notebook, outputs_dir):
    open_notebook(page, lab, notebook)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    view = View(page)
    assert view.rows() == 4000
    page.screenshot(path=outputs_dir / "raster-view.png")

    # By keys: a window of two thirds of the sides, moved, and the whole again.
    view.area.focus()
    page.keyboard.press("+")
    view.wait_rows("rows => rows > 1500 && rows < 2000")
    page.screenshot(path=outputs_dir / "raster-view-zoomed.png")
    page.keyboard.press("ArrowLeft")
    view.wait_rows("rows => rows > 1500 && rows < 2000")
    page.keyboard.press("0")
    view.wait_rows("rows => rows === 4000")

    # By the wheel, which belongs to the page until the picture is clicked: the focus is on it here.
    box = view.area.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.wheel(0, -200)
    view.wait_rows("rows => rows < 3000")
    page.keyboard.press("0")
    view.wait_rows("rows => rows === 4000")

    # A drag moves the window: half of the rows leave it.
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + box["width"] / 2, middle[1], steps=4)
    page.mouse.up()
    view.wait_rows("rows => rows >= 1960 && rows <= 2040")
    page.keyboard.press("0")
    view.wait_rows("rows => rows === 4000")

    # A box with Shift: a quarter of the area.
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.25)
    page.mouse.down()
    page.mouse.move(*(box["x"] + box["width"] * 0.75, box["y"] + box["height"] * 0.75), steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    view.wait_rows("rows => rows > 900 && rows < 1100")


def test_without_a_kernel_the_picture_stays(page):
    view = View(page)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_function("output => !output.classList.contains('live')", arg=view.output.element_handle())
    assert view.output.locator(".picture").is_visible() and not view.area.is_visible()


def test_a_box_on_a_map_grows_until_pixels_are_squares(page, lab, notebooks_copy, outputs_dir):
    cell = (
        'let degrees = sql("select n % 40 as lon, n // 40 as lat from range(1600) as t(n)");\n'
        'degrees.plot().raster("lon", "lat").map().title("Degrees")'
    )
    open_notebook(page, lab, write_notebook(notebooks_copy, "map-view.ipynb", [cell]))
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    view = View(page)
    assert view.rows() == 1600
    page.screenshot(path=outputs_dir / "map-view.png")
    box = view.area.bounding_box()
    left, top = box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.6
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + box["width"] * 0.4, top + box["height"] * 0.1, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    # The picture stays where it is: the window that was drawn is the one that is wanted.
    view.wait_rows("rows => rows > 50 && rows < 1600")
    page.screenshot(path=outputs_dir / "map-view-zoomed.png")
