"""Messages of checks that fail."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from .message import FromLearner, Message, Secret, Shape, braced, render
from .results import Parameter, WeightName


@dataclass(frozen=True)
class NotTheValues(Message):
    """A result whose values are wrong, if nothing else is known about it."""

    id = "not_the_values"
    template = "{what} has the right shape but not the right values"
    what: Message


@dataclass(frozen=True)
class WrongShape(Message):
    """A result of a wrong shape.

    axis: "gone" or "too many" for a dimension of size 1, if the shapes differ in nothing else.
    """

    id = "wrong_shape"
    what: Message
    shape: Annotated[Shape, FromLearner]
    asked: Annotated[Shape, Secret]
    axis: str = ""

    def wording(self) -> str:
        has = "shape {shape:size}" if 0 not in self.shape else "no entries"
        axis = "; a dimension of size 1 is {axis}" if self.axis else ""
        return f"{{what}} has {has} where {{asked:size}} is asked for{axis}"


@dataclass(frozen=True)
class ContainsNaN(Message):
    id = "contains_nan"
    template = "{what} contains NaN"
    what: Message


@dataclass(frozen=True)
class WrongDtype(Message):
    id = "wrong_dtype"
    template = "{what} is {dtype}; {asked} is asked for"
    what: Message
    dtype: Annotated[str, FromLearner]
    asked: Annotated[str, Secret]


@dataclass(frozen=True)
class TooManyResults(Message):
    id = "too_many_results"
    template = "{got} results come back; {asked} are asked for"
    got: Annotated[int, FromLearner]
    asked: Annotated[int, Secret]


@dataclass(frozen=True)
class WrongContainer(Message):
    """A container of a wrong type, such as a list instead of a tuple."""

    id = "wrong_container"
    template = "{what} is a {type}; a {asked} is asked for"
    what: Message
    type: Annotated[str, FromLearner]
    asked: Annotated[str, Secret]


@dataclass(frozen=True)
class HandedBack(Message):
    id = "handed_back"
    template = "{what} is what was passed in"
    what: Message


@dataclass(frozen=True)
class CameInstead(Message):
    """A result that is not a tensor, or a wrong number of results.

    asked: the expected kind of result, unless `came` ends in a question.
    """

    id = "came_instead"
    what: Message
    came: Message
    asked: str = ""

    def wording(self) -> str:
        asks = isinstance(self.came, NoneReturned) and self.came.by_call
        return "{what} is {came}" + ("; {asked} is asked for" if self.asked and not asks else "")


@dataclass(frozen=True)
class OneTensor(Message):
    id = "one_tensor"
    template = "one tensor"


@dataclass(frozen=True)
class NoGradient(Message):
    """A gradient that is missing.

    place and word: the line that stops all gradients, and the call there that does it.
    """

    id = "no_gradient"
    place: str = ""
    word: Annotated[str, FromLearner] = ""

    def wording(self) -> str:
        cut = "; none goes back through {word:code} on {place}" if self.place else ""
        return f"missing: nothing that is differentiable leads from there to the result{cut}"


@dataclass(frozen=True)
class SeveralTensors(Message):
    id = "several_tensors"
    count: Annotated[int, FromLearner]

    def wording(self) -> str:
        return "a tuple or list of {count} tensor" + "s" * (self.count > 1)


@dataclass(frozen=True)
class NothingCame(Message):
    id = "nothing_came"
    template = "missing"


@dataclass(frozen=True)
class NoneReturned(Message):
    """A result that is None. by_call: it is the value of a call, so a `return` may be missing."""

    id = "none_returned"
    by_call: bool = False

    def wording(self) -> str:
        return "None" + ": does it end in a `return` with a value?" * self.by_call


@dataclass(frozen=True)
class DictWithKeys(Message):
    id = "dict_with_keys"
    keys: Annotated[tuple[str, ...], FromLearner]

    def wording(self) -> str:
        return "a dict with the keys " + braced(", ".join(self.keys)[:200])


@dataclass(frozen=True)
class SomeTensor(Message):
    """A tensor that cannot be stored as plain numbers, such as a sparse one."""

    id = "some_tensor"
    template = "a {type}"
    type: Annotated[str, FromLearner]


@dataclass(frozen=True)
class SomeObject(Message):
    id = "some_object"
    template = "an object of type {type}"
    type: Annotated[str, FromLearner]


@dataclass(frozen=True)
class SomeValue(Message):
    id = "some_value"
    template = "{value:.200} ({type})"
    value: Annotated[str, FromLearner]
    type: Annotated[str, FromLearner]


@dataclass(frozen=True)
class IsAnotherResult(Message):
    """A remark: the result would be right as another result of the case."""

    id = "is_another_result"
    template = "it is what {other} should be"
    other: Message


@dataclass(frozen=True)
class ChangesInput(Message):
    """An argument that the code changes.

    place: the line that changes it, if known. itself: an object's state is changed.
    """

    id = "changes_input"
    name: Annotated[str, FromLearner]
    itself: bool = False
    place: str = ""

    def wording(self) -> str:
        who = "{place}" if self.place else "it"
        if self.itself:
            return (
                who
                + " changes {name:code} itself; after the call that should hold what it held before"
            )
        return who + " changes the input {name:code} in place; whoever called it still needs it"


@dataclass(frozen=True)
class CopyDiffers(Message):
    id = "copy_differs"
    template = (
        "a deep copy, and a module that the copy's state is loaded into, give different results"
    )


@dataclass(frozen=True)
class DiffersWithoutGradients(Message):
    id = "differs_without_gradients"
    template = "{what} is another one inside `torch.no_grad()`"
    what: Message


@dataclass(frozen=True)
class NotTheSame(Message):
    """Results that should be equal. scattered: only the inputs' layout in memory was different."""

    id = "not_the_same"
    what: Message
    scattered: bool = False

    def wording(self) -> str:
        changed = "how its inputs lie in memory" if self.scattered else "what changed"
        return f"{{what}} is not what it was before; {changed} should make no difference"


