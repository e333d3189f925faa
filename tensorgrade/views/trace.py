"""The shapes on the way through a learner's own code, line by line."""

from rich.text import Text

from ..cases import spoken_shape

MOST = 14


def trace_lines(steps: list[tuple[int, str, tuple[int, ...]]], error: dict | None) -> list[Text]:
    """One line for each tensor that came into being; the last ones, where there are many.

    >>> [str(line) for line in trace_lines([(3, "x", (2, 5)), (4, "y", (2,))], None)][1:]
    ['line   3  x  2×5', 'line   4  y  (2,)']
    """
    if len(steps) < 2:
        return []
    left_out = len(steps) - MOST
    shown = steps[-MOST:] if left_out > 0 else steps
    width = max(len(name) for _, name, _ in shown)
    lines = [Text("the shapes on your way" + (f" (the last {MOST})" if left_out > 0 else ""), "dim")]
    lines += [Text(f"line {line:>3}  {name:<{width}}  {spoken_shape(sizes)}") for line, name, sizes in shown]
    if error and error["line"]:
        lines.append(Text.assemble((f"line {error['line']:>3}  ✗ here it ends", "bold red")))
    return lines
