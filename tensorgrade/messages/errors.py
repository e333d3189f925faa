"""Messages about cases without a result: unwritten, not found, error, timed out, killed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from ..exchange.cases import spoken_shape
from .message import Clauses, FromLearner, Message, Secret, Shape


@dataclass(frozen=True)
class NotWritten(Message):
    id = "not_written"
    template = "not written yet"


@dataclass(frozen=True)
class NeedsUnwritten(Message):
    """The exercise needs another definition that is not written. calls: it calls that one."""

    id = "needs_unwritten"
    definition: Annotated[str, FromLearner]
    calls: bool

    def wording(self) -> str:
        verb = "calls" if self.calls else "uses"
        return f"it {verb} `{{definition}}`, which is not written yet"


@dataclass(frozen=True)
class TimedOut(Message):
    """A call timed out. seconds: its limit in words, if known. at: the line that it had reached."""

    id = "timed_out"
    seconds: str = ""
    at: Message | None = None

    def wording(self) -> str:
        seconds = "{seconds}" if self.seconds else "the time that it has"
        return f"it did not come to an end in {seconds}{{at}}; does a loop never finish?"


@dataclass(frozen=True)
class Killed(Message):
    id = "killed"
    template = (
        "the process that ran it came to an end: it used too much memory, crashed, or did "
        "something that is not allowed"
    )


@dataclass(frozen=True)
class NotTried(Message):
    id = "not_tried"
    template = "not tried, since an earlier call of this exercise never came back"


@dataclass(frozen=True)
class QuotedLine(Message):
    """The learner's own line, in brackets after other words.

    called: the place of the call that led there, if it is known.
    """

    id = "quoted_line"
    place: str
    source: Annotated[str, FromLearner]
    called: str = ""

    def wording(self) -> str:
        called = ", called in {called}" if self.called else ""
        return f" ({{place}}: `{{source}}`{called})"


@dataclass(frozen=True)
class Raised(Message):
    """An error, with the words of Python or torch."""

    id = "raised"
    error: Annotated[str, FromLearner]
    text: Annotated[str, FromLearner] = ""
    at: QuotedLine | None = None

    def wording(self) -> str:
        text = ": {text}" if self.text else ""
        return f"{{error}}{text}{{at}}"


@dataclass(frozen=True)
class InAnother(Message):
    """An error in another definition of the file, which the exercise uses."""

    id = "in_another"
    template = "in `{definition}`, which it uses: {what}"
    definition: Annotated[str, FromLearner]
    what: Message


@dataclass(frozen=True)
class CouldNotLoad(Message):
    id = "could_not_load"
    template = "`{name}` could not be loaded: {why}"
    name: str
    why: Message


@dataclass(frozen=True)
class NotInFile(Message):
    """The file does not define a name. there: a message on the names that it defines."""

    id = "not_in_file"
    template = "there is no `{name}` in the file; {there}"
    name: str
    there: Message


@dataclass(frozen=True)
class DefinesSimilar(Message):
    id = "defines_similar"
    template = "it defines `{name}`, which looks close"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class Defines(Message):
    id = "defines"
    template = "it defines {names}"
    names: Message


@dataclass(frozen=True)
class DefinesNothing(Message):
    id = "defines_nothing"
    template = "it defines no function and no class, so there is nothing here that could be graded"


@dataclass(frozen=True)
class Name(Message):
    """A name in the learner's file."""

    id = "name"
    template = "`{name}`"
    name: Annotated[str, FromLearner]


def name_list(names: Iterable[str]) -> Clauses:
    """Return names with commas between them."""
    return Clauses(tuple(map(Name, names)), ", ")


@dataclass(frozen=True)
class Size(Message):
    """A tensor's shape, or an integer."""

    id = "size"
    size: Annotated[Shape | int, FromLearner]

    def wording(self) -> str:
        return str(self.size) if isinstance(self.size, int) else spoken_shape(self.size)


