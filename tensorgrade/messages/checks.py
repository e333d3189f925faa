"""Messages of checks that fail."""

from dataclasses import dataclass
from typing import ClassVar

from .message import Message, Shape, braced, render
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
    shape: Shape
    asked: Shape
    axis: str = ""

    def wording(self) -> str:
        has = "has shape {shape:size}" if self.shape else "is a single number"
        asked = "{asked:size}" if self.shape or not self.asked else "a tensor of shape {asked:size}"
        axis = {"gone": "; a dimension of size 1 is missing"}.get(self.axis, "")
        if self.axis == "too many":
            axis = "; there is one dimension of size 1 too many"
        return f"{{what}} {has}; {asked} is expected{axis}"


@dataclass(frozen=True)
class ContainsNaN(Message):
    id = "contains_nan"
    template = "{what} contains NaN"
    what: Message


@dataclass(frozen=True)
class WrongDtype(Message):
    id = "wrong_dtype"
    template = "{what} is {dtype}; {asked} is expected"
    what: Message
    dtype: str
    asked: str


@dataclass(frozen=True)
class TooManyResults(Message):
    id = "too_many_results"
    got: int
    asked: int

    def wording(self) -> str:
        verb = "is" if self.asked == 1 else "are"
        return f"{{got}} results are returned; {{asked}} {verb} expected"


@dataclass(frozen=True)
class WrongContainer(Message):
    """A container of a wrong type, such as a list instead of a tuple."""

    id = "wrong_container"
    template = "{what} is a {type}; a {asked} is expected"
    what: Message
    type: str
    asked: str


@dataclass(frozen=True)
class ComputedLater(Message):
    """A generator or the like in the place of a tuple."""

    id = "computed_later"
    template = "{what} is a {type}, which computes nothing until it is read; return a tuple"
    what: Message
    type: str


@dataclass(frozen=True)
class ReturnsInput(Message):
    id = "handed_back"
    template = "{what} is just what was passed in"
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
        return "{what} is {came}" + ("; {asked} is expected" if self.asked and not asks else "")


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
    word: str = ""

    def wording(self) -> str:
        cut = "; {word:code} on {place} lets no gradient through" if self.place else ""
        chain = "no chain of differentiable operations connects that tensor to the result"
        return f"missing: {chain}{cut}"


@dataclass(frozen=True)
class SeveralTensors(Message):
    id = "several_tensors"
    count: int

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
        return "None" + ": does your function end in a `return` with a value?" * self.by_call


@dataclass(frozen=True)
class DictWithKeys(Message):
    id = "dict_with_keys"
    keys: tuple[str, ...]

    def wording(self) -> str:
        return "a dict with the keys " + braced(", ".join(self.keys)[:200])


@dataclass(frozen=True)
class SomeTensor(Message):
    """A tensor that cannot be stored as plain numbers, such as a sparse one."""

    id = "some_tensor"
    template = "a {type}"
    type: str


@dataclass(frozen=True)
class SomeObject(Message):
    id = "some_object"
    template = "an object of type {type}"
    type: str


@dataclass(frozen=True)
class SomeValue(Message):
    id = "some_value"
    template = "{value:.200} ({type})"
    value: str
    type: str


@dataclass(frozen=True)
class ChangesInput(Message):
    """An argument that the code changes.

    place: the line that changes it, if known. itself: an object's state is changed.
    """

    id = "changes_input"
    name: str
    itself: bool = False
    place: str = ""

    def wording(self) -> str:
        who = "{place}" if self.place else "it"
        if self.itself:
            return who + " changes {name:code} itself, which should be the same after the call"
        return who + " changes the input {name:code} in place; the caller still needs it"


@dataclass(frozen=True)
class CopyDiffers(Message):
    id = "copy_differs"
    template = "a copy of the module, or one that loads its `state_dict`, gives different results"


