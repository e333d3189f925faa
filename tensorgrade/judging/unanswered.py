"""Says why a case got no answer: not written, not found, an error, out of time, ended."""

import builtins
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

import torch
from torch import nn

from ..exchange.cases import Case, spoken, spoken_shape
from ..exchange.observation import CaughtError, Loaded, Observation, Outcome, strings
from ..exchange.text import short
from .diagnosis import Diagnosis, Kind
from .judged import JudgedAttempt

# A stand-in for another chapter is made by the runner, in no file.
STANDS_ALONE = (
    "; each chapter's file is checked alone: of other chapters only what the stub imports is there"
)
ENDS = {
    Outcome.TIMEOUT: "it did not come to an end in {}; does a loop never finish?",
    Outcome.KILLED: "the process that ran it came to an end: it used too much memory, crashed, or "
    "did something that is not allowed",
    Outcome.UNREACHED: "not tried, since an earlier call of this exercise never came back",
}
LONGEST_LINE = 90
Place = Callable[[int], str]  # what a line of the learner's file is called


def why_it_ended(attempt: JudgedAttempt, case: Case, observed: Observation) -> Diagnosis:
    """The diagnosis for a case that no answer came back for."""
    called, status = spoken(case, attempt.references.hidden), observed.status
    error = observed.error
    if status in ENDS:
        problem = ended(status, error, attempt.place)
        return Diagnosis(Kind(status), problem, called, case=case.name, error=error)
    return Diagnosis(Kind.ERROR, attempt.loaded.reason, called, case=case.name)


def ended(status: Outcome, error: CaughtError | None = None, place: Place = str) -> str:
    """How a call ended that gave no answer; of an endless one also how long it took, and where."""
    seconds = error.text if error and error.text else "the time that it has"
    return ENDS[status].format(seconds + (at_line(error, place) if error else ""))


def at_line(error: CaughtError, place: Place) -> str:
    """The learner's own line, in brackets, and the one that called it; nothing where there is none.

    >>> at_line(CaughtError("E", line=3, source="x + 1", called=9), "line {}".format)
    ' (line 3: `x + 1`, called in line 9)'
    """
    if error.line is None:
        return ""
    called = f", called in {place(error.called)}" if error.called else ""
    return f" ({place(error.line)}: `{short(error.source, LONGEST_LINE)}`{called})"


def why_it_raised(
    attempt: JudgedAttempt, exercise: str, case: Case, error: CaughtError
) -> Diagnosis:
    """The diagnosis for a case that was answered with an error."""
    if error.missing:
        return missing(attempt, error.missing, case)
    called = spoken(case, attempt.references.hidden)
    if error.is_unwritten:
        problem = to_do(exercise, error)
        return Diagnosis(Kind.TO_DO, problem, called, case=case.name, error=error)
    problem = (
        in_what_it_calls(error, exercise)
        + raised(error, attempt.place)
        + lost_name(error, attempt, case)
        + (read_outside(attempt.loaded, error.definition, case, error.source) or sizes_there(error))
    )
    return Diagnosis(Kind.ERROR, problem, called, case=case.name, error=error)


def in_what_it_calls(error: CaughtError, exercise: str) -> str:
    """That an error comes from another definition of the file; nothing where it is its own."""
    return f"in `{error.definition}`, which it uses: " if is_of_another(error, exercise) else ""


def is_of_another(error: CaughtError, exercise: str) -> bool:
    """Whether an error comes from another definition of the learner's file."""
    return error.definition.isidentifier() and error.definition != exercise


def raised(error: CaughtError, place: Place) -> str:
    """One sentence about an error, with the learner's own line and what often lies behind it."""
    text = f": {without_advice(error.text).rstrip('.')}" if error.text else ""
    return f"{error.type}{text}{at_line(error, place)}{often(error)}"


