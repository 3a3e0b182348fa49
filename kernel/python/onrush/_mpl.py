"""A backend of matplotlib for `%%python` cells: figures are displayed as PNG, at `show` or at the end of the cell."""

from __future__ import annotations

import io
from typing import Any

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureCanvas(FigureCanvasAgg):
    """Agg's canvas."""


class FigureManager(FigureManagerBase):
    """A figure without a window."""

    def show(self) -> None:
        _display(self)


FigureCanvas.manager_class = FigureManager  # type: ignore[assignment]

#: Figures that this cell has shown already.
_SHOWN: set[int] = set()


def png(figure: Any) -> bytes:
    """Draws a figure, cut to what is drawn, as the inline backend of Jupyter does."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg as Canvas

    before = figure.canvas
    if not isinstance(before, FigureCanvasAgg):
        Canvas(figure)
    data = io.BytesIO()
    try:
        figure.savefig(data, format="png", bbox_inches="tight", facecolor=figure.get_facecolor())
    finally:
        figure.set_canvas(before)
    _SHOWN.add(id(figure))
    return data.getvalue()


def show(*_: Any, **__: Any) -> None:
    """Displays every open figure that was not displayed yet, and closes it: `pyplot.show`."""
    for manager in Gcf.get_all_fig_managers():
        figure = manager.canvas.figure
        if id(figure) not in _SHOWN and (figure.axes or figure.lines or figure.texts or figure.images):
            _display(manager)
    Gcf.destroy_all()
    _SHOWN.clear()


def _display(manager: Any) -> None:
    from .worker import WORKER

    if WORKER is not None:
        WORKER.display(manager.canvas.figure)
