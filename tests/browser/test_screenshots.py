"""Every kind of output in light and in dark, beside the pictures in `references`. `cargo xtask screenshots` takes them, and with
`--bless` makes what there is the references."""

import io
import json
import os
from pathlib import Path

import pytest
from PIL import Image

import pictures
from lab import open_notebook

REFERENCES = Path(__file__).resolve().parent / "references"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
DATA = """let flown = read_parquet("data/flights.parquet").select(["carrier", "origin", "dep_delay", "distance", "time_hour"]).head(500);
let birds = read_csv("data/penguins.csv");"""
HOSTILE = "<img src=x onerror='window.hostile = 1'>"
# What is shown, by the name of its picture.
KINDS = {
    "value": 'vec![("UA", Some(1.5)), ("AA", None)]',
    "table": "flown",
    "table-hostile": f"""frame! {{ "{HOSTILE}": [Some("{HOSTILE}"), None, Some(""), Some("  ")],
        "<b>x</b>": [Some(f64::NAN), Some(f64::INFINITY), None, Some(-1.5)], "שם": ["שלום", "two\\nlines", "</td>", "&amp;"] }}""",
    "error": "fn late(all: &[i32], nth: usize) -> i32 {\n    all[nth]\n}\n[0usize, 7].iter().map(|nth| late(&[1, 2], *nth)).sum::<i32>()",
    "error-compile": "let v = vec![1, 2];\nlet w = v;\nv.len()",
    "error-column": "flown.filter(x!(dep_dela > 3))",
    "warning": "fn main() {\n    println!(\"in main\");\n}",
    "plot": 'flown.group_by("carrier").agg(x!(delay = dep_delay.mean())).sort("delay").plot().bar("carrier", "delay").title("Mean delay")',
    "plot-horizontal": 'flown.plot().bar("carrier", len()).color("origin").stacked().horizontal().x_label("flights")',
    "plot-panels": 'flown.plot().hist("distance").bins(5).facet("origin").free_y()',
    "plot-time": 'flown.plot().line("time_hour", "dep_delay").aggregate("mean").every("1h").hline(60.0, "an hour")',
    "plot-heat": 'flown.plot().heatmap("carrier", "origin").color("dep_delay").title("Mean delay")',
    "plot-box": 'flown.plot().box_plot("origin", "distance")',
    "plot-scatter": 'flown.plot().scatter("distance", "dep_delay").color("origin").size_by("distance")',
    "plot-density": 'flown.plot().density("distance").color("origin")',
    "plot-violin": 'birds.plot().violin("species", "body_mass_g").order(["Adelie", "Chinstrap", "Gentoo"])',
    "plot-strip": 'birds.plot().strip("species", "body_mass_g").color("sex").opacity(0.6)',
    "plot-ecdf": 'birds.plot().ecdf("body_mass_g").by("species")',
    "plot-points": 'birds.plot().point_plot("species", "body_mass_g").color("sex")',
    "plot-regression": """birds.plot().scatter("bill_length_mm", "bill_depth_mm").color("species")
        .regression("bill_length_mm", "bill_depth_mm").color("species")""",
    "plot-pair": 'birds.plot().pair(["bill_length_mm", "bill_depth_mm", "body_mass_g"]).color("species")',
    "plot-hexbin": 'birds.plot().hexbin("bill_length_mm", "bill_depth_mm").bins(20)',
    "plot-band": """birds.group_by(x!(year)).agg(x!(mean = body_mass_g.mean(), low = body_mass_g.quantile(0.1), high = body_mass_g.quantile(0.9)))
        .sort("year").plot().line("year", "mean").band("year", "low", "high").hline(4000.0, "4 kg").vspan(2007.8, 2008.2, "2008")""",
    "plot-candles": """birds.group_by(x!(year)).agg(x!(open = body_mass_g.first(), high = body_mass_g.max(), low = body_mass_g.min(),
        close = body_mass_g.last())).sort("year").plot().candlestick("year", "open", "high", "low", "close")""",
    "plot-roc": """birds.filter(x!(sex.is_not_null() && body_mass_g.is_not_null()))
        .with_columns(x!(male = sex == "male")).plot().roc("male", ["body_mass_g", "bill_depth_mm"])""",
    "plot-confusion": """birds.with_columns(x!(guess = if body_mass_g > 4700 { "Gentoo" } else { "Adelie" }))
        .plot().confusion_matrix("species", "guess")""",
    "raster": 'birds.plot().raster("bill_length_mm", "bill_depth_mm").color("species").spread(2)',
    "map": """frame! { "state": ["NY", "CA", "TX", "FL"], "n": [4, 9, 7, 5] }.plot().choropleth("state", "n").projection("albers_usa")""",
    "dashboard": 'dashboard(&birds).number(x!(birds = len())).histogram("body_mass_g").bar("species").raster("bill_length_mm", "bill_depth_mm")',
    "graph": 'flown.graph("carrier", "origin").simple().plot().size("degree").color("degree").title("Carriers and airports")',
    "graph-card": 'flown.graph("carrier", "origin").weight("distance")',
    "controls": 'vbox((slider(0..60).initial(12).label("above"), dropdown(["UA", "AA"]).label("of"), checkbox(true).label("late"), button("again")))',
    "interact": 'interact!(|threshold: 0..60, carrier: ["UA", "AA"], late: true| { println!("{carrier} above {threshold}, {late}"); })',
    "explain": 'flown.filter(x!(dep_delay > 3)).group_by("carrier").agg(x!(n = len())).explain()',
    "vars": ":vars",
    "top": ":top",
    "progress-done": 'for _ in progress(0..4).label("files") { std::thread::sleep(std::time::Duration::from_millis(250)); }',
}
RUNNING = 'for _ in progress(0..10000).label("files") { for _ in progress(0..9000).label("parts") { std::thread::sleep(std::time::Duration::from_millis(100)); } }'
# Numbers in these are never twice the same.
UNSTEADY = {"vars", "top", "progress-done", "progress-running", "explain"}
# Whose form without scripts is looked at, too.
STATIC = ["table", "plot", "graph", *(kind for kind in KINDS if kind.startswith("plot-"))]
# Of which a picture without their style is taken, too.
UNSTYLED = ["error", "error-column", "table"]
FONTS = """:root { --jp-ui-font-family: 'DejaVu Sans' !important; --jp-content-font-family: 'DejaVu Sans' !important;
    --jp-code-font-family: 'DejaVu Sans Mono' !important; --jp-code-font-family-default: 'DejaVu Sans Mono' !important; }
    .jp-Spinner, #jupyterlab-splash, .Toastify, #onrush-copy .jp-OutputArea-promptOverlay { display: none !important; }
    #onrush-copy .jp-OutputPrompt { display: none !important; }"""
