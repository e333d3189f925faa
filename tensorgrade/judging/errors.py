"""Explain why a case has no result: unwritten, not found, error, timed out, killed."""

import builtins
import re
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import permutations

import torch
from torch import nn

from ..exchange.cases import Case, spoken
from ..exchange.observation import CaughtError, Loaded, Observation, Outcome, strings
from ..exchange.text import short
from ..messages import errors
from ..messages.message import Clauses, Message, Plain
from ..messages.results import WeightName
from .diagnosis import Diagnosis, Kind
from .own_names import own_name
from .protocols import JudgedAttempt

LONGEST_LINE = 90
MOST_SHARED = 4
Place = Callable[[int], str]  # returns what the learner calls a line


def why_it_ended(attempt: JudgedAttempt, case: Case, observed: Observation) -> Diagnosis:
    """Return the diagnosis for a case without a result."""
    called = partial(spoken, case, attempt.references.hidden)
    status, error = observed.status, observed.error
    if status in (Outcome.TIMEOUT, Outcome.KILLED, Outcome.UNREACHED):
        problem = ended(status, error, attempt.place)
        return Diagnosis(Kind(status), problem, called, case=case.name, error=error)
    return Diagnosis(Kind.ERROR, Plain(attempt.loaded.reason), called, case=case.name)


def ended(status: Outcome, error: CaughtError | None = None, place: Place = str) -> Message:
    """Return how a call ended without a result; for a timeout also the limit and the line."""
    if status == Outcome.KILLED:
        return errors.Killed(of_memory=bool(error and error.type == "MemoryError"))
    if status == Outcome.UNREACHED:
        return errors.NotTried()
    return errors.TimedOut(error.text, at_line(error, place)) if error else errors.TimedOut()


def at_line(error: CaughtError, place: Place) -> errors.QuotedLine | None:
    """Return the learner's own line and the one that called it; None if no line is known.

    >>> from tensorgrade.messages.message import render
    >>> render(at_line(CaughtError("E", line=3, source="x + 1", called=9), "line {}".format))
    ' (line 3: `x + 1`, called on line 9)'
    """
    if error.line is None:
        return None
    called = place(error.called) if error.called else ""
    return errors.QuotedLine(place(error.line), short(error.source, LONGEST_LINE), called)


def why_it_raised(
    attempt: JudgedAttempt, exercise: str, case: Case, error: CaughtError
) -> Diagnosis:
    """Return the diagnosis for a case that ended in an error."""
    if error.missing:
        return missing(attempt, error.missing, case)
    called = partial(spoken, case, attempt.references.hidden)
    if error.is_unwritten:
        problem = to_do(exercise, error)
        return Diagnosis(Kind.TO_DO, problem, called, case=case.name, error=error)
    outside = read_outside(attempt.loaded, error.definition, case, error.source)
    lost = lost_name(error, attempt, case)
    there = outside or none_there(attempt, error, case) or sizes_there(error) or dtypes_there(error)
    problem = Clauses((raised(error, attempt.place), lost, there, lines_up(error)))
    if is_of_another(error, exercise):
        problem = errors.InAnother(error.definition, problem)
    return Diagnosis(Kind.ERROR, problem, called, case=case.name, error=error)


def is_of_another(error: CaughtError, exercise: str) -> bool:
    """Return True if an error comes from another definition of the learner's file."""
    return error.definition.isidentifier() and error.definition != exercise


def raised(error: CaughtError, place: Place) -> Message:
    """Return an error's own words, with the learner's line and the usual cause."""
    said = errors.Raised(error.type, own_words(error), at_line(error, place))
    return Clauses((said, usual_cause(error)))


def own_words(error: CaughtError) -> str:
    """Return an error's text without the parts that do not help in this course.

    Some are advice that contradicts ours.

    >>> text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()"
    >>> own_words(CaughtError("RuntimeError", text))
    "Can't call numpy() on Tensor that requires grad"
    """
    return ENOUGH.sub(r"\1", error.text).rstrip(".")


