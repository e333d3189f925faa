"""Errors of audited code in words, with the line that raised them."""

import ast
import inspect
import re
from traceback import walk_tb
from types import BuiltinMethodType, FrameType, MethodType, NoneType
from typing import Any

import torch
from torch import nn

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

    line: the line that raises an error for every input that was tried, 0 if there is none. plan:
    the way to call it that got furthest. sure: the mistake is on that line.
    """

    def __init__(self, said: str, line: int = 0, plan: Any = None, sure: bool = False):
        super().__init__(said)
        self.line, self.plan, self.sure = line, plan, sure


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
    passed = frames_of(error, target)
    return passed[-1][1] if passed else 0


def frames_of(error: Exception, target: Any) -> list[tuple[FrameType, int]]:
    """Return the frames of the audited file that an error passed, with their lines."""
    called = target.forward if inspect.isclass(target) and hasattr(target, "forward") else target
    path = getattr(getattr(called, "__code__", None), "co_filename", "")
    return [(f, line) for f, line in walk_tb(error.__traceback__) if f.f_code.co_filename == path]


def line_to_blame(error: Exception, plan: Any, long: int) -> int:
    """Return the line of the mistake behind an error that is raised further on, 0 if unknown.

    plan: the definition and the way it was called. long: the context length that its constructor
    got, larger than the number of tokens.
    """
    passed = frames_of(error, plan.target)
    if not passed:
        return 0
    tree, (frame, line), above = ast.parse(plan.text), passed[-1], plan.line - 1
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if "before Module.__init__() call" in str(error):
        starts = [one for one in functions if one.name == "__init__"]
        lines = [s.lineno for s in starts[0].body if "super" in ast.unparse(s)] if starts else []
        return above + (lines or [starts[0].body[0].lineno])[0] if starts else 0
    if re.search(r"object has no attribute|is not defined|cannot access local", str(error)):
        return above + gap if (gap := line_of_lone_pass(tree)) else 0
    if re.search(r"missing|positional|keyword|expected at", str(error)):
        return 0
    around = [one for one in functions if one.lineno <= line - above <= (one.end_lineno or 0)]
    made = line_of_bad_value(error, frame, tree, around[-1] if around else tree, line - above, long)
    return above + made if made else 0


def line_of_lone_pass(tree: ast.AST) -> int:
    """Return the line of the only `pass` next to other statements, 0 if there is none or more."""
    bodies = [getattr(node, "body", None) for node in ast.walk(tree)]
    statements = [
        one for body in bodies if isinstance(body, list) and len(body) > 1 for one in body
    ]
    found = [one.lineno for one in statements if isinstance(one, ast.Pass)]
    return found[0] if len(found) == 1 else 0


def line_of_bad_value(
    error: Exception, frame: FrameType, tree: ast.AST, scope: ast.AST, line: int, long: int
) -> int:
    """Return the line that assigned the only odd value on the line of an error, 0 if unknown.

    If that value was computed from another odd one, return the line that assigned the first of
    them.
    """
    own = vars(frame.f_locals["self"]) if "self" in frame.f_locals else {}
    values = frame.f_locals | {f"self.{name}": value for name, value in own.items()}
    first = 0
    for _ in range(3):
        odd = odd_on(line, tree, values, error, long)
        if len(odd) != 1:
            break
        name = odd.pop()
        where = tree if name.startswith("self.") else scope
        if not lines_of(name, where, ast.Load) & {line}:
            break  # a local name of another function
        if "not callable" in str(error) and lines_of(name, where, ast.Load) - {line}:
            break  # the value is right elsewhere, and its call is wrong
        made = lines_of(name, where, ast.Store) - {line}
        if not made:
            break
        line = first = max(made - conditional_lines(where) or made)
    return first


def odd_on(
    line: int, tree: ast.AST, values: dict[str, Any], error: Exception, long: int
) -> set[str]:
    """Return the names on a line whose values have an odd type, or `long` as a dimension."""
    on_it = [node for node in ast.walk(tree) if getattr(node, "lineno", 0) == line]
    used = {ast.unparse(node) for node in on_it if is_name(node, ast.Load)} - {"self"}
    known = {name: values[name] for name in used & values.keys()}
    if f"({long})" in str(error):
        return {n for n, v in known.items() if isinstance(v, torch.Tensor) and long in v.shape}
    if not isinstance(error, (TypeError, AttributeError)):
        return set()
    kinds = [{n for n, v in known.items() if isinstance(v, types)} for types in ODD]
    for number, names in zip((float, int), kinds[1:], strict=True):  # a part of most code
        if not re.search(rf"\b{number.__name__}\b", str(error)):
            names.clear()
    return next(filter(None, kinds), set())


def lines_of(name: str, scope: ast.AST, context: type) -> set[int]:
    """Return the lines on which a name or an attribute of self is loaded or stored."""
    return {
        node.lineno
        for node in ast.walk(scope)
        if isinstance(node, ast.expr) and is_name(node, context) and ast.unparse(node) == name
    }


def conditional_lines(scope: ast.AST) -> set[int]:
    """Return the lines that run under an `if` or in a loop only."""
    blocks = [one for one in ast.walk(scope) if isinstance(one, (ast.If, ast.For, ast.While))]
    found = [part for one in blocks for part in one.body]
    return {line for part in found for line in range(part.lineno, (part.end_lineno or 0) + 1)}


# Types of values that raise an error when they are used like a tensor, the oddest first.
ODD: tuple[Any, ...] = (
    (torch.Size, torch.dtype, NoneType, BuiltinMethodType, MethodType, nn.Module, tuple),
    float,
    int,
)


def is_name(node: ast.AST, context: type) -> bool:
    """Return True for a name or an attribute of self that is loaded or stored."""
    named = isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
    )
    return named and isinstance(node.ctx, context)  # type: ignore[attr-defined]