@dataclass(frozen=True)
class StartsWithOneNumber(Message):
    id = "starts_with_one_number"
    template = "{weight} starts with one number everywhere; new weights are drawn at random"
    weight: WeightName


@dataclass(frozen=True)
class SetsASeed(Message):
    id = "sets_a_seed"
    template = "{weight} starts with the same numbers after every seed, so a seed is set inside"
    weight: WeightName


@dataclass(frozen=True)
class GrowingOperations(Message):
    """A loop that should not be there. problem: the message of the check's author."""

    id = "growing_operations"
    template = "{problem} ({few} operations became {many})"
    problem: Message
    few: Annotated[int, FromLearner]
    many: Annotated[int, FromLearner]


@dataclass(frozen=True)
class MissingParameter(Message):
    """A missing parameter. there: the parameters that the module has."""

    id = "missing_parameter"
    name: WeightName
    there: tuple[WeightName, ...]

    def wording(self) -> str:
        lacks = "has no parameter {name}"
        if self.name.inside:
            lacks = "lacks {name} (is all it needs handed on to it?)"
        names = dict.fromkeys(map(render, self.there))  # two inside one part read the same
        return f"the module {lacks}; it has {braced(', '.join(names)) or 'none'}"


@dataclass(frozen=True)
class ExtraParameter(Message):
    id = "extra_parameter"
    template = "the module has a {parameter} that is not asked for"
    parameter: Parameter


@dataclass(frozen=True)
class DoesNotLearn(Message):
    id = "does_not_learn"
    template = "{parameter} does not learn, and is asked to: `requires_grad`"
    parameter: Parameter


@dataclass(frozen=True)
class ParameterShape(Message):
    """A parameter of a wrong shape. shape: None if the learner's process claims something else."""

    id = "parameter_shape"
    template = "{parameter} has shape {shape:size}; {asked:size} is asked for"
    parameter: Parameter
    shape: Annotated[Shape | None, FromLearner]
    asked: Annotated[Shape, Secret]


@dataclass(frozen=True)
class PlainTensor(Message):
    id = "plain_tensor"
    template = (
        "{weight} is a plain tensor and no nn.Parameter: an optimiser does not find it, so it "
        "never learns"
    )
    weight: WeightName


@dataclass(frozen=True)
class NoBuffer(Message):
    """A buffer that is missing.

    found: where the tensor is instead: `parameters`, `attributes` or `nowhere`.
    """

    id = "no_buffer"
    name: str
    found: str
    instead: ClassVar = {
        "parameters": "{name:code} is a parameter, as what is learned; a buffer is asked for",
        "attributes": "{name:code} is a plain attribute, which torch neither moves nor saves. "
        "A buffer is asked for",
        "nowhere": "the module keeps no buffer named {name:code}",
    }

    def wording(self) -> str:
        return self.instead[self.found]


@dataclass(frozen=True)
class BufferShape(Message):
    id = "buffer_shape"
    template = "the buffer {name:code} has shape {shape:size}; {asked:size} is asked for"
    name: str
    shape: Annotated[Shape | None, FromLearner]
    asked: Annotated[Shape, Secret]