UNWRITTEN = "not written yet"
# torch's longest sentences: what follows these words speaks of torch's own insides.
ENOUGH = re.compile(
    r"(modified by an inplace operation|in-place operation|size and stride"
    r"|invalid combination of arguments - got \([^()]*\)|while output is captured)(?!\w).*",
    re.DOTALL,
)
PLAIN_NUMBER = "that is a plain number, which Python computes with by itself (`**`, `math`)"
POWER = "`^` is no power: that is `**`"
NOBODY = "nobody is there to answer an `input()`"
WHOLE = "`/` gives a number with a fraction, and a size is a whole one: `//`"
# What lies behind a sentence of torch, by words of it.
BEHIND = {
    "modified by an inplace operation": "a step in place (`/=`, `exp_()` and the like) writes over "
    "what the gradient is computed from; make a new tensor: `x = x / …`",
    "leaf Variable that requires grad": "write into a parameter inside `with torch.no_grad():`",
    "Parameter or None expected)": "a parameter stays one when it is copied into, inside `with "
    "torch.no_grad():`",
    "before Module.__init__() call": "call `super().__init__()` first",
    "size and stride": "`reshape` copies where `view` cannot",
    "'torch.return_types.": "along a dimension `max`, `min` and the like give two tensors, the "
    "values and their places: take `.values`",
    "Boolean value of Tensor with more than one": "`if`, `and`, `max(…)` and the like ask a whole "
    "tensor for one yes or no; torch's own functions take its numbers one by one, and `|` and `&` "
    "join masks, with each comparison in brackets of its own",
    "must be Tensor, not int": PLAIN_NUMBER,
    "must be Tensor, not float": PLAIN_NUMBER,
    "Module [ModuleList]": "an nn.ModuleList only holds layers: they are called one after another",
    "only supports boolean masks": "it takes a mask of True and False, and this one holds numbers",
    "Mismatch in shape: grad_output": "the first is the shape asked for, the second the result's",
    "`inputs` argument to `grad()` cannot be empty": "torch finds no parameter that could learn",
    "is not a Module subclass": "what stands where a layer is asked for is none; if it is a class, "
    "are brackets missing behind its name? A list of layers is taken apart with `*`",
    "bitwise_xor": POWER,
    "for ^:": POWER,
    "'torch.Size' and": "a shape is several numbers: take one of them, `x.shape[-1]`",
    "tuple of ints,but got float": WHOLE,
    "'float' object cannot be interpreted as an integer": WHOLE,
    "'type' object does not support the context manager": "are brackets missing behind its name?",
    "same number of dimensions as input": "`gather` takes places with as many dimensions as the "
    "values have (`unsqueeze(-1)`)",
    "maximum recursion depth": "it calls itself without an end",
    "EOF when reading a line": NOBODY,
    "reading from stdin while output is captured": NOBODY,
    "contains either `inf`, `nan` or element < 0": "chances are numbers from 0 on; NaN or what is "
    "below 0 comes from a line above",
    "'Tensor' and 'Linear'": "an nn.Linear is called like a function; its matrix is its `weight`",
}
# What a value is that somebody calls like a function, by its type.
CALLED = {
    "Parameter": "a parameter is a tensor, which one computes with",
    "Tensor": "a tensor is indexed with square brackets",
    "list": "a list cannot be called: its parts are, one after another",
    "tuple": "a tuple is indexed with square brackets",
    "Size": "a shape is indexed with square brackets",
    "int": "what is called there is a plain number",
    "float": "what is called there is a plain number",
}


def without_advice(text: str) -> str:
    """An error's text up to where it is of use to a learner."""
    return ENOUGH.sub(r"\1", text)


def often(error: CaughtError) -> str:
    """The usual cause of an error that says little by itself."""
    behind = next((cause for words, cause in BEHIND.items() if words in error.text), "")
    if behind or (behind := no_function(error) or no_module(error) or no_brackets(error)):
        return f"; {behind}"
    if error.type == "NotImplementedError" and "forward" in error.text:
        return "; is `forward` misspelt, or indented into another method?"
    if "local in init" in error.signs:
        return "; `__init__` makes it as a local name: is `self.` missing there?"
    if error.type != "TypeError" or error.line is not None:
        return ""
    if "has no parameter" in error.text:
        return f"; the stub has {'them' if 'parameters' in error.text else 'it'}"
    if lacks_self(error.text):
        return "; is `self` missing among its parameters?"
    if error.verb == "construct" and "required positional argument" in error.text:
        return "; the stub has other parameters"
    if error.verb == "construct" and "unexpected keyword argument" in error.text:  # of nn.Module
        return "; is there an `__init__`, with two underscores on each side?"
    return ""