# torch's longest sentences: the text after these words is about torch's internals.
ENOUGH = re.compile(
    r"(modified by an inplace operation|in-place operation|size and stride"
    r"|invalid combination of arguments - got \([^()]*\)|while output is captured"
    r"|numpy\(\) on Tensor that requires grad)(?!\w).*",
    re.DOTALL,
)
# The usual cause of an error, by words in the texts of torch and Python.
CAUSES: dict[str, Message] = {
    "modified by an inplace operation": errors.OverwritesForGradient(),
    "leaf Variable that requires grad": errors.WriteWithoutGradient(),
    "Parameter or None expected)": errors.CopyIntoParameter(),
    "before Module.__init__() call": errors.SuperInitFirst(),
    "size and stride": errors.ReshapeCopies(),
    "numpy() on Tensor that requires grad": errors.NumpyCuts(),
    "does not require grad and does not have a grad_fn": errors.NoGraph(),
    "index out of range in self": errors.NoSuchRow(),
    "Expected target size": errors.ClassesInDimension1(),
    "'torch.return_types.": errors.TakeValues(),
    "Boolean value of Tensor with more than one": errors.NotASingleBool(),
    "must be Tensor, not int": errors.IsPlainNumber(),
    "must be Tensor, not float": errors.IsPlainNumber(),
    "Module [ModuleList]": errors.ModuleListHolds(),
    "only supports boolean masks": errors.MaskOfNumbers(),
    "Mismatch in shape: grad_output": errors.ShapesOfGradient(),
    "`inputs` argument to `grad()` cannot be empty": errors.NothingLearns(),
    "is not a Module subclass": errors.NoLayer(),
    "bitwise_xor": errors.CaretIsNotPower(),
    "for ^:": errors.CaretIsNotPower(),
    "'torch.Size' and": errors.ShapeIsSeveral(),
    "tuple of ints,but got float": errors.NeedsIntegerDivision(),
    "'float' object cannot be interpreted as an integer": errors.NeedsIntegerDivision(),
    "'type' object does not support the context manager": errors.MissingParentheses(),
    "same number of dimensions as input": errors.GatherDimensions(),
    "maximum recursion depth": errors.CallsItself(),
    "EOF when reading a line": errors.InputNotAvailable(),
    "reading from stdin while output is captured": errors.InputNotAvailable(),
    "contains either `inf`, `nan` or element < 0": errors.InvalidProbabilities(),
    "'Tensor' and 'Linear'": errors.LinearIsCalled(),
    "not compiled with CUDA": errors.NoSuchDevice(),
    "no NVIDIA driver": errors.NoSuchDevice(),
    "No CUDA GPUs": errors.NoSuchDevice(),
    "not linked with support for mps": errors.NoSuchDevice(),
}
# Messages about values that are called like a function, by their type.
CALLED: dict[str, Message] = {
    "Parameter": errors.ParameterIsTensor(),
    "Tensor": errors.SquareBrackets("tensor"),
    "list": errors.ListIsNotCalled(),
    "tuple": errors.SquareBrackets("tuple"),
    "Size": errors.SquareBrackets("shape"),
    "int": errors.NumberIsCalled(),
    "float": errors.NumberIsCalled(),
}


def usual_cause(error: CaughtError) -> Message | None:
    """Return the usual cause of an error with an unclear text; None if there is none."""
    known = next((cause for words, cause in CAUSES.items() if words in error.text), None)
    called = re.fullmatch(r"'(\w+)' object is not callable", error.text)
    if called and error.line:  # the learner's own line calls a value like a function
        known = known or CALLED.get(called[1])
    if cause := known or no_module(error) or no_brackets(error):
        return cause
    if error.type == "NotImplementedError" and "forward" in error.text:
        return errors.MisspeltForward()
    return wrong_arguments(error) if error.type == "TypeError" and error.line is None else None


