"""Messages about cases without a result: unwritten, not found, error, timed out, killed."""

from dataclasses import dataclass

from ..exchange.cases import spoken_shape
from .message import Message, Shape


@dataclass(frozen=True)
class NotWritten(Message):
    id = "not_written"
    template = "not written yet"


@dataclass(frozen=True)
class NeedsUnwritten(Message):
    """The exercise needs another definition that is not written. calls: it calls that one."""

    id = "needs_unwritten"
    definition: str
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
        seconds = "{seconds}" if self.seconds else "its time limit"
        return f"it did not finish within {seconds}{{at}}. Is there an infinite loop?"


@dataclass(frozen=True)
class Killed(Message):
    """A process ended. of_memory: True if it said that no memory is left."""

    id = "killed"
    of_memory: bool = False

    def wording(self) -> str:
        if self.of_memory:
            return "the process that ran it ended, because it used too much memory"
        return (
            "the process that ran it ended: it used too much memory, crashed, or did something "
            "that is not allowed here"
        )


@dataclass(frozen=True)
class NotTried(Message):
    id = "not_tried"
    template = "not run, because an earlier call of this exercise did not finish"


@dataclass(frozen=True)
class QuotedLine(Message):
    """The learner's own line, in brackets after other words.

    called: the place of the call that led there, if it is known.
    """

    id = "quoted_line"
    place: str
    source: str
    called: str = ""

    def wording(self) -> str:
        called = ", called on {called}" if self.called else ""
        return f" ({{place}}: `{{source}}`{called})"


@dataclass(frozen=True)
class Raised(Message):
    """An error, with the words of Python or torch."""

    id = "raised"
    error: str
    text: str = ""
    at: QuotedLine | None = None

    def wording(self) -> str:
        text = ": {text}" if self.text else ""
        return f"{{error}}{text}{{at}}"


@dataclass(frozen=True)
class InAnother(Message):
    """An error in another definition of the file, which the exercise uses."""

    id = "in_another"
    template = "in `{definition}`, which it uses: {what}"
    definition: str
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
class Defines(Message):
    id = "defines"
    template = "it defines {names}"
    names: Message


@dataclass(frozen=True)
class DefinesNothing(Message):
    id = "defines_nothing"
    template = "it defines no function and no class, so there is nothing to grade"


@dataclass(frozen=True)
class Name(Message):
    """A name in the learner's file."""

    id = "name"
    template = "`{name}`"
    name: str


@dataclass(frozen=True)
class Size(Message):
    """A tensor's shape, or an integer."""

    id = "size"
    size: Shape | int

    def wording(self) -> str:
        return str(self.size) if isinstance(self.size, int) else spoken_shape(self.size)


@dataclass(frozen=True)
class HasSize(Message):
    id = "has_size"
    name: str
    size: Size

    def wording(self) -> str:
        has_shape = isinstance(self.size.size, tuple) and self.size.size
        return "`{name}` has shape {size}" if has_shape else "`{name}` is {size}"


@dataclass(frozen=True)
class SizesThere(Message):
    """The sizes of the names on the line that raised."""

    id = "sizes_there"
    template = "on that line, {sizes:list}"
    sizes: tuple[HasSize, ...]


@dataclass(frozen=True)
class LinesUpFromTheRight(Message):
    """Two shapes that cannot be broadcast: one has the leading sizes of the other, named `long`."""

    id = "lines_up_from_the_right"
    template = (
        "torch compares shapes from the right, so `{short}` meets the last dimension of `{long}`. "
        "Does `{short}` need one more dimension at its end, of size 1?"
    )
    short: str
    long: str


@dataclass(frozen=True)
class HasDtype(Message):
    id = "has_dtype"
    template = "`{name}` is {dtype}"
    name: str
    dtype: str


@dataclass(frozen=True)
class DtypesThere(Message):
    """The dtypes of the names on the line that raised."""

    id = "dtypes_there"
    template = "on that line, {dtypes:list}; they have to be of the same dtype"
    dtypes: tuple[HasDtype, ...]