@dataclass(frozen=True)
class HasSize(Message):
    id = "has_size"
    template = "`{name}` is {size}"
    name: Annotated[str, FromLearner]
    size: Size


@dataclass(frozen=True)
class SizesThere(Message):
    """The sizes of the names on the line that raised."""

    id = "sizes_there"
    template = "there {sizes}"
    sizes: Clauses


@dataclass(frozen=True)
class ReadsOutside(Message):
    """A definition reads values from outside of it. in_class: True if the definition is a class."""

    id = "reads_outside"
    names: Annotated[tuple[str, ...], FromLearner]
    definition: Annotated[str, FromLearner]
    in_class: bool

    def wording(self) -> str:
        made = "which are" if len(self.names) > 1 else "which is"
        meant = "is `self.` missing?" if self.in_class else "is an argument meant?"
        return f"it reads {{names:code}}, {made} made outside of `{{definition}}`: {meant}"


# The name of a NameError or an AttributeError.


@dataclass(frozen=True)
class DidYouMean(Message):
    """A suggestion of a name. other: a second possible name."""

    id = "did_you_mean"
    name: Annotated[str, FromLearner]
    other: Annotated[str, FromLearner] = ""

    def wording(self) -> str:
        return "is `{name}` or `{other}` meant?" if self.other else "is `{name}` meant?"


@dataclass(frozen=True)
class NameFailed(Message):
    """The statement that should define the missing name failed. imports: it is an import."""

    id = "name_failed"
    imports: bool
    error: Annotated[str, FromLearner]
    text: Annotated[str, FromLearner]
    place: str = ""

    def wording(self) -> str:
        what = "its import failed" if self.imports else "the line that makes it failed"
        return f"{what} ({{error}}: {{text}}{', {place}' if self.place else ''})"


@dataclass(frozen=True)
class StandsAlone(Message):
    """An import from another chapter, which has a substitute but no file."""

    id = "stands_alone"
    template = (
        "each chapter's file is checked alone: of other chapters only what the stub imports is "
        "there"
    )


@dataclass(frozen=True)
class OwnModuleIsNotThere(Message):
    """An import of a module that is not installed, such as a file next to the learner's."""

    id = "own_module_is_not_there"
    template = (
        "the grader receives this file alone: if you import another file of yours, copy what you "
        "use from it; other packages are not installed there"
    )


@dataclass(frozen=True)
class NameIsText(Message):
    id = "name_is_text"
    template = 'the name is a text there: `"{name}"`'
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class OnSelf(Message):
    id = "on_self"
    template = "there is `self.{name}`: is `self.` missing?"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class ArgumentOfInit(Message):
    id = "argument_of_init"
    template = "it is an argument of `__init__` alone: keep it there as `self.{name}`"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class ExerciseNotInFile(Message):
    id = "exercise_not_in_file"
    template = "it is an exercise of this chapter, which the file does not define"


@dataclass(frozen=True)
class ImportMissing(Message):
    id = "import_missing"
    template = "is `{statement}` missing at the top of the file?"
    statement: str


@dataclass(frozen=True)
class MadeNowhere(Message):
    """A name that nothing defines. in_cell: the line is in a notebook. in_class: in a class."""

    id = "made_nowhere"
    in_cell: bool
    in_class: bool

    def wording(self) -> str:
        if self.in_cell:
            return (
                "it is no argument, and what cells calculate outside of functions is not there "
                "when these are checked" + (": is `self.` missing?" if self.in_class else "")
            )
        return "it is no argument and nothing before that line makes it" + (
            ", or is `self.` missing?" if self.in_class else ""
        )


@dataclass(frozen=True)
class DefinedOutsideClass(Message):
    """`self.name` is read, but the file defines `name` outside of the class."""

    id = "defined_outside_class"
    template = "`{name}` is defined beside the class, and called without `self.`"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class AttributeMadeNowhere(Message):
    id = "attribute_made_nowhere"
    template = "nothing before that line makes `self.{name}`"
    name: Annotated[str, FromLearner]