# A copy of the cell's output that nothing changes any more, over the page; numbers as zeros where they differ each time.
COPY = r"""([index, unsteady, styled, progress]) => {
    const notebookCell = window.jupyterapp.shell.currentWidget.content.widgets[index];
    const area = notebookCell.node.querySelector('.jp-OutputArea');
    const outputs = notebookCell.model.outputs.toJSON();
    document.getElementById('onrush-copy')?.remove();
    const copy = document.createElement('div');
    copy.id = 'onrush-copy';
    copy.style.cssText = 'position:fixed;left:0;top:0;width:860px;height:480px;overflow:hidden;z-index:99999;padding:8px;'
        + 'background:var(--jp-layout-color0)';
    const clone = node => {
        const made = node.cloneNode(false);
        if (!styled && node.localName === 'style') return document.createComment('');
        if (node.shadowRoot) {
            const root = made.attachShadow({mode: 'open'});
            root.append(...[...node.shadowRoot.childNodes].map(clone));
            if (styled) root.adoptedStyleSheets = [...node.shadowRoot.adoptedStyleSheets];
        }
        if (node.hasChildNodes()) made.append(...[...node.childNodes].map(clone));
        if (unsteady && node.nodeType === Node.TEXT_NODE && node.parentNode.localName !== 'style') made.textContent = node.textContent.replace(/\d[\d.,\u202f]*/g, '0');
        if (unsteady && node.localName === 'progress') made.setAttribute('value', 0.5);
        // Which facts there are depends on how long it has run.
        if (unsteady && node.previousSibling?.localName === 'b' && node.closest?.('.onrush-progress-line')) made.textContent = '0 of 0 · 0 s';
        if (node.localName === 'canvas') made.getContext('2d').drawImage(node, 0, 0);
        if (node.localName === 'select') made.value = node.value;
        return made;
    };
    const cell = document.createElement('div');
    cell.className = 'jp-Notebook jp-Cell jp-CodeCell';
    cell.style.cssText = 'display:block;contain:none;padding:0;border:none;overflow:visible;height:auto;min-height:0';
    const copied = clone(area);
    // A machine that was slow has said how far it was.
    const isLine = (_, i) => !progress && outputs[i]?.metadata?.onrush?.progress;
    [...copied.children].filter(isLine).forEach(line => line.remove());
    cell.append(copied);
    copy.append(cell);
    document.body.append(copy);
}"""