def wrong_arguments(error: CaughtError) -> Message | None:
    """Return the fault in the parameters of a definition that a case could not call, if known.

    >>> text = "Net.forward() takes 1 positional argument but 2 were given"
    >>> wrong_arguments(CaughtError("TypeError", text))
    SelfMissing()
    """
    if "has no parameter" in error.text:
        return errors.StubHasParameter(several="parameters" in error.text)
    # Without `self`, a method gets one argument more than it has parameters.
    told = re.match(r"\w+\.\w+\(\) takes (\d+) positional arguments? but (\d+) w", error.text)
    if told and int(told[2]) == int(told[1]) + 1:
        return errors.SelfMissing()
    if error.verb == "construct" and "required positional argument" in error.text:
        return errors.OtherParameters()
    if error.verb == "construct" and "unexpected keyword argument" in error.text:  # of nn.Module
        return errors.MisspeltInit()
    return None


def no_brackets(error: CaughtError) -> Message | None:
    """Return a message if a function or method is used without being called; else None."""
    if "math." in error.source and re.search("one element|to Scalar", error.text):
        return errors.MathTakesNumbers()
    if not re.search(r"'(builtin_function_or_method|function|method)'", error.text):
        return None
    if own := re.search(r"(?<![.\w])(input|sum|max|min|abs|len|pow)\b(?!\s*\()", error.source):
        return errors.IsBuiltInFunction(own[1])
    return errors.NotCalled()


def no_module(error: CaughtError) -> errors.NoModule | None:
    """Return a message if a class lacks an attribute that every nn.Module has."""
    lacks = re.fullmatch(r"'(\w+)' object (?:has no attribute '(\w+)'|is not callable)", error.text)
    if not lacks or lacks[1] in NO_CLASSES or (lacks[2] and lacks[2] not in dir(nn.Module)):
        return None
    if not lacks[2] and error.line:  # a call in the learner's own code
        return None
    return errors.NoModule(lacks[1])


NO_CLASSES = {*dir(torch), *dir(builtins), "NoneType"}
SIZES_MATTER = {"RuntimeError", "IndexError", "ValueError"}


def sizes_there(error: CaughtError) -> Message | None:
    """Return the sizes of the names on the line, if an error is about sizes."""
    if not error.sizes or error.type not in SIZES_MATTER or not re.search(r"\d", error.text):
        return None
    sizes = (errors.HasSize(name, errors.Size(size)) for name, size in error.sizes.items())
    return errors.SizesThere(tuple(sizes))


