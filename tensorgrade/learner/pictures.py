"""Pictures for lessons: matrices with their values written in, bars and lines.

No information is given by colour alone: cells have numbers, bars have hatches, lines have markers.
Each function shows its picture below the running cell.
"""

import base64
import functools
import html
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

import torch

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HATCHES = ("", "//", "..", "xx", "\\\\", "oo")
MARKERS = ("o", "s", "^", "D", "v", "P")
COLOURS = ("#1f5a8a", "#d98c2b", "#7a7a7a", "#4b8f5d", "#9b5fa5", "#a33b3b")
CELL = 0.62
LETTER = 0.095
MOST_SHOWN = 16
MOST_MARKERS = 12
SHARPNESS = 2  # pixels per point of the page: sharp on a high-resolution screen
Numbers = torch.Tensor | Sequence  # a tensor, or values that torch converts to one
Curve = tuple[Numbers, Numbers]
Labels = Sequence[object] | None
Arguments = ParamSpec("Arguments")


NO_PICTURE = "No picture here: your result does not fit it ({}). Check the exercise above first."


def shown(draw: Callable[Arguments, "Figure"]) -> Callable[Arguments, None]:
    """Show a figure below the cell. Print a sentence if a wrong answer makes it impossible."""

    @functools.wraps(draw)
    def show_it(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        try:
            show(draw(*arguments, **options))
        except Exception as error:  # a wrong answer can pass any value
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            print(NO_PICTURE.format(reason[:120]))

    return show_it


def heatmap(matrix: Numbers, rows: Labels = None, columns: Labels = None, title: str = "") -> None:
    """Show one matrix (r, c), or a vector as a single row. rows, columns: its labels."""
    heatmaps({title: matrix}, rows, columns)


@shown
def heatmaps(
    matrices: Mapping[str, Numbers], rows: Labels = None, columns: Labels = None, title: str = ""
) -> "Figure":
    """Show matrices side by side, each under its name, with the same colour scale."""
    values = {name: as_matrix(matrix) for name, matrix in matrices.items()}
    widths = [
        max(2 + CELL * max(min(m.shape[1], MOST_SHOWN), 2.6), 0.4 + LETTER * len(name))
        for name, m in values.items()
    ]
    height = 1.1 + CELL * min(max(m.shape[0] for m in values.values()), MOST_SHOWN)
    width = max(sum(widths), LETTER * len(title))
    figure = new_figure(width, height + 0.3 * bool(title), title, matrices)
    axes = figure.subplots(1, len(values), squeeze=False, width_ratios=widths)[0]
    bounds = scale(list(values.values()))
    for axis, (name, matrix) in zip(axes, values.items(), strict=True):
        draw_matrix(axis, matrix, bounds)
        label(axis.yaxis, matrix.shape[0], rows, 0)
        label(axis.xaxis, matrix.shape[1], columns, 30)
        axis.spines[:].set_visible(False)
        cut = max(matrix.shape) > MOST_SHOWN
        axis.set_title(f"{name} (the first {MOST_SHOWN})" if cut else name, fontsize=11)
    return figure


def draw_matrix(axis: "Axes", matrix: torch.Tensor, bounds: tuple[float, float]) -> None:
    """Draw one matrix as squares with their numbers in them."""
    shown, (low, high) = matrix[:MOST_SHOWN, :MOST_SHOWN], bounds
    finite = torch.nan_to_num(shown, nan=low, posinf=high, neginf=low)
    if shown.numel():  # without entries there is only a frame
        axis.imshow(finite, cmap="Blues", vmin=low, vmax=high + 0.25 * (high - low), aspect="auto")
    size = 9 if shown.shape[1] <= 8 else 7
    for i, j in torch.cartesian_prod(*map(torch.arange, shown.shape)).reshape(-1, 2).tolist():
        colour = "white" if float(finite[i, j]) > low + 0.7 * (high - low) else "black"
        text = number(shown[i, j].item(), matrix)
        axis.text(j, i, text, color=colour, ha="center", va="center", fontsize=size)


def label(ticks: "Axis", size: int, labels: Labels, turn: int) -> None:
    """Set the labels of rows or columns if their number fits, otherwise plain numbers.

    turn: the angle of long labels.
    """
    fitting = labels if labels is not None and len(labels) == size else range(size)
    shown = [str(text) for text in list(fitting)[:MOST_SHOWN]]
    crowded = max(map(len, shown), default=0) > 7
    ticks.set_ticks(range(len(shown)), shown, rotation=turn if crowded else 0)
    ticks.set_tick_params(length=0)


@shown
def bars(series: Mapping[str, Numbers], names: Labels = None, title: str = "") -> "Figure":
    """Show vectors of one length (n,) as groups of bars. names: the n labels."""
    values = {name: as_vector(vector) for name, vector in series.items()}
    size = max(len(vector) for vector in values.values())
    figure = new_figure(max(5.0, 0.35 * size * len(values) + 2.5), 3.2, title, series)
    axis, width = figure.subplots(), 0.8 / len(values)
    for k, (name, vector) in enumerate(values.items()):
        places = torch.arange(len(vector)) + (k - (len(values) - 1) / 2) * width
        look: dict[str, Any] = {"color": COLOURS[k % 6], "hatch": HATCHES[k % 6]}
        drawn = axis.bar(places, vector, width, label=name, alpha=0.9, edgecolor="white", **look)
        if size * len(values) <= 18:
            axis.bar_label(drawn, [f"{v:.2f}" for v in vector.tolist()], fontsize=7, padding=2)
    labels = names if names is not None and len(names) == size else range(size)
    axis.set_xticks(range(size), [str(text) for text in labels])
    finish(axis, legend=len(values) > 1 or not title)
    return figure


@shown
def lines(curves: Mapping[str, Curve], x: str = "", y: str = "", title: str = "") -> "Figure":
    """Show curves, each given as (xs, ys). x, y: the labels of the axes."""
    figure = new_figure(6.0, 3.4, title, curves)
    axis = figure.subplots()
    for k, (name, (xs, ys)) in enumerate(curves.items()):
        xs, ys = as_vector(xs), as_vector(ys)
        look: dict[str, Any] = {"color": COLOURS[k % 6], "marker": MARKERS[k % 6], "markersize": 5}
        axis.plot(xs, ys, label=name, markevery=max(1, len(xs) // MOST_MARKERS), **look)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    finish(axis, legend=True)
    return figure


def finish(axis: "Axes", legend: bool) -> None:
    """Add a light grid, a margin for numbers and an optional legend; remove part of the frame."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    axis.margins(y=0.12)
    if legend:
        axis.legend(frameon=False, fontsize=9)


def new_figure(width: float, height: float, title: str, names: Iterable[str]) -> "Figure":
    """Return an empty figure (sizes in inches) that belongs to no window.

    Its label describes it: the title, or else the names of what it shows.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.set_label(title or ", ".join(names) or "a matrix")
    if title:
        figure.suptitle(title, fontsize=12)
    return figure


def scale(matrices: list[torch.Tensor]) -> tuple[float, float]:
    """Return the smallest and largest finite entry of all matrices; the range includes 0."""
    entries = [0.0, *(value for m in matrices for value in m[m.isfinite()].tolist())]
    low, high = min(entries), max(entries)
    return low, high if high > low else low + 1


def as_matrix(values: Numbers) -> torch.Tensor:
    """Return the first matrix of a tensor in float64; vectors become a row, numbers an entry."""
    tensor = torch.as_tensor(values).detach().cpu().double()
    while tensor.ndim > 2:
        tensor = tensor[0]
    return tensor.reshape(1, -1) if tensor.ndim < 2 else tensor


def as_vector(values: Numbers) -> torch.Tensor:
    """Return numbers as a vector in float64."""
    return torch.as_tensor(values).detach().cpu().double().flatten()


def number(value: float, matrix: torch.Tensor) -> str:
    """Format a number as short as the other entries of its matrix allow.

    >>> number(0.23456, torch.tensor([0.5])), number(23.0, torch.tensor([23.0, 1.0]))
    ('0.23', '23')
    """
    if value != value or value in (float("inf"), float("-inf")):
        return str(value).replace("inf", "∞")
    finite = matrix[matrix.isfinite()]
    if (finite == finite.round()).all() and finite.abs().max() < 1e4:
        return f"{value:.0f}"
    return f"{value:.2f}" if finite.abs().max() < 100 else f"{value:.1e}"


def show(figure: "Figure") -> None:
    """Show a picture below the running cell; outside a notebook, do nothing."""
    if find_shell() is not None:
        from IPython.display import HTML, display

        display(HTML(as_image(figure)))


def find_shell() -> "InteractiveShell | None":
    """Return the running IPython shell, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def as_image(figure: "Figure") -> str:
    """Return a figure as an `<img>` with embedded data and the figure's label."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=72 * SHARPNESS, facecolor="white")
    data = base64.b64encode(buffer.getvalue()).decode()
    width = round(72 * figure.get_figwidth())
    alt = html.escape(str(figure.get_label()), quote=True)
    style = f"width:{width}px;max-width:100%"
    return f'<img src="data:image/png;base64,{data}" alt="{alt}" style="{style}">'
