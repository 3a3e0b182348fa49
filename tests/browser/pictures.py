"""Whether two pictures of an output look the same to a person who does not look closely: another version of Chromium or of a font moves
edges and changes shades a little; a column that is missing, another theme or a style that is lost is something else."""

from PIL import Image, ImageChops, ImageFilter

# Pixels of a block, whose mean colour is compared.
BLOCK = 8
# By how much (of 255) the mean of a block may be off.
SHADE = 26
# The share of blocks that may be off by more.
SHARE = 0.015
# Pixels by which everything may have moved, and the share of a side that may be there or not.
MOVED = 4
SIDE = 0.04


def trimmed(picture: Image.Image) -> Image.Image:
    """Without the empty margin at the right and at the bottom."""
    picture = picture.convert("RGB")
    empty = Image.new("RGB", picture.size, picture.getpixel((picture.width - 1, picture.height - 1)))
    box = ImageChops.difference(picture, empty).getbbox()
    return picture.crop((0, 0, box[2], box[3])) if box else picture


def difference(actual: Image.Image, expected: Image.Image) -> str | None:
    """In what way the pictures differ; nothing if they look the same."""
    actual, expected = trimmed(actual), trimmed(expected)
    for name, one, other in zip(("wide", "high"), actual.size, expected.size, strict=True):
        if abs(one - other) > max(2 * BLOCK, SIDE * other):
            return f"it is {one} pixels {name} and was {other}"
    wanted = blocks(expected, 0, 0, expected.size)
    steps = range(-MOVED, MOVED + 1, 2)
    moves = sorted(((x, y) for x in steps for y in steps), key=lambda move: abs(move[0]) + abs(move[1]))
    best = 1.0
    for x, y in moves:
        best = min(best, off(blocks(actual, x, y, expected.size), wanted))
        if best <= SHARE:
            return None
    return f"{best:.1%} of it looks different"


def blocks(picture: Image.Image, x: int, y: int, size: tuple[int, int]) -> Image.Image:
    moved = Image.new("RGB", size, picture.getpixel((picture.width - 1, picture.height - 1)))
    moved.paste(picture, (x, y))
    return moved.filter(ImageFilter.BoxBlur(BLOCK // 2)).reduce(BLOCK)


def off(one: Image.Image, other: Image.Image) -> float:
    red, green, blue = ImageChops.difference(one, other).split()
    histogram = ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()
    return sum(histogram[SHADE + 1 :]) / sum(histogram)


def save(picture: Image.Image, path) -> None:
    """Small: few colours are enough to compare with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    trimmed(picture).quantize(48, dither=Image.Dither.NONE).save(path, optimize=True)