@dataclass(frozen=True)
class DiffersWithoutGradients(Message):
    id = "differs_without_gradients"
    template = "{what} is different inside `torch.no_grad()`"
    what: Message


@dataclass(frozen=True)
class NotTheSame(Message):
    """Results that should be equal. scattered: only the inputs' layout in memory was different."""

    id = "not_the_same"
    what: Message
    scattered: bool = False

    def wording(self) -> str:
        if self.scattered:
            return (
                "{what} depends on how the inputs are laid out in memory, which should make no "
                "difference"
            )
        return "{what} should be the same as the first time, and is not"


@dataclass(frozen=True)
class ConstantInitialWeights(Message):
    id = "starts_with_one_number"
    template = "{weight} starts with NaN or with the same number everywhere; draw it at random"
    weight: WeightName


@dataclass(frozen=True)
class SetsASeed(Message):
    id = "sets_a_seed"
    template = "{weight} starts with the same numbers for every seed. Is a seed set inside?"
    weight: WeightName


@dataclass(frozen=True)
class GrowingOperations(Message):
    """A loop that should not be there. problem: the message of the check's author."""

    id = "growing_operations"
    template = "{problem} ({many} operations instead of {few})"
    problem: Message
    few: int
    many: int


@dataclass(frozen=True)
class MissingParameter(Message):
    """A missing parameter. there: the parameters that the module has."""

    id = "missing_parameter"
    name: WeightName
    there: tuple[WeightName, ...]

    def wording(self) -> str:
        names = dict.fromkeys(map(render, self.there))  # two inside one part read the same
        there = braced(", ".join(names)) or "none"
        if self.name.inside:
            asks = "does `{name.inside}` get all the arguments that it needs?"
            return f"{{name}} is missing ({asks}); the module has {there}"
        return f"the module has no parameter {{name}}; it has {there}"


@dataclass(frozen=True)
class ExtraParameter(Message):
    id = "extra_parameter"
    template = "the module has a {parameter} that it should not have"
    parameter: Parameter


@dataclass(frozen=True)
class DoesNotLearn(Message):
    id = "does_not_learn"
    template = "the {parameter} does not learn: its `requires_grad` is False"
    parameter: Parameter


@dataclass(frozen=True)
class ParameterShape(Message):
    """A parameter of a wrong shape. shape: None if the learner's process claims something else."""

    id = "parameter_shape"
    template = "the {parameter} has shape {shape:size}; {asked:size} is expected"
    parameter: Parameter
    shape: Shape | None
    asked: Shape


@dataclass(frozen=True)
class PlainTensor(Message):
    id = "plain_tensor"
    template = (
        "{weight} is a plain tensor, not an nn.Parameter: an optimizer does not find it, so it "
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
        "parameters": "{name:code} is a parameter, which an optimizer would change; make it a "
        "buffer",
        "attributes": "{name:code} is a plain attribute, which torch neither moves nor saves; "
        "register it as a buffer",
        "nowhere": "the module has no buffer named {name:code}",
    }

    def wording(self) -> str:
        return self.instead[self.found]


@dataclass(frozen=True)
class BufferShape(Message):
    id = "buffer_shape"
    template = "the buffer {name:code} has shape {shape:size}; {asked:size} is expected"
    name: str
    shape: Shape | None
    asked: Shape


@dataclass(frozen=True)
class StaysOnCPU(Message):
    """A tensor that is not moved with its module. name: the tensor's name, if known."""

    id = "stays_on_cpu"
    made_on_cpu: ClassVar = (
        " is created on the CPU even if the module and its input are on another device; create it "
        "on the input's device (`device=`), or once, as a buffer"
    )
    name: str = ""
    place: str = ""

    def wording(self) -> str:
        at = "{place}: " if self.place else ""
        if self.name.startswith("self."):
            return at + (
                "{name:code} stays on the CPU when the module moves to another device, such as a "
                "GPU; register it as a buffer, and it moves along"
            )
        what = "{name:code}" if self.name else "a tensor"
        return at + what + self.made_on_cpu