# Weights that could not be given their values.


@dataclass(frozen=True)
class NoParameters(Message):
    id = "no_parameters_in"
    template = "torch finds no parameters in `{part}`, so they could not be given their values"
    part: Annotated[str, FromLearner]


@dataclass(frozen=True)
class NoParameter(Message):
    id = "no_parameter"
    template = "the module has no parameter `{name}`, so this could not be given its values"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class NoWeightInside(Message):
    """A parameter is missing inside a part whose code the learner has not seen."""

    id = "no_weight_inside"
    template = "the module lacks a weight of `{part}` (is all it needs handed on to it?)"
    part: Annotated[str, FromLearner]


@dataclass(frozen=True)
class HasInstead(Message):
    """The parameters that a module has instead of a missing one."""

    id = "has_instead"
    template = "it has {names}"
    names: Message


@dataclass(frozen=True)
class MisshapenParameter(Message):
    """A parameter of a wrong shape.

    inside: True if it is inside the part `name`, whose code the learner has not seen.
    """

    id = "misshapen_parameter"
    name: Annotated[str, FromLearner]
    size: Size | None
    asked: Annotated[Size | None, Secret]
    inside: bool = False

    def wording(self) -> str:
        whose = "weight of" if self.inside else "parameter"
        size = "{size}" if self.size else "?"
        asked = "{asked}" if self.asked else "another one"
        return f"the {whose} `{{name}}` has shape {size}; {asked} is asked for"


# The usual causes of errors whose own words say little.


@dataclass(frozen=True)
class OverwritesForGradient(Message):
    id = "overwrites_for_gradient"
    template = (
        "a step in place (`/=`, `exp_()` and the like) writes over what the gradient is computed "
        "from; make a new tensor: `x = x / …`"
    )


@dataclass(frozen=True)
class WriteWithoutGradient(Message):
    id = "write_without_gradient"
    template = "write into a parameter inside `with torch.no_grad():`"


@dataclass(frozen=True)
class CopyIntoParameter(Message):
    id = "copy_into_parameter"
    template = "a parameter stays one when it is copied into, inside `with torch.no_grad():`"


@dataclass(frozen=True)
class SuperInitFirst(Message):
    id = "super_init_first"
    template = "call `super().__init__()` first"


@dataclass(frozen=True)
class ReshapeCopies(Message):
    id = "reshape_copies"
    template = "`reshape` copies where `view` cannot"


@dataclass(frozen=True)
class TakeValues(Message):
    id = "take_values"
    template = (
        "along a dimension `max`, `min` and the like give two tensors, the values and their "
        "places: take `.values`"
    )


@dataclass(frozen=True)
class OneYesOrNo(Message):
    id = "one_yes_or_no"
    template = (
        "`if`, `and`, `max(…)` and the like ask a whole tensor for one yes or no; torch's own "
        "functions take its numbers one by one, and `|` and `&` join masks, with each comparison "
        "in brackets of its own"
    )


@dataclass(frozen=True)
class IsPlainNumber(Message):
    id = "is_plain_number"
    template = "that is a plain number, which Python computes with by itself (`**`, `math`)"


@dataclass(frozen=True)
class ModuleListHolds(Message):
    id = "module_list_holds"
    template = "an nn.ModuleList only holds layers: they are called one after another"


@dataclass(frozen=True)
class MaskOfNumbers(Message):
    id = "mask_of_numbers"
    template = "it takes a mask of True and False, and this one holds numbers"


@dataclass(frozen=True)
class ShapesOfGradient(Message):
    id = "shapes_of_gradient"
    template = "the first is the shape asked for, the second the result's"


@dataclass(frozen=True)
class NothingLearns(Message):
    id = "nothing_learns"
    template = "torch finds no parameter that could learn"


@dataclass(frozen=True)
class NoLayer(Message):
    id = "no_layer"
    template = (
        "what stands where a layer is asked for is none; if it is a class, are brackets missing "
        "behind its name? A list of layers is taken apart with `*`"
    )