def lines_up(error: CaughtError) -> errors.LinesUpFromTheRight | None:
    """Return how torch compares two shapes, if one lacks the last dimension; else None."""
    told = re.search(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", error.text)
    if not told:
        return None
    shapes = {name: size for name, size in error.sizes.items() if isinstance(size, tuple) and size}
    fitting = [
        (short, long)
        for short, long in permutations(shapes, 2)
        if shapes[short] == shapes[long][:-1]
        and {shapes[short][-1], shapes[long][-1]} == {int(told[1]), int(told[2])}
    ]
    if len(fitting) != 1:
        return None
    ((short, long),) = fitting
    return errors.LinesUpFromTheRight(short, long)


ABOUT_DTYPES = re.compile("scalar type|dtype|same type")


def dtypes_there(error: CaughtError) -> errors.DtypesThere | None:
    """Return the dtypes of the names on the line, if an error is about two of them."""
    if not ABOUT_DTYPES.search(error.text) or len(set(error.dtypes.values())) != 2:
        return None
    told = (errors.HasDtype(*one) for one in error.dtypes.items())
    return errors.DtypesThere(tuple(told))


def none_there(attempt: JudgedAttempt, error: CaughtError, case: Case) -> errors.IsNone | None:
    """Return which name on the line is None, if an error is about that and there is one."""
    if "NoneType" not in error.text or len(error.empty) != 1:
        return None
    (name,) = error.empty
    asked = error.function in (error.definition, "forward")  # its parameters are the call's
    return errors.IsNone(name, left_out=asked and name in left_out(attempt, case))


def left_out(attempt: JudgedAttempt, case: Case) -> set[str]:
    """Return the arguments that other cases of the exercise pass, and this one does not."""
    others = (one for one, _ in attempt.references.of(case.exercise))
    asked = {name for other in others for name, _ in other.passed}
    return asked - {name for name, value in case.passed if value is not None}


def read_outside(
    loaded: Loaded, definition: str, case: Case, line: str = ""
) -> errors.ReadsOutside | None:
    """Return a message on values that a definition reads although the file creates them elsewhere.

    Return None if there are none. line: the text of a line; report only values that it names.
    """
    words = set(re.findall(r"(?<![.\w])\w+", line))
    names = [n for n in loaded.outside.get(definition, ()) if not line or n in words]
    return errors.ReadsOutside(tuple(names[:3]), definition, is_of_class(case)) if names else None


def to_do(name: str, error: CaughtError) -> Message:
    """Return a message that the exercise is unwritten, or uses a definition that is."""
    if is_of_another(error, name):
        is_function = error.function == error.definition
        return errors.NeedsUnwritten(error.definition, calls=is_function)
    return errors.NotWritten()


def missing(attempt: JudgedAttempt, name: str, case: Case) -> Diagnosis:
    """Return the diagnosis for a name that the file does not define, or could not define."""
    called = partial(spoken, case, attempt.references.hidden)
    if error := attempt.loaded.failure_of(name):
        why = Clauses((raised(error, attempt.place), lost_name(error, attempt, case)))
        problem = errors.CouldNotLoad(name, why)
        return Diagnosis(Kind.ERROR, problem, called, case=case.name, error=error)
    there = defined(attempt.loaded.names)
    return Diagnosis(Kind.MISSING, errors.NotInFile(name, there), called, case=case.name)


def defined(names: tuple[str, ...]) -> Message:
    """Return a message on the names that a file defines."""
    if not names:
        return errors.DefinesNothing()
    return errors.Defines(Clauses(tuple(map(errors.Name, names[:8])), ", "))


def lost_name(error: CaughtError, attempt: JudgedAttempt, case: Case) -> Message | None:
    """Return why a name or an attribute is missing, or which one was intended; None if unknown."""
    if error.type == "AttributeError":
        return lost_attribute(error, attempt.loaded.names)
    if error.type == "TypeError" and error.meant:
        return errors.DidYouMean(error.meant)
    lost = re.search(r"name '(\w+)' is not defined", error.text)
    if error.type != "NameError" or not lost:
        return None
    if failure := attempt.loaded.failure_of(lost[1]) or import_like(lost[1], attempt.loaded):
        return what_failed(failure, attempt.place)
    if known := known_elsewhere(lost[1], error, attempt):
        return known
    if meant := other_name(lost[1], error):
        return meant
    in_cell = attempt.is_in_cell(error.line or 0)
    return errors.MadeNowhere(in_cell, in_class=is_of_class(case))


def known_elsewhere(name: str, error: CaughtError, attempt: JudgedAttempt) -> Message | None:
    """Return where else an undefined name exists: as a text, in `self`, as an exercise; or None."""
    if re.search(rf"register_\w+\(\s*{name}\b", error.source):
        return errors.NameIsText(name)
    text, owner = attempt.submitted, attempt.submitted.class_around(error.line or 0)
    if any(text.makes(f"self.{name}", line) for line in owner):
        return errors.OnSelf(name)
    if any(text.is_argument_of_init(name, line) for line in owner):
        return errors.ArgumentOfInit(name)
    if any(exercise.name == name for exercise in attempt.chapter.exercises):
        return errors.ExerciseNotInFile()
    return None


def other_name(name: str, error: CaughtError) -> Message | None:
    """Return a suggestion for an undefined name (import, similar or torch function); or None."""
    if name in MODULES and f"{name}." in error.source:
        return errors.ImportMissing(MODULES[name])
    if error.meant:
        return errors.DidYouMean(error.meant)
    if f"{name}(" in error.source and callable(getattr(torch, name, None)):
        return errors.DidYouMean(f"torch.{name}")
    return None


def is_of_class(case: Case) -> bool:
    """Return True if a case makes an object of the exercise's class."""
    return any(step.verb == "construct" for step in case.steps)


MODULES = {name: f"import {name}" for name in ("math", "random", "copy", "itertools", "torch")}
MODULES |= {"nn": "from torch import nn", "np": "import numpy as np"}
MODULES |= {"F": "import torch.nn.functional as F"}


def lost_attribute(error: CaughtError, there: Sequence[str] = ()) -> Message | None:
    """Return which attribute of an object or a module was intended, or why it is missing.

    there: the names that the file defines.
    """
    if close := of_torch(error.text):
        return errors.DidYouMean(*close)
    lost = re.search(r"'(\w+)' object has no attribute '(\w+)'", error.text)
    if not lost:
        return None
    owner, name = lost.groups()
    if error.meant:
        return errors.DidYouMean(error.meant)
    if name in there:
        return errors.DefinedOutsideClass(name)
    own = owner == error.definition and not name.startswith("_")
    is_lost = own and not no_module(error)
    return errors.AttributeMadeNowhere(name) if is_lost else None


def of_torch(text: str) -> tuple[str, ...]:
    """Return the names in torch, one of its modules or a tensor that are similar to a missing one.

    >>> of_torch("module 'torch' has no attribute 'matmull'")
    ('matmul',)
    >>> [of_torch(f"module 'torch.nn' has no attribute '{n}'") for n in ("modulelist", "relu")]
    [('ModuleList',), ('ReLU', 'torch.relu')]
    """
    lost = re.match(r"(?:module )?'(torch|torch\.nn|torch\.nn\.functional|Tensor)' .*'(\w+)'", text)
    if not lost or "no attribute" not in text:
        return ()
    places = {"torch": torch, "torch.nn": nn, "Tensor": torch.Tensor}
    names = [name for name in dir(places.get(lost[1], nn.functional)) if name[0] != "_"]
    if alike := [name for name in names if name.lower() == lost[2].lower()]:
        there = lost[1] == "torch.nn" and hasattr(torch, lost[2])  # both a layer and a function
        return (alike[0], f"torch.{lost[2]}") if there else (alike[0],)
    if hasattr(nn, lost[2]) and lost[1] == "torch":
        return (f"nn.{lost[2]}",)
    return tuple(get_close_matches(lost[2], names, 1, 0.8))


def import_like(name: str, loaded: Loaded) -> CaughtError | None:
    """Return the error of a failed import of a similar name (`torhc` for `torch`), or None."""
    for problem in loaded.problems:
        failed = problem.error.source.startswith(("import ", "from "))
        if failed and get_close_matches(name, problem.names, 1, 0.75):
            return problem.error
    return None


def what_failed(error: CaughtError, place: Place) -> Message:
    """Return why the statement failed that should have defined a name."""
    imports = error.source.startswith(("import ", "from "))
    line = error.called or error.line
    text = error.text.removesuffix(" (unknown location)")
    failed = errors.NameFailed(imports, error.type, text, place(line) if line else "")
    why: Message | None = None
    if "unknown location" in error.text:  # the runner's substitute for a chapter is in no file
        why = errors.ChapterIsSeparate()
    elif error.type == "ModuleNotFoundError":
        why = errors.OwnModuleIsNotThere()
    return Clauses((failed, why))


def lost_weights(
    case: Case, observed: Observation, insides: Collection[str] = ()
) -> Message | None:
    """Return which parameter is missing or has another shape, and what exists instead.

    Return None if all weights were loaded. insides: names of parameters inside parts whose code the
    learner has not seen.
    """
    missing = strings(observed.fact("load", "missing", default=[]))
    unexpected = [
        own_name(n, observed) for n in strings(observed.fact("load", "unexpected", default=[]))
    ]
    misshapen = observed.fact("load", "misshapen", default={})
    if missing and not unexpected and (part := lost_part(case, missing)):
        return errors.NoParameters(part)
    if missing:
        holder = holder_of(missing[0], insides)
        lost = errors.NoWeightInside(holder) if holder else errors.NoParameter(missing[0])
        return Clauses((lost, instead(missing[0], unexpected, insides)))
    if tied := observed.fact("load", "tied", default={}):
        return one_part_for_several(tied, insides)
    if misshapen:
        name, shape = next(iter(misshapen.items()))
        return misshapen_weight(case, name, shape, insides, own_name(name, observed))
    return None


def one_part_for_several(tied: dict, insides: Collection[str]) -> Message:
    """Return a message on the parts that share their weights.

    tied: by parameter, the first parameter with the same tensor, as the learner's process reports.
    """
    pairs = [(str(first), str(name)) for name, first in tied.items()]
    if holder := holder_of(pairs[0][0], insides):
        holders = [holder, *(holder_of(name, insides) for _, name in pairs)]
        return errors.SharedPart(tuple(dict.fromkeys(filter(None, holders)))[:MOST_SHARED])
    whole, _, inner = pairs[0][0].rpartition(".")
    also = [name.rpartition(".")[0] for _, name in pairs if name.rpartition(".")[2] == inner]
    parts = (whole, *also) if whole and all(also) else (pairs[0][0], *(name for _, name in pairs))
    return errors.SharedPart(tuple(dict.fromkeys(parts))[:MOST_SHARED])


def misshapen_weight(
    case: Case, name: str, shape: object, insides: Collection[str], own: str
) -> Message:
    """Return a message on the shape of a parameter, which has this name of the learner's own."""
    keys = case.weights
    size = errors.Size(tuple(shape)) if isinstance(shape, list) else None
    asked = errors.Size(tuple(case.tensors[keys[name]].shape)) if name in keys else None
    part = holder_of(name, insides)
    return errors.MisshapenParameter(part or own, size, asked, inside=bool(part))


def holder_of(name: str, insides: Collection[str]) -> str:
    """Return the part around a weight that the learner has not seen; "" for other weights.

    >>> holder_of("rows.0.mix.w", {"w"}), holder_of("w", {"w"})
    ('rows.0.mix', '')
    """
    inner = max((one for one in insides if name.endswith(f".{one}")), key=len, default="")
    return name.removesuffix(f".{inner}") if inner else ""


def lost_part(case: Case, missing: list[str]) -> str:
    """Return the largest part that lacks all of its parameters, at least two; "" if none does.

    An entry of a list that is too short counts too, even with one parameter.
    """
    words = missing[0].split(".")
    for part in (".".join(words[:depth]) for depth in range(1, len(words))):
        inside = {name for name in case.weights if name.startswith(f"{part}.")}
        if (len(inside) > 1 or part[-1].isdigit()) and inside.issubset(missing):
            return part
    return ""


def instead(name: str, unexpected: list[str], insides: Collection[str]) -> Message | None:
    """Return a message on the unexpected parameters that exist instead of a missing one.

    It names the most similar one, or else the first few. None if there are none.
    """
    there = get_close_matches(name, unexpected, 1, 0.5) or unexpected[:6]
    parts = [(one, holder_of(one, insides)) for one in there]
    names = (WeightName("" if part else one, part) for one, part in parts)
    return errors.HasInstead(Clauses(tuple(dict.fromkeys(names)), ", ")) if there else None
