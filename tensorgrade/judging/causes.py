"""The usual causes of errors whose own words say little, as a table and a few rules."""

import builtins
import re

import torch
from torch import nn

from ..exchange.observation import CaughtError

PLAIN_NUMBER = "that is a plain number; compute with it in Python (`**`, `math`)"
NO_DEVICE = (
    "this machine has no such device, and the inputs are on the CPU. Use the device of the input "
    "(`x.device`)"
)
WHOLE = "`/` gives a float, and a size has to be an integer: use `//`"
NO_POWER = "`^` is not a power: write `**`"
NO_INPUT = "`input()` cannot be answered here: leave it out"
BRACKETS = "is indexed with square brackets"
# The usual cause of an error, by words in the texts of torch and Python.
CAUSES = {
    "modified by an inplace operation": "an in-place operation (`/=`, `exp_()` and the like) "
    "overwrites values that the gradient needs; make a new tensor: `x = x / …`",
    "leaf Variable that requires grad": "write into a parameter inside `with torch.no_grad():`",
    "Parameter or None expected)": "assigning a tensor would replace the parameter; copy the "
    "values into it, inside `with torch.no_grad():`",
    "before Module.__init__() call": "call `super().__init__()` first",
    "size and stride": "`view` cannot rearrange this memory; `reshape` copies it if necessary",
    "numpy() on Tensor that requires grad": "no gradient flows through NumPy: compute with torch's "
    "functions instead",
    "does not require grad and does not have a grad_fn": "no gradient flows back from a value that "
    "is computed inside `torch.no_grad()`, or from something like `.detach()` or `.item()`",
    "index out of range in self": "an nn.Embedding is asked for a row that it does not have: its "
    "rows count from 0, and its first argument says how many there are",
    "Expected target size": "torch takes dimension 1 of the first argument as the classes; give it "
    "one row for each target, so that the shapes are (rows, classes) and (rows,)",
    "'torch.return_types.": "along a dimension, `max`, `min` and the like return two tensors, the "
    "values and their indices: take `.values`",
    "Boolean value of Tensor with more than one": "`if`, `and`, `max(…)` and the like need a "
    "single True or False, and this tensor has several entries. torch's own functions work entry "
    "by entry; join masks with `&` and `|`, with each comparison in parentheses",
    "must be Tensor, not int": PLAIN_NUMBER,
    "must be Tensor, not float": PLAIN_NUMBER,
    "Module [ModuleList]": "an nn.ModuleList only stores layers: call them one after another",
    "only supports boolean masks": "the mask has to hold True and False, but this one holds "
    "numbers",
    "Mismatch in shape: grad_output": "the first is the expected shape, the second the shape of "
    "your result",
    "`inputs` argument to `grad()` cannot be empty": "torch finds no parameter that can learn",
    "is not a Module subclass": "that is not a layer. If it is a class, are the parentheses "
    "missing after its name? Unpack a list of layers with `*`",
    "bitwise_xor": NO_POWER,
    "for ^:": NO_POWER,
    "'torch.Size' and": "a shape holds several numbers: take one of them, such as `x.shape[-1]`",
    "tuple of ints,but got float": WHOLE,
    "'float' object cannot be interpreted as an integer": WHOLE,
    "'type' object does not support the context manager": "are the parentheses `()` missing after "
    "its name?",
    "same number of dimensions as input": "`gather` needs an index with as many dimensions as the "
    "values (see `unsqueeze`)",
    "maximum recursion depth": "it calls itself without ever stopping",
    "EOF when reading a line": NO_INPUT,
    "reading from stdin while output is captured": NO_INPUT,
    "contains either `inf`, `nan` or element < 0": "probabilities must be finite and not negative; "
    "the NaN, infinity or negative number comes from a line above",
    "'Tensor' and 'Linear'": "an nn.Linear is called like a function, `layer(x)`; its matrix is "
    "`layer.weight`",
    "not compiled with CUDA": NO_DEVICE,
    "no NVIDIA driver": NO_DEVICE,
    "No CUDA GPUs": NO_DEVICE,
    "not linked with support for mps": NO_DEVICE,
}
# What to say of a value that is called like a function, by its type.
CALLED = {
    "Parameter": "a parameter is a tensor, not a function: compute with it",
    "Tensor": f"a tensor {BRACKETS}",
    "list": "a list cannot be called: call its parts one after another",
    "tuple": f"a tuple {BRACKETS}",
    "Size": f"a shape {BRACKETS}",
    "int": "a plain number is called there as if it were a function",
    "float": "a plain number is called there as if it were a function",
}


def usual_cause(error: CaughtError) -> str:
    """Return the usual cause of an error with an unclear text; "" if there is none."""
    known = next((cause for words, cause in CAUSES.items() if words in error.text), "")
    called = re.fullmatch(r"'(\w+)' object is not callable", error.text)
    if called and error.line:  # the learner's own line calls a value like a function
        known = known or CALLED.get(called[1], "")
    if cause := known or no_module(error) or no_brackets(error):
        return cause
    if error.type == "NotImplementedError" and "forward" in error.text:
        return "is `forward` misspelled, or indented inside another method?"
    return wrong_arguments(error) if error.type == "TypeError" and error.line is None else ""


def wrong_arguments(error: CaughtError) -> str:
    """Return the fault in the parameters of a definition that a case could not call, or "".

    >>> text = "Net.forward() takes 1 positional argument but 2 were given"
    >>> wrong_arguments(CaughtError("TypeError", text))
    'is `self` missing from its parameters?'
    """
    if "has no parameter" in error.text:
        return f"the given code has {'them' if 'parameters' in error.text else 'it'}"
    # Without `self`, a method gets one argument more than it has parameters.
    told = re.match(r"\w+\.\w+\(\) takes (\d+) positional arguments? but (\d+) w", error.text)
    if told and int(told[2]) == int(told[1]) + 1:
        return "is `self` missing from its parameters?"
    if error.verb == "construct" and "required positional argument" in error.text:
        return "its parameters are not those of the given code"
    if error.verb == "construct" and "unexpected keyword argument" in error.text:  # of nn.Module
        return "is there an `__init__`, with two underscores on each side?"
    return ""


def no_brackets(error: CaughtError) -> str:
    """Return a clause if a function or method is used without being called; else ""."""
    if "math." in error.source and re.search("one element|to Scalar", error.text):
        return "`math` works on single numbers; torch's functions of these names work on tensors"
    if not re.search(r"'(builtin_function_or_method|function|method)'", error.text):
        return ""
    if own := re.search(r"(?<![.\w])(input|sum|max|min|abs|len|pow)\b(?!\s*\()", error.source):
        return f"`{own[1]}` is a built-in function of Python here: did you mean a variable?"
    return "are the parentheses `()` missing after the name of a function or method?"


def no_module(error: CaughtError) -> str:
    """Return a clause if a class lacks an attribute that every nn.Module has; else ""."""
    lacks = re.fullmatch(r"'(\w+)' object (?:has no attribute '(\w+)'|is not callable)", error.text)
    if not lacks or lacks[1] in NO_CLASSES or (lacks[2] and lacks[2] not in dir(nn.Module)):
        return ""
    if not lacks[2] and error.line:  # a call in the learner's own code
        return ""
    return f"`{lacks[1]}` is not an nn.Module: write `class {lacks[1]}(nn.Module):`"


NO_CLASSES = {*dir(torch), *dir(builtins), "NoneType"}