def lacks_self(text: str) -> bool:
    """Whether a method got one argument more than it has names for, as without `self`.

    >>> lacks_self("Net.forward() takes 1 positional argument but 2 were given")
    True
    """
    said = re.match(r"\w+\.\w+\(\) takes (\d+) positional arguments? but (\d+) w", text)
    return said is not None and int(said[2]) == int(said[1]) + 1


def no_function(error: CaughtError) -> str:
    """What a value is that the learner's own line calls like a function; or nothing."""
    called = re.fullmatch(r"'(\w+)' object is not callable", error.text)
    return CALLED.get(called[1], "") if called and error.line else ""


def no_brackets(error: CaughtError) -> str:
    """What a function or method is, that stands where its result should; nothing for the rest."""
    if "math." in error.source and re.search("one element|to Scalar", error.text):
        return "`math` takes single numbers; torch's functions of these names take tensors"
    if not re.search(r"'(builtin_function_or_method|function|method)'", error.text):
        return ""
    if own := re.search(r"(?<![.\w])(input|sum|max|min|abs|len|pow)\b(?!\s*\()", error.source):
        return f"`{own[1]}` is a function of Python's own"
    return "are brackets `()` missing behind the name of a function or method?"


def no_module(error: CaughtError) -> str:
    """That a class is no module, where it lacks what every module has; nothing where it is one."""
    lacks = re.fullmatch(r"'(\w+)' object (?:has no attribute '(\w+)'|is not callable)", error.text)
    if not lacks or lacks[1] in NO_CLASSES or (lacks[2] and lacks[2] not in dir(nn.Module)):
        return ""
    if not lacks[2] and error.line:  # a call of something in the learner's own code
        return ""
    return f"`{lacks[1]}` is no module: write `class {lacks[1]}(nn.Module):`"


NO_CLASSES = {*dir(torch), *dir(builtins), "NoneType"}
SIZES_MATTER = {"RuntimeError", "IndexError", "ValueError"}


def sizes_there(error: CaughtError) -> str:
    """The sizes of what the line names, where an error is about sizes."""
    if not error.sizes or error.type not in SIZES_MATTER or not re.search(r"\d", error.text):
        return ""
    told = [f"`{name}` is {spoken_as_size(size)}" for name, size in error.sizes.items()]
    return f"; there {' and '.join(told)}"


def spoken_as_size(size: tuple[int, ...] | int) -> str:
    """A tensor's shape, or a whole number."""
    return str(size) if isinstance(size, int) else spoken_shape(size)


def read_outside(loaded: Loaded, definition: str, case: Case, line: str = "") -> str:
    """That a definition reads a value made outside of it. line: only where this names it."""
    words = set(re.findall(r"(?<![.\w])\w+", line))
    names = [n for n in loaded.outside.get(definition, ()) if not line or n in words]
    if not names:
        return ""
    made = "which are" if len(names) > 1 else "which is"
    meant = "is `self.` missing?" if is_of_class(case) else "is an argument meant?"
    return f"; it reads {listed_names(names[:3])}, {made} made outside of `{definition}`: {meant}"