@dataclass(frozen=True)
class IsNone(Message):
    """A name on the line that raised is None. left_out: it is a parameter that the call omits."""

    id = "is_none"
    name: str
    left_out: bool

    def wording(self) -> str:
        if self.left_out:
            return "this call does not pass `{name}`, so it is None. What should happen without it?"
        return "on that line, `{name}` is None"


@dataclass(frozen=True)
class ReadsOutside(Message):
    """A definition reads values from outside of it. in_class: True if the definition is a class."""

    id = "reads_outside"
    names: tuple[str, ...]
    definition: str
    in_class: bool

    def wording(self) -> str:
        verb = "which are" if len(self.names) > 1 else "which is"
        meant = "is `self.` missing?" if self.in_class else "did you mean an argument?"
        return f"it reads {{names:code}}, {verb} defined outside of `{{definition}}`: {meant}"


# Hints on the name in a NameError or AttributeError.


@dataclass(frozen=True)
class DidYouMean(Message):
    """A suggestion of a name. other: a second possible name."""

    id = "did_you_mean"
    name: str
    other: str = ""

    def wording(self) -> str:
        if self.other:
            return "did you mean `{name}` or `{other}`?"
        return "did you mean `{name}`?"


@dataclass(frozen=True)
class NameFailed(Message):
    """The statement that should define the missing name failed. imports: it is an import."""

    id = "name_failed"
    imports: bool
    error: str
    text: str
    place: str = ""

    def wording(self) -> str:
        what = "its import failed" if self.imports else "the line that defines it failed"
        return f"{what} ({{error}}: {{text}}{', {place}' if self.place else ''})"


@dataclass(frozen=True)
class ChapterIsSeparate(Message):
    """An import from another chapter, which has a substitute but no file."""

    id = "stands_alone"
    template = (
        "each chapter's file is checked on its own: from other chapters, only what the given code "
        "imports is available"
    )


@dataclass(frozen=True)
class OwnModuleIsNotThere(Message):
    """An import of a module that is not installed, such as a file next to the learner's."""

    id = "own_module_is_not_there"
    template = (
        "the grader gets this file alone: copy what you need from your other files into this one; "
        "packages that the course does not need are not installed"
    )


@dataclass(frozen=True)
class NameIsText(Message):
    id = "name_is_text"
    template = 'the name has to be in quotes there: `"{name}"`'
    name: str


@dataclass(frozen=True)
class OnSelf(Message):
    id = "on_self"
    template = "`self.{name}` exists: is `self.` missing?"
    name: str


@dataclass(frozen=True)
class ArgumentOfInit(Message):
    id = "argument_of_init"
    template = "it is an argument of `__init__` only: store it there as `self.{name}`"
    name: str


@dataclass(frozen=True)
class ExerciseNotInFile(Message):
    id = "exercise_not_in_file"
    template = "it is an exercise of this chapter that your file does not define"


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
                "it is not an argument, and the checks take only functions, classes, imports and "
                "simple constants from cells: compute it inside the function"
                + (", or is `self.` missing?" if self.in_class else "")
            )
        return "it is not an argument, and nothing before that line defines it" + (
            ": is `self.` missing?" if self.in_class else ""
        )


@dataclass(frozen=True)
class DefinedOutsideClass(Message):
    """`self.name` is read, but the file defines `name` outside of the class."""

    id = "defined_outside_class"
    template = "`{name}` is defined outside of the class: call it without `self.`"
    name: str


@dataclass(frozen=True)
class AttributeMadeNowhere(Message):
    id = "attribute_made_nowhere"
    template = "nothing before that line sets `self.{name}`"
    name: str


# Weights that could not be given their values.


@dataclass(frozen=True)
class NoParameters(Message):
    id = "no_parameters_in"
    template = "torch finds no parameters in `{part}`, so its weights could not be set"
    part: str


@dataclass(frozen=True)
class NoParameter(Message):
    id = "no_parameter"
    template = "the module has no parameter `{name}`, so its values could not be set"
    name: str


