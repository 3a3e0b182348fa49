"""The comparison of pictures: what it must not see, and what it must."""

from pathlib import Path

import pytest
from PIL import Image, ImageEnhance, ImageFilter

from pictures import difference

REFERENCES = Path(__file__).resolve().parent / "references"
ALL = sorted(path.stem for path in REFERENCES.glob("*.png"))


def picture(name: str) -> Image.Image:
    return Image.open(REFERENCES / f"{name}.png").convert("RGB")


def moved(one: Image.Image, x: int, y: int) -> Image.Image:
    made = Image.new("RGB", (one.width + x, one.height + y), one.getpixel((one.width - 1, one.height - 1)))
    made.paste(one, (x, y))
    return made


@pytest.mark.parametrize("name", ALL)
def test_small_changes_of_every_picture_are_nothing(name):
    one = picture(name)
    assert difference(one, one) is None
    # Another version of a browser: everything a little lower, softer edges, another shade.
    assert difference(moved(one, 1, 2), one) is None
    assert difference(one.filter(ImageFilter.GaussianBlur(0.7)), one) is None
    assert difference(ImageEnhance.Contrast(one).enhance(0.95), one) is None


@pytest.mark.parametrize("name", ALL)
def test_another_theme_is_seen(name):
    kind, theme = name.rsplit("-", 1)
    assert difference(picture(f"{kind}-{'dark' if theme == 'light' else 'light'}"), picture(name))


def test_a_column_that_is_missing_is_seen():
    for name in ("table-light", "table-dark", "table-static-light", "table-hostile-dark"):
        one = picture(name)
        # The last fifth is a column, or most of one.
        gone = one.copy()
        gone.paste(one.getpixel((one.width - 1, one.height - 1)), (one.width * 4 // 5, 0, one.width, one.height))
        assert difference(gone, one), name
        # What stood beside it takes its place.
        closer = one.copy()
        closer.paste(one.crop((one.width // 2, 0, one.width, one.height)), (one.width // 3, 0))
        assert difference(closer, one), name


def test_colours_that_are_lost_are_seen():
    for name in ("warning-light", "warning-dark", "plot-light", "plot-dark"):
        one = picture(name)
        assert difference(one.convert("L").convert("RGB"), one), name


def test_lines_that_are_missing_are_seen():
    for name in ("error-compile-light", "explain-dark", "controls-light", "interact-dark"):
        one = picture(name)
        assert difference(one.crop((0, 0, one.width, one.height * 3 // 4)), one), name