@dataclass(frozen=True)
class NoPower(Message):
    id = "no_power"
    template = "`^` is no power: that is `**`"


@dataclass(frozen=True)
class ShapeIsSeveral(Message):
    id = "shape_is_several"
    template = "a shape is several numbers: take one of them, `x.shape[-1]`"


@dataclass(frozen=True)
class DivideWhole(Message):
    id = "divide_whole"
    template = "`/` gives a number with a fraction, and a size is a whole one: `//`"


@dataclass(frozen=True)
class BracketsBehindName(Message):
    id = "brackets_behind_name"
    template = "are brackets missing behind its name?"


@dataclass(frozen=True)
class GatherDimensions(Message):
    id = "gather_dimensions"
    template = "`gather` takes places with as many dimensions as the values have (`unsqueeze(-1)`)"


@dataclass(frozen=True)
class CallsItself(Message):
    id = "calls_itself"
    template = "it calls itself without an end"


@dataclass(frozen=True)
class NobodyAnswers(Message):
    id = "nobody_answers"
    template = "nobody is there to answer an `input()`"


@dataclass(frozen=True)
class NoChances(Message):
    id = "no_chances"
    template = "chances are numbers from 0 on; NaN or what is below 0 comes from a line above"


@dataclass(frozen=True)
class LinearIsCalled(Message):
    id = "linear_is_called"
    template = "an nn.Linear is called like a function; its matrix is its `weight`"


# What a value is that is called like a function.


@dataclass(frozen=True)
class ParameterIsTensor(Message):
    id = "parameter_is_tensor"
    template = "a parameter is a tensor, which one computes with"


@dataclass(frozen=True)
class SquareBrackets(Message):
    """A value that is called, but needs square brackets. kind: the type of the value."""

    id = "square_brackets"
    template = "a {kind} is indexed with square brackets"
    kind: str


@dataclass(frozen=True)
class ListIsNotCalled(Message):
    id = "list_is_not_called"
    template = "a list cannot be called: its parts are, one after another"


@dataclass(frozen=True)
class NumberIsCalled(Message):
    id = "number_is_called"
    template = "what is called there is a plain number"


# Causes that take more than the words of an error to find.


@dataclass(frozen=True)
class MathTakesNumbers(Message):
    id = "math_takes_numbers"
    template = "`math` takes single numbers; torch's functions of these names take tensors"


@dataclass(frozen=True)
class PythonsOwn(Message):
    id = "pythons_own"
    template = "`{name}` is a function of Python's own"
    name: str


@dataclass(frozen=True)
class NotCalled(Message):
    """A function or method in the place of its result."""

    id = "not_called"
    template = "are brackets `()` missing behind the name of a function or method?"


@dataclass(frozen=True)
class NoModule(Message):
    """A class that lacks what every nn.Module has."""

    id = "no_module"
    template = "`{name}` is no module: write `class {name}(nn.Module):`"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class MisspeltForward(Message):
    id = "misspelt_forward"
    template = "is `forward` misspelt, or indented into another method?"


@dataclass(frozen=True)
class LocalInInit(Message):
    id = "local_in_init"
    template = "`__init__` makes it as a local name: is `self.` missing there?"


@dataclass(frozen=True)
class StubHasParameter(Message):
    """The case passes parameters that the learner's definition does not have."""

    id = "stub_has_parameter"
    several: bool

    def wording(self) -> str:
        return "the stub has them" if self.several else "the stub has it"


@dataclass(frozen=True)
class SelfMissing(Message):
    id = "self_missing"
    template = "is `self` missing among its parameters?"


@dataclass(frozen=True)
class OtherParameters(Message):
    id = "other_parameters"
    template = "the stub has other parameters"


@dataclass(frozen=True)
class MisspeltInit(Message):
    id = "misspelt_init"
    template = "is there an `__init__`, with two underscores on each side?"