@dataclass(frozen=True)
class NoWeightInside(Message):
    """A parameter is missing inside a part whose code the learner has not seen."""

    id = "no_weight_inside"
    template = (
        "a weight of `{part}` is missing (does `{part}` get all the arguments that it needs?)"
    )
    part: str


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
    name: str
    size: Size | None
    asked: Size | None
    inside: bool = False

    def wording(self) -> str:
        whose = "weight of" if self.inside else "parameter"
        if not self.size:
            asked = " {asked}" if self.asked else ""
            return f"the {whose} `{{name}}` does not have the expected shape{asked}"
        asked = "{asked}" if self.asked else "another one"
        return f"the {whose} `{{name}}` has shape {{size}}; {asked} is expected"


@dataclass(frozen=True)
class SharedPart(Message):
    """Several names of a module hold one and the same layer or parameter."""

    id = "shared_part"
    template = "{names:code} are one and the same object; each needs weights of its own"
    names: tuple[str, ...]


# The usual causes of errors whose own words say little.


@dataclass(frozen=True)
class OverwritesForGradient(Message):
    id = "overwrites_for_gradient"
    template = (
        "an in-place operation (`/=`, `exp_()` and the like) overwrites values that the gradient "
        "needs; make a new tensor: `x = x / …`"
    )


@dataclass(frozen=True)
class WriteWithoutGradient(Message):
    id = "write_without_gradient"
    template = "write into a parameter inside `with torch.no_grad():`"


@dataclass(frozen=True)
class CopyIntoParameter(Message):
    id = "copy_into_parameter"
    template = (
        "assigning a tensor would replace the parameter; copy the values into it, inside "
        "`with torch.no_grad():`"
    )


@dataclass(frozen=True)
class SuperInitFirst(Message):
    id = "super_init_first"
    template = "call `super().__init__()` first"


@dataclass(frozen=True)
class ReshapeCopies(Message):
    id = "reshape_copies"
    template = "`view` cannot rearrange this memory; `reshape` copies it if necessary"


@dataclass(frozen=True)
class NumpyCuts(Message):
    id = "numpy_cuts"
    template = "no gradient flows through NumPy: compute with torch's functions instead"


@dataclass(frozen=True)
class NoGraph(Message):
    id = "no_graph"
    template = (
        "no gradient flows back from a value that is computed inside `torch.no_grad()`, or from "
        "something like `.detach()` or `.item()`"
    )


@dataclass(frozen=True)
class NoSuchRow(Message):
    id = "no_such_row"
    template = (
        "an nn.Embedding is asked for a row that it does not have: its rows count from 0, and its "
        "first argument says how many there are"
    )


@dataclass(frozen=True)
class ClassesInDimension1(Message):
    id = "classes_in_dimension_1"
    template = (
        "torch takes dimension 1 of the first argument as the classes; give it one row for each "
        "target, so that the shapes are (rows, classes) and (rows,)"
    )


@dataclass(frozen=True)
class TakeValues(Message):
    id = "take_values"
    template = (
        "along a dimension, `max`, `min` and the like return two tensors, the values and their "
        "indices: take `.values`"
    )


@dataclass(frozen=True)
class NotASingleBool(Message):
    id = "one_yes_or_no"
    template = (
        "`if`, `and`, `max(…)` and the like need a single True or False, and this tensor has "
        "several entries. torch's own functions work entry by entry; join masks with `&` and `|`, "
        "with each comparison in parentheses"
    )


@dataclass(frozen=True)
class IsPlainNumber(Message):
    id = "is_plain_number"
    template = "that is a plain number; compute with it in Python (`**`, `math`)"


@dataclass(frozen=True)
class ModuleListHolds(Message):
    id = "module_list_holds"
    template = "an nn.ModuleList only stores layers: call them one after another"


@dataclass(frozen=True)
class MaskOfNumbers(Message):
    id = "mask_of_numbers"
    template = "the mask has to hold True and False, but this one holds numbers"


@dataclass(frozen=True)
class ShapesOfGradient(Message):
    id = "shapes_of_gradient"
    template = "the first is the expected shape, the second the shape of your result"


@dataclass(frozen=True)
class NothingLearns(Message):
    id = "nothing_learns"
    template = "torch finds no parameter that can learn"


@dataclass(frozen=True)
class NoLayer(Message):
    id = "no_layer"
    template = (
        "that is not a layer. If it is a class, are the parentheses missing after its name? "
        "Unpack a list of layers with `*`"
    )