@dataclass(frozen=True)
class StaysOnCPU(Message):
    """A tensor that is not moved with its module. name: the tensor's name, if known."""

    id = "stays_on_cpu"
    made_on_cpu: ClassVar = (
        " is made on the CPU, wherever the module and its input are; make it on the input's device "
        "(`device=`), or once, as a buffer"
    )
    name: Annotated[str, FromLearner] = ""
    place: str = ""

    def wording(self) -> str:
        at = "{place}: " if self.place else ""
        if self.name.startswith("self."):
            return at + (
                "{name:code} stays on the CPU when the module is moved to another device, such as "
                "a GPU; register it as a buffer, and it goes along"
            )
        what = "{name:code}" if self.name else "a tensor"
        return at + what + self.made_on_cpu


@dataclass(frozen=True)
class RefusedOtherwise(Message):
    """A refusal with a wrong type of error. asked: the accepted types; empty for the usual ones."""

    id = "refused_otherwise"
    error: Annotated[str, FromLearner]
    asked: tuple[str, ...] = ()

    def wording(self) -> str:
        asked = " or ".join(self.asked) or "a ValueError, or an assert,"
        return f"it is refused with {{error}}; {asked} is asked for"


@dataclass(frozen=True)
class CannotBeMade(Message):
    id = "cannot_be_made"
    template = "it cannot be made at all"


@dataclass(frozen=True)
class RefusesEverything(Message):
    id = "refuses_everything"
    template = "it refuses everything"


@dataclass(frozen=True)
class NotEnoughToDrop(Message):
    id = "not_enough_to_drop"
    template = "without dropout most of the entries are missing that could be dropped"


@dataclass(frozen=True)
class AlreadyZero(Message):
    id = "already_zero"
    template = "where nothing is to be dropped, some entries are 0 already"


@dataclass(frozen=True)
class DroppedTogether(Message):
    """Entries that are not dropped independently.

    calls: an entry depends on other calls, not on other entries.
    """

    id = "dropped_together"
    calls: bool

    def wording(self) -> str:
        which = "other calls" if self.calls else "another one"
        return (
            f"what happens to an entry depends on {which}; each entry of each call is dropped by "
            "a chance of its own"
        )


@dataclass(frozen=True)
class AlwaysAsMany(Message):
    id = "always_as_many"
    template = (
        "always the same number of entries is dropped; by chance it is sometimes more, sometimes "
        "less"
    )


@dataclass(frozen=True)
class SameDropsInEveryCall(Message):
    id = "same_drops_in_every_call"
    template = "every call drops the same entries, whatever the seed; each call should draw anew"


@dataclass(frozen=True)
class WholeSlicesDropped(Message):
    id = "whole_slices_dropped"
    template = (
        "entries are dropped together, a row or a slice at a time; each entry is dropped on its own"
    )


@dataclass(frozen=True)
class GradientOfDropped(Message):
    id = "gradient_of_dropped"
    template = "the gradient for {argument:code} is not that of the entries that were kept"
    argument: str


@dataclass(frozen=True)
class KeyIs(Message):
    """The value of a key that should hold sizes."""

    id = "key_is"
    template = "{key:code} is {value}"
    key: str
    value: Message


@dataclass(frozen=True)
class TextForSizes(Message):
    id = "text_for_sizes"
    template = "the text {text!r}, and no sizes"
    text: Annotated[str, FromLearner]


@dataclass(frozen=True)
class OtherSizes(Message):
    id = "other_sizes"
    template = "{value}"
    value: Annotated[str, FromLearner]


@dataclass(frozen=True)
class NotAsItShouldBe(Message):
    id = "not_as_it_should_be"
    template = "not what it should be"


@dataclass(frozen=True)
class NotIntegers(Message):
    id = "not_integers"
    template = "{key:code} is {value}; sizes are whole numbers"
    key: str
    value: Annotated[str, FromLearner]


@dataclass(frozen=True)
class WrongKeys(Message):
    """A dict with wrong keys. asked: the right keys; empty if they may not be shown."""

    id = "wrong_keys"
    keys: Annotated[tuple[str, ...], FromLearner]
    asked: Annotated[tuple[str, ...], Secret]

    def wording(self) -> str:
        keys = braced(", ".join(self.keys) or "missing")
        asked = f"asked for are {', '.join(self.asked)}"
        if not self.asked:
            asked = "these, or their order, are not right"
        return f"the keys are {keys}; {asked}"


@dataclass(frozen=True)
class NotFixedYet(Message):
    """Given code that the learner has not changed yet. problem: its mistake."""

    id = "not_fixed_yet"
    template = "not mended yet: {problem}"
    problem: Message