@pytest.fixture(scope="module")
def taken(notebooks_copy, page, lab) -> dict:
    """All pictures, by name and theme."""
    name = "pictures.ipynb"
    spec = {"kernelspec": {"name": "onrush", "display_name": "Rust", "language": "rust"}}
    cell = lambda at, source: {"cell_type": "code", "id": f"cell-{at}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}  # fmt: skip
    sources = [DATA, *KINDS.values(), RUNNING]
    content = {"cells": [cell(at, source) for at, source in enumerate(sources)], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}
    (notebooks_copy / name).write_text(json.dumps(content))
    open_notebook(page, lab, name)
    page.add_style_tag(content=FONTS)
    for at, kind in enumerate(["", *KINDS, "progress-running"]):
        run(page, at, waits=kind != "progress-running")
        # Notebooks of earlier tests may be about to end.
        while kind == "top" and len(text(page, at).splitlines()) > 7:
            page.wait_for_timeout(300)
            run(page, at, waits=True)
    running = len(sources) - 1
    page.wait_for_selector(".onrush-progress-stop:visible")
    shots = {}
    for theme in THEMES:
        change_theme(page, theme)
        for at, kind in enumerate(["", *KINDS, "progress-running"]):
            if kind:
                shots[kind, theme] = shot(page, at, kind)
    for kind in UNSTYLED:
        shots[f"{kind}-unstyled", "dark"] = shot(page, list(KINDS).index(kind) + 1, kind, styled=False)
    for kind in STATIC:
        shots[f"{kind}-static", "light"], shots[f"{kind}-static", "dark"] = static(page, list(KINDS).index(kind) + 1)
    page.evaluate("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    page.wait_for_function(
        "at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.outputs.toJSON().some(o => o.output_type === 'error')",
        arg=running,
    )
    return shots


def run(page, at: int, waits: bool) -> None:
    page.evaluate(
        """async at => { const notebook = window.jupyterapp.shell.currentWidget.content;
        notebook.activeCellIndex = at; await notebook.scrollToItem(at); await notebook.activeCell.ready; }""",
        at,
    )
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell'); null")
    if waits:
        page.wait_for_function(
            "at => { const cell = window.jupyterapp.shell.currentWidget.content.widgets[at];"
            " return cell.model.executionCount && cell.model.executionState === 'idle'"
            " && window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'; }",
            arg=at,
        )


def text(page, at: int) -> str:
    return page.evaluate(
        """at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.outputs.toJSON()
        .map(one => one.text ?? one.data?.['text/plain'] ?? '').flat().join('')""",
        at,
    )


def change_theme(page, theme: str) -> None:
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", THEMES[theme])
    page.wait_for_function("dark => (document.body.dataset.jpThemeLight === 'false') === dark", arg=theme == "dark")


def shot(page, at: int, kind: str, styled: bool = True) -> Image.Image:
    page.evaluate("at => window.jupyterapp.shell.currentWidget.content.scrollToItem(at, 'center')", at)
    # A table has pictures of its columns when the kernel has answered; controls are drawn when their models are there.
    page.wait_for_function(
        """([at, kind]) => {
            const area = window.jupyterapp.shell.currentWidget.content.widgets[at].node.querySelector('.jp-OutputArea');
            const root = area.querySelector('.onrush-output')?.shadowRoot;
            if (kind.startsWith('table'))
                return root?.querySelector('.root.live') && !root.querySelector('.cell.missing')
                    && root.querySelector('.column .picture') && !root.querySelector('.picture.waiting');
            if (kind.startsWith('plot')) {
                // Vega draws after its canvas is there, and once more when its fonts are.
                const canvas = area.querySelector('.vega-embed canvas');
                if (!canvas?.width || !canvas.height) return false;
                const drawn = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
                const before = canvas.dataset.seen;
                canvas.dataset.seen = canvas.toDataURL();
                return drawn.some((part, i) => i % 4 === 3 && part > 0) && before === canvas.dataset.seen;
            }
            if (kind === 'graph') return root?.querySelector('canvas')?.width > 300;
            if (kind === 'controls' || kind === 'interact') return area.querySelectorAll('.noUi-handle').length === 1
                && area.querySelector('select');
            return area.children.length > 0 && area.innerText.trim().length + area.querySelectorAll('svg, img').length > 0
                || area.querySelector('.onrush-output');
        }""",
        arg=[at, kind],
        polling=100,
    )
    page.evaluate(COPY, [at, kind in UNSTEADY, styled, kind.startswith("progress")])
    page.wait_for_timeout(100)
    taken = page.locator("#onrush-copy").screenshot(animations="disabled", scale="css")
    page.evaluate("document.getElementById('onrush-copy').remove()")
    return Image.open(io.BytesIO(taken)).convert("RGB")


def static(page, at: int) -> list[Image.Image]:
    """The form without scripts, as a page of its own."""
    html = page.evaluate(
        """at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.outputs.toJSON()
        .filter(one => !one.metadata?.onrush?.progress).map(one => one.data?.['text/html'] ?? one.data?.['image/svg+xml']).find(one => one)""",
        at,
    )
    html = html if isinstance(html, str) else "".join(html)
    alone = page.context.browser.new_page()
    alone.set_viewport_size({"width": 760, "height": 520})
    both = []
    for theme, back in (("light", "white"), ("dark", "#111")):
        alone.emulate_media(color_scheme=theme)
        text = "black" if theme == "light" else "#ddd"
        alone.set_content(f"<body style=\"background:{back};color:{text};font:13px 'DejaVu Sans'\">{html}</body>")
        both.append(Image.open(io.BytesIO(alone.screenshot(animations="disabled", scale="css"))).convert("RGB"))
    alone.close()
    return both


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", [*KINDS, *(f"{kind}-static" for kind in STATIC), "progress-running"])
def test_it_looks_as_it_did(taken, outputs_dir, kind, theme):
    name = f"{kind}-{theme}.png"
    pictures.save(taken[kind, theme], outputs_dir / "screenshots" / name)
    if os.environ.get("ONRUSH_BLESS"):
        pictures.save(taken[kind, theme], REFERENCES / name)
        return
    reference = REFERENCES / name
    assert reference.is_file(), f"there is no picture to compare with: cargo xtask screenshots --bless makes {reference}"
    found = pictures.difference(taken[kind, theme], Image.open(reference))
    assert found is None, (
        f"{name}: {found}; compare {outputs_dir / 'screenshots' / name} with {reference}."
        " If it is meant, `cargo xtask screenshots --bless` makes it the reference"
    )


@pytest.mark.parametrize("kind", UNSTYLED)
def test_a_style_that_is_lost_is_seen(taken, kind):
    assert pictures.difference(taken[f"{kind}-unstyled", "dark"], taken[kind, "dark"])