@dataclass(frozen=True)
class NoSuchDevice(Message):
    id = "no_such_device"
    template = (
        "this machine has no such device, and the inputs are on the CPU. Use the device of the "
        "input (`x.device`)"
    )


@dataclass(frozen=True)
class CaretIsNotPower(Message):
    id = "no_power"
    template = "`^` is not a power: write `**`"


@dataclass(frozen=True)
class ShapeIsSeveral(Message):
    id = "shape_is_several"
    template = "a shape holds several numbers: take one of them, such as `x.shape[-1]`"


@dataclass(frozen=True)
class NeedsIntegerDivision(Message):
    id = "divide_whole"
    template = "`/` gives a float, and a size has to be an integer: use `//`"


@dataclass(frozen=True)
class MissingParentheses(Message):
    id = "brackets_behind_name"
    template = "are the parentheses `()` missing after its name?"


@dataclass(frozen=True)
class GatherDimensions(Message):
    id = "gather_dimensions"
    template = "`gather` needs an index with as many dimensions as the values (see `unsqueeze`)"


@dataclass(frozen=True)
class CallsItself(Message):
    id = "calls_itself"
    template = "it calls itself without ever stopping"


@dataclass(frozen=True)
class InputNotAvailable(Message):
    id = "nobody_answers"
    template = "`input()` cannot be answered here: leave it out"


@dataclass(frozen=True)
class InvalidProbabilities(Message):
    id = "no_chances"
    template = (
        "probabilities must be finite and not negative; the NaN, infinity or negative number "
        "comes from a line above"
    )


@dataclass(frozen=True)
class LinearIsCalled(Message):
    id = "linear_is_called"
    template = "an nn.Linear is called like a function, `layer(x)`; its matrix is `layer.weight`"


# Values that are called as if they were functions.


@dataclass(frozen=True)
class ParameterIsTensor(Message):
    id = "parameter_is_tensor"
    template = "a parameter is a tensor, not a function: compute with it"


@dataclass(frozen=True)
class SquareBrackets(Message):
    """A value that is called, but needs square brackets. kind: the type of the value."""

    id = "square_brackets"
    template = "a {kind} is indexed with square brackets"
    kind: str


@dataclass(frozen=True)
class ListIsNotCalled(Message):
    id = "list_is_not_called"
    template = "a list cannot be called: call its parts one after another"


@dataclass(frozen=True)
class NumberIsCalled(Message):
    id = "number_is_called"
    template = "a plain number is called there as if it were a function"


# Causes that the error's own text does not show.


@dataclass(frozen=True)
class MathTakesNumbers(Message):
    id = "math_takes_numbers"
    template = "`math` works on single numbers; torch's functions of these names work on tensors"


@dataclass(frozen=True)
class IsBuiltInFunction(Message):
    id = "pythons_own"
    template = "`{name}` is a built-in function of Python here: did you mean a variable?"
    name: str


@dataclass(frozen=True)
class NotCalled(Message):
    """A function or method in the place of its result."""

    id = "not_called"
    template = "are the parentheses `()` missing after the name of a function or method?"


@dataclass(frozen=True)
class NoModule(Message):
    """A class that lacks what every nn.Module has."""

    id = "no_module"
    template = "`{name}` is not an nn.Module: write `class {name}(nn.Module):`"
    name: str


@dataclass(frozen=True)
class MisspeltForward(Message):
    id = "misspelt_forward"
    template = "is `forward` misspelled, or indented inside another method?"


@dataclass(frozen=True)
class StubHasParameter(Message):
    """The case passes parameters that the learner's definition does not have."""

    id = "stub_has_parameter"
    several: bool

    def wording(self) -> str:
        return f"the given code has {'them' if self.several else 'it'}"


@dataclass(frozen=True)
class SelfMissing(Message):
    id = "self_missing"
    template = "is `self` missing from its parameters?"


@dataclass(frozen=True)
class OtherParameters(Message):
    id = "other_parameters"
    template = "its parameters are not those of the given code"


@dataclass(frozen=True)
class MisspeltInit(Message):
    id = "misspelt_init"
    template = "is there an `__init__`, with two underscores on each side?"
