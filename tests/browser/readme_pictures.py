"""Takes the pictures of README.md in JupyterLab, into docs/pictures: no test. By hand, after a build of the product:
.venv/bin/python -m pytest tests/browser/readme_pictures.py"""

import io
from pathlib import Path

import pytest
from PIL import Image

from lab import open_notebook, write_notebook
from test_screenshots import FONTS, run

PICTURES = Path(__file__).resolve().parents[2] / "docs/pictures"
LARGEST = 150_000
DATA = """let flights = read_parquet("data/flights.parquet");
let airlines = read_csv("data/airlines.csv");
let titanic = read_csv("data/titanic.csv");
let (train, test) = train_test_split(&titanic, split(0.25).stratify("survived").random_state(42));"""
# Name of the picture: the cell, and the condition under which it is drawn.
CELLS = {
    "table": (
        """flights
    .filter(x!(dep_delay.is_not_null() && origin in ["JFK", "LGA"]))
    .with_columns(x!(late = dep_delay > 15))
    .left_join(&airlines, "carrier")
    .select(["time_hour", "name", "origin", "dest", "dep_delay", "arr_delay", "distance", "late"])""",
        "!!root?.querySelector('.root.live') && !root.querySelector('.cell.missing') && !!root.querySelector('.column .picture')"
        " && !root.querySelector('.picture.waiting')",
    ),
    "dashboard": (
        """dashboard(&flights)
    .number(x!(flights = len(), "mean delay" = dep_delay.mean(), "on time" = (dep_delay <= 15).mean()))
    .raster("distance", "air_time")
    .bar("carrier")
    .histogram("dep_delay").range(-20, 180)
    .line("hour", "dep_delay")
    .title("Flights from New York, 2013")""",
        "!!area.querySelector('.onrush-output.live') && !root.querySelector('.root').hasAttribute('aria-busy')",
    ),
    "error": (
        """flights
    .group_by("carrier")
    .agg(x!(flights = len(), late_share = (dep_dealy > 15).mean()))""",
        "!!area.querySelector('.onrush-output *')?.shadowRoot",
    ),
    "models": (
        """let prep = ColumnTransformer::new()
    .on(["age", "fare"], (SimpleImputer::new().strategy("median"), StandardScaler::new()))
    .on(["sex", "embarked", "pclass"], OneHotEncoder::new());
show(&make_pipeline((prep, LogisticRegression::new())).fit(&train, "survived"));""",
        "area.innerText.length > 100 || !!root || !!area.querySelector('table, svg, img')",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def cells(page, lab, notebooks_copy):
    name = write_notebook(notebooks_copy, "readme.ipynb", [DATA, *(source for source, _ in CELLS.values())])
    page.set_viewport_size({"width": 1120, "height": 1400})
    open_notebook(page, lab, name)
    page.add_style_tag(content=FONTS)
    # The notebook alone, without the panels at its sides.
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    for at in range(len(CELLS) + 1):
        run(page, at, waits=True)
    # The active cell has a toolbar.
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0")


@pytest.mark.parametrize("name", CELLS)
def test_take(page, cells, name):
    at = list(CELLS).index(name) + 1
    page.evaluate("at => window.jupyterapp.shell.currentWidget.content.scrollToItem(at, 'start')", at)
    page.wait_for_function(
        """at => { const area = window.jupyterapp.shell.currentWidget.content.widgets[at].node.querySelector('.jp-OutputArea');
        const root = area.querySelector('.onrush-output')?.shadowRoot; return %s; }"""
        % CELLS[name][1],
        arg=at,
    )
    # Vega and rasters draw once more when their fonts and data are there.
    page.wait_for_timeout(3000)
    cell = page.evaluate_handle("at => window.jupyterapp.shell.currentWidget.content.widgets[at].node", at).as_element()
    taken = Image.open(io.BytesIO(cell.screenshot(animations="disabled"))).convert("RGB")
    PICTURES.mkdir(exist_ok=True)
    taken.quantize(128, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)
    assert (PICTURES / f"{name}.png").stat().st_size <= LARGEST
