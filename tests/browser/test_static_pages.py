"""Notebooks as pages that nbconvert makes of their stored outputs: no kernel, no server, no extension."""

import subprocess
import sys

import nbformat
import pytest


@pytest.mark.parametrize(("name", "theme"), [("01-tour", "light"), ("03-looking-at-data", "dark")])
def test_a_page_shows_every_output(page, notebooks_copy, outputs_dir, name, theme):
    made = notebooks_copy / f"{name}-{theme}.html"
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--theme", theme, "--output", made.name, f"{name}.ipynb"],
        cwd=notebooks_copy,
        check=True,
        capture_output=True,
        timeout=120,
    )
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" and not is_network(message) else None)
    # Mathematics and icons come from the network: they are not ours, and not there.
    page.route("http*://**", lambda route: route.abort())
    page.goto(f"file://{made}")
    page.wait_for_load_state()
    # Code cells in their order, with what is drawn of each: its size, tables, pictures, text.
    drawn = page.eval_on_selector_all(
        ".jp-CodeCell",
        """cells => cells.map(cell => [...cell.querySelectorAll('.jp-OutputArea-output')].map(output => ({
            height: output.getBoundingClientRect().height, text: output.innerText.trim(),
            pictures: [...output.querySelectorAll('img, svg')].map(one => one.getBoundingClientRect().height),
        })))""",
    )
    page.screenshot(path=outputs_dir / f"static-{name}-{theme}.png", full_page=True)
    page.unroute_all()
    assert wrong == []
    stored = [cell for cell in nbformat.read(notebooks_copy / f"{name}.ipynb", 4).cells if cell.cell_type == "code"]
    assert len(drawn) == len(stored)
    for cell, shown in zip(stored, drawn, strict=True):
        assert len(shown) == len(cell.outputs), f"{cell.source}\n{shown}"
        for output, one in zip(cell.outputs, shown, strict=True):
            assert one["height"] > 5, f"{cell.source}\n{one}"
            if "image/svg+xml" in output.get("data", {}):
                assert one["pictures"] and one["pictures"][0] > 100, f"{cell.source}\n{one}"
            else:
                assert one["text"], f"{cell.source}\n{one}"
            assert "Error displaying widget" not in one["text"]


def is_network(message) -> bool:
    return "net::ERR_FAILED" in message.text or "Failed to load resource" in message.text