@dataclass(frozen=True)
class CannotBeMade(Message):
    id = "cannot_be_made"
    template = "the class cannot be instantiated"


@dataclass(frozen=True)
class RefusesEverything(Message):
    id = "refuses_everything"
    template = "it refuses every call"


@dataclass(frozen=True)
class NotEnoughToDrop(Message):
    id = "not_enough_to_drop"
    template = "even without dropout, most entries are nearly 0"


@dataclass(frozen=True)
class AlreadyZero(Message):
    id = "already_zero"
    template = (
        "some entries are 0 in evaluation (with `training` False), when nothing should be dropped"
    )


@dataclass(frozen=True)
class DroppedTogether(Message):
    """Entries that are not dropped independently.

    calls: an entry depends on other calls, not on other entries.
    """

    id = "dropped_together"
    calls: bool

    def wording(self) -> str:
        which = "other calls" if self.calls else "other entries"
        return (
            f"whether an entry is dropped depends on {which}; drop each entry of each call "
            "independently"
        )


@dataclass(frozen=True)
class SameNumberDropped(Message):
    id = "always_as_many"
    template = (
        "every time, the same number of entries is dropped; if each entry is dropped by chance, "
        "the number varies"
    )


@dataclass(frozen=True)
class DroppedUnevenly(Message):
    id = "dropped_unevenly"
    template = (
        "some entries are dropped less often than others, or never; drop each entry with the same "
        "probability"
    )


@dataclass(frozen=True)
class SameDropsInEveryCall(Message):
    id = "same_drops_in_every_call"
    template = "every call drops the same entries, whatever the seed; draw again in each call"


@dataclass(frozen=True)
class WholeSlicesDropped(Message):
    id = "whole_slices_dropped"
    template = (
        "entries are dropped together, a row or a slice at a time; drop each entry independently"
    )


@dataclass(frozen=True)
class GradientOfDropped(Message):
    id = "gradient_of_dropped"
    template = (
        "the gradient for {argument:code} should be 0 at dropped entries, and scaled at the others "
        "like the result"
    )
    argument: str


@dataclass(frozen=True)
class KeyIs(Message):
    """The value of a key that should hold sizes. asked: the right one, on public cases."""

    id = "key_is"
    key: str
    value: Message
    asked: str = ""

    def wording(self) -> str:
        asked = "; {asked} is expected for this call" if self.asked else ", which is not right"
        return "{key:code} is {value}" + asked


@dataclass(frozen=True)
class TextForSizes(Message):
    id = "text_for_sizes"
    template = "the text {text!r} instead of sizes"
    text: str


@dataclass(frozen=True)
class OtherSizes(Message):
    id = "other_sizes"
    template = "{value}"
    value: str


@dataclass(frozen=True)
class NotAsItShouldBe(Message):
    id = "not_as_it_should_be"
    template = "something other than sizes"


@dataclass(frozen=True)
class NotIntegers(Message):
    id = "not_integers"
    template = "{key:code} is {value}; sizes have to be integers"
    key: str
    value: str


@dataclass(frozen=True)
class WrongKeys(Message):
    """A dict with wrong keys. asked: the right keys; empty if they may not be shown."""

    id = "wrong_keys"
    keys: tuple[str, ...]
    asked: tuple[str, ...]

    def wording(self) -> str:
        found = f"the keys are {braced(', '.join(self.keys))}" if self.keys else "the dict is empty"
        if self.asked:
            return f"{found}; {braced(', '.join(self.asked))} are expected"
        wrong = "these keys, or their order, are not right"
        return f"{found}; {wrong if self.keys else 'keys are expected'}"


@dataclass(frozen=True)
class NotFixedYet(Message):
    """Given code that the learner has not changed yet. problem: its mistake."""

    id = "not_fixed_yet"
    template = "not fixed yet: {problem}"
    problem: Message