def listed_names(names: Sequence[str]) -> str:
    """`a`, `b` and `c`, each in quotes of code."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def to_do(name: str, error: CaughtError) -> str:
    """Whether the exercise itself is unwritten, or calls one that is."""
    if is_of_another(error, name):
        verb = "calls" if error.function == error.definition else "uses"  # a function, a class
        return f"it {verb} `{error.definition}`, which is not written yet"
    return UNWRITTEN


def missing(attempt: JudgedAttempt, name: str, case: Case) -> Diagnosis:
    """The file does not define the name: say what it does define, or why it could not."""
    called = spoken(case, attempt.references.hidden)
    if error := attempt.loaded.failure_of(name):
        told = raised(error, attempt.place) + lost_name(error, attempt, case)
        problem = f"`{name}` could not be loaded: {told}"
        return Diagnosis(Kind.ERROR, problem, called, case=case.name, error=error)
    names = attempt.loaded.names
    close = close_name(attempt, name)
    there = f"it defines `{close}`, which looks close" if close else listed(names)
    problem = f"there is no `{name}` in the file; {there}"
    return Diagnosis(Kind.MISSING, problem, called, case=case.name)


def close_name(attempt: JudgedAttempt, name: str) -> str:
    """What the file defines under a name that is nearly this one; empty where it does not."""
    exercises = {e.name for e in attempt.chapter.exercises}
    own = [n for n in attempt.loaded.names if n not in exercises]
    return next(iter(get_close_matches(name, own, 1, 0.8)), "")


def listed(names: tuple[str, ...]) -> str:
    """What a file defines, in words."""
    if not names:
        return "it defines no function and no class, so there is nothing here that could be graded"
    return "it defines " + ", ".join(f"`{n}`" for n in names[:8])


def lost_name(error: CaughtError, attempt: JudgedAttempt, case: Case) -> str:
    """What became of a name that is not there, or which one is meant; nothing for other errors."""
    if error.type == "AttributeError":
        asked = [case for case, _ in attempt.references.of(case.exercise)]
        return lost_attribute(error, asked, attempt.loaded.names)
    lost = re.search(r"name '(\w+)' is not defined", error.text)
    if error.type != "NameError" or not lost:
        return ""
    if failure := attempt.loaded.failure_of(lost[1]) or import_like(lost[1], attempt.loaded):
        return f"; {what_failed(failure, attempt.place)}"
    if re.search(rf"register_\w+\(\s*{lost[1]}\b", error.source):
        return f'; the name is a text there: `"{lost[1]}"`'
    if "on self" in error.signs and error.function != error.definition:  # in a method
        return f"; there is `self.{lost[1]}`: is `self.` missing?"
    if "argument of init" in error.signs:
        return f"; it is an argument of `__init__` alone: keep it there as `self.{lost[1]}`"
    if any(exercise.name == lost[1] for exercise in attempt.chapter.exercises):
        return "; it is an exercise of this chapter, which the file does not define"
    if close := get_close_matches(lost[1], [n for n in names_of(case) if n != lost[1]], 1):
        return f"; is `{close[0]}` meant?"
    if lost[1] in MODULES and f"{lost[1]}." in error.source:
        return f"; is `{MODULES[lost[1]]}` missing at the top of the file?"
    if f"{lost[1]}(" in error.source and callable(getattr(torch, lost[1], None)):
        return f"; is `torch.{lost[1]}` meant?"
    if attempt.place(error.line or 0).startswith("cell "):
        return (
            "; it is no argument, and what cells calculate outside of functions is not there when "
            "these are checked" + (": is `self.` missing?" if is_of_class(case) else "")
        )
    return "; it is no argument and nothing before that line makes it" + (
        ", or is `self.` missing?" if is_of_class(case) else ""
    )


def is_of_class(case: Case) -> bool:
    """Whether a case makes an object of what the exercise asks for."""
    return any(step["verb"] == "construct" for step in case.steps)


MODULES = {name: f"import {name}" for name in ("math", "random", "copy", "itertools", "torch")}
MODULES |= {"nn": "from torch import nn", "np": "import numpy as np"}
MODULES |= {"F": "import torch.nn.functional as F"}


def lost_attribute(error: CaughtError, cases: list[Case], there: Sequence[str] = ()) -> str:
    """Which part that an object is asked to have is meant; nothing where none is like it.

    there: what the file defines.
    """
    if close := of_torch(error.text):
        return f"; is `{close}` meant?"
    lost = re.search(r"'(\w+)' object has no attribute '(\w+)'", error.text)
    if not lost:
        return ""
    owner, name = lost.groups()
    weights = [name for c in cases for step in c.steps for name in step.get("weights", {})]
    parts = sorted({weight.split(".")[0] for weight in weights} - {name})
    if meant := get_close_matches(name, parts, 1, 0.75):
        return f"; is `{meant[0]}` meant?"
    if name in there:
        return f"; `{name}` is defined beside the class, and called without `self.`"
    own = owner == error.definition and not name.startswith("_")
    said = own and not error.signs and not no_module(error)
    return f"; nothing before that line makes `self.{name}`" if said else ""


def of_torch(text: str) -> str:
    """The name in torch, in one of its modules or of a tensor that is nearly the one not there.

    >>> of_torch("module 'torch' has no attribute 'matmull'")
    'matmul'
    >>> [of_torch(f"module 'torch.nn' has no attribute '{n}'") for n in ("modulelist", "relu")]
    ['ModuleList', 'ReLU` or `torch.relu']
    """
    lost = re.match(r"(?:module )?'(torch|torch\.nn|torch\.nn\.functional|Tensor)' .*'(\w+)'", text)
    if not lost or "no attribute" not in text:
        return ""
    places = {"torch": torch, "torch.nn": nn, "Tensor": torch.Tensor}
    names = [name for name in dir(places.get(lost[1], nn.functional)) if name[0] != "_"]
    if alike := [name for name in names if name.lower() == lost[2].lower()]:
        there = lost[1] == "torch.nn" and hasattr(torch, lost[2])  # a layer, and a function too
        return f"{alike[0]}` or `torch.{lost[2]}" if there else alike[0]
    if hasattr(nn, lost[2]) and lost[1] == "torch":
        return f"nn.{lost[2]}"
    return next(iter(get_close_matches(lost[2], names, 1, 0.8)), "")


def import_like(name: str, loaded: Loaded) -> CaughtError | None:
    """The import that failed for a name nearly spelt like this: `torhc` for `torch`."""
    for problem in loaded.problems:
        failed = problem.error.source.startswith(("import ", "from "))
        if failed and get_close_matches(name, problem.names, 1, 0.75):
            return problem.error
    return None


def names_of(case: Case) -> list[str]:
    """The names of all arguments in a case."""
    return sorted({name for step in case.steps for name in step.get("arguments", {})})


def what_failed(error: CaughtError, place: Place) -> str:
    """The statement that should have made the name, and why it did not."""
    imports = error.source.startswith(("import ", "from "))
    what = "its import failed" if imports else "the line that makes it failed"
    line = error.called or error.line
    at = f", {place(line)}" if line else ""
    alone = STANDS_ALONE if "unknown location" in error.text else ""
    return f"{what} ({error.type}: {error.text.removesuffix(' (unknown location)')}{at}){alone}"


def lost_weights(case: Case, observed: Observation) -> str:
    """Which parameter was not found, or had another shape, and what there is; or nothing."""
    missing = strings(observed.fact("load", "missing", default=[]))
    unexpected = strings(observed.fact("load", "unexpected", default=[]))
    misshapen = observed.fact("load", "misshapen", default={})
    if missing and not unexpected and (part := lost_part(case, missing)):
        return f"torch finds no parameters in `{part}`, so they could not be given their values"
    if missing:
        return (
            f"the module has no parameter `{missing[0]}`, so this could not be given its values"
            f"{instead(missing[0], unexpected)}"
        )
    if misshapen:
        name, shape = next(iter(misshapen.items()))
        sizes = spoken_shape(shape) if isinstance(shape, list) else "?"
        keys = {n: key for step in case.steps for n, key in step.get("weights", {}).items()}
        asked = spoken_shape(case.tensors[keys[name]].shape) if name in keys else "another one"
        return f"the parameter `{name}` has shape {sizes}; {asked} is asked for"
    return ""


def lost_part(case: Case, missing: list[str]) -> str:
    """The largest part of which several parameters are asked for and none was found; or one in a
    list that is too short; or nothing.
    """
    asked = {name for step in case.steps for name in step.get("weights", {})}
    words = missing[0].split(".")
    for part in (".".join(words[:depth]) for depth in range(1, len(words))):
        inside = {name for name in asked if name.startswith(f"{part}.")}
        if (len(inside) > 1 or part[-1].isdigit()) and inside.issubset(missing):
            return part
    return ""


def instead(name: str, unexpected: list[str]) -> str:
    """What is there in place of a parameter, the likeliest first."""
    close = get_close_matches(name, unexpected, 1, 0.5)
    if close:
        return f"; it has `{close[0]}`"
    return f"; it has {', '.join(f'`{n}`' for n in unexpected[:6])}" if unexpected else ""
