"""Errors of audited code in words, with the line that raised them."""

import inspect
import re
from traceback import walk_tb
from typing import Any

from .reference import Cause

# Known mistakes by a pattern for the error's text: a name and a sentence.
KNOWN_ERRORS = {
    r"before Module.__init__\(\) call": ("super_init_not_called", "`super().__init__()` has to be called before the first layer is made."),
    r"'super' object needs an argument": ("super_without_brackets", "`super` lacks its brackets: `super().__init__()`."),
    r"'module' object is not callable": ("module_called", "A Python module is called like a function or class. Compare `nn.parameter`, a module, with `nn.Parameter`, a class."),
    r"object has no attribute '(\w+)'": ("attribute_never_set", "`{0}` is used, and nothing of that name is ever set."),
    r"local variable '(\w+)'|name '(\w+)' is not defined": ("used_before_assigned", "`{0}` is used before it has a value. Is it misspelled, or on a later line?"),
    r"missing \d+ required positional argument|expected at least \d+ argument": ("argument_missing", "A call lacks an argument."),
    r"unexpected keyword argument '(\w+)'|takes .* positional arguments? but": ("argument_too_many", "A call gets an argument that it does not take."),
    r"shapes cannot be multiplied|size mismatch, got|expected .* to have shape|Expected size for first two dimensions|[Ee]xpected .*matri": ("product_of_other_shapes", "The rows of the first factor are not as long as the columns of the second one. Is a transpose missing, or was a layer made for another width?"),
    r"The size of tensor a|must match the existing size|broadcast": ("shapes_do_not_match", "Two tensors are put together whose axes do not match. Compare their shapes, axis by axis."),
    r"is invalid for input of size": ("shape_of_another_size", "A new shape has room for another number of entries."),
    r"view size is not compatible": ("view_of_a_transposed_tensor", "`view` needs entries that lie in order. After a transpose, use `reshape`."),
    r"only supports bool|expected .*BoolTensor|mask.*bool": ("mask_not_boolean", "A mask of booleans is needed. Convert it with `.bool()`."),
    r"Dimension out of range": ("axis_out_of_range", "A tensor has fewer axes than the number says."),
    r"'NoneType'": ("nothing_returned", "Something is None: a function without `return`, or an argument that was left out."),
    r"unsupported operand type|is not subscriptable|is not iterable|object is not callable|must be Tensor, not|expected Tensor|must be tuple": ("value_of_another_type", "A value has another type than its use needs."),
    r"shapes: none\)": ("nothing_returned", "No tensor is returned."),
    r"no result has \d+ tokens": ("result_of_another_shape", "The result has another shape than one row of numbers for each token."),
}  # fmt: skip


def known_errors(text: str) -> list[Cause]:
    """Return the known mistake that an error's text shows, in a list that is empty otherwise."""
    for pattern, (name, says) in KNOWN_ERRORS.items():
        if found := re.search(pattern, text):
            return [Cause(name, says.format(*filter(None, found.groups())))]
    return []


class CannotRun(Exception):
    """The definition could not be run; the text says what was tried.

    line: the line that raises an error for every input that was tried, 0 if there is none.
    """

    def __init__(self, said: str, line: int = 0):
        super().__init__(said)
        self.line = line


def raised(error: Exception, target: Any) -> str:
    """Return an error in words, with the line of the audited file that raised it."""
    line = line_raising(error, target)
    return f"line {line} raises {error_text(error)}" if line else error_text(error)


def error_text(error: Exception) -> str:
    """Return the type of an error and the first line of its message."""
    if isinstance(error, CannotRun):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def line_raising(error: Exception, target: Any) -> int:
    """Return the last line of the audited file that an error passed, 0 if it passed none."""
    called = target.forward if inspect.isclass(target) and hasattr(target, "forward") else target
    path = getattr(getattr(called, "__code__", None), "co_filename", "")
    frames = walk_tb(error.__traceback__)
    passed = [line for frame, line in frames if frame.f_code.co_filename == path]
    return passed[-1] if passed else 0
