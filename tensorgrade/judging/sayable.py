"""What may be said on a hidden case, out of what the learner's own process tells.

That process has seen the hidden inputs. A text, a name or a number that it words itself could carry
them into the message. So what is said is made of sentences that Python and torch are known for, of
names that stand in the handed-in text, and of the case's own sizes. Of all else a … is left.

What remains is a choice among the learner's own words, as there is one among his lines and among
the mistakes that he can make: a dozen bits, and none of the numbers.
"""

import builtins
import functools
import re
from dataclasses import replace
from functools import cached_property
from itertools import chain, product, zip_longest

import torch
from torch import nn

from ..exchange.cases import Case, spoken_shape
from ..exchange.observation import CaughtError, Observation
from ..exchange.values import plain, size_of, spelled
from ..runner.second_device import TwoDevices
from .handed_in import HandedIn

LONGEST_NAME, MOST_SIZES, MOST_NAMES = 40, 6, 3
LARGEST_WRITTEN = 9999  # of the numbers that stand in the handed-in text
UNSPOKEN = ("operations", "trace", "said")
SPECIAL = {f"{kind} tensor" for kind in ("nested", "quantized", "meta", "sparse", "complex")}
# Names of Python, of torch, and of what its modules are made of.
KNOWN = {*dir(builtins), *dir(torch), *dir(torch.Tensor), *dir(nn), *dir(nn.functional)}
KNOWN |= {f"{kind}Tensor" for kind in ("Double", "Float", "Half", "Long", "Int", "Bool")}
KNOWN |= {kind.title() for kind in ("double", "float", "half", "long", "int", "bool", "byte")}
# What torch's modules are called and built on.
MODULES = [value for value in vars(nn).values() if isinstance(value, type)]
KNOWN |= {base.__name__ for module in MODULES for base in module.__mro__} | {*dir(nn.Module)}
KNOWN |= set(
    """NoneType ndarray generator method function builtin_function_or_method module linear modules
    dict_items dict_keys dict_values list_iterator tuple_iterator map zip numpy c10
    weight bias in_proj_weight in_proj_bias bias_k bias_v _modules _parameters _buffers
    __init__ __call__ forward _call_impl _wrapped_call_impl __main__ <lambda> <locals> return_types
    parameters buffers attributes changed altered missing misshapen unexpected type operations load
    out_features in_features num_features dim0 dim1 names understood arguments other tensor source
    index indices value""".split()
)
KNOWN |= {TwoDevices.__name__}

# What Python and torch say. # is a number, [#] a few of them, @ a name, ~ an operator.
SENTENCES = """
'@'
division by zero
float division by zero
integer modulo by zero
integer division or modulo by zero
float modulo
math domain error
math range error
int too large to convert to float
list index out of range
tuple index out of range
string index out of range
list assignment index out of range
pop from empty list
name '@' is not defined
cannot access local variable '@' where it is not associated with a value
local variable '@' referenced before assignment
cannot access free variable '@' where it is not associated with a value in enclosing scope
'@' object has no attribute '@'
type object '@' has no attribute '@'
module '@' has no attribute '@'
'@' object is not callable
'@' object is not subscriptable
'@' object is not iterable
'@' object is not an iterator
'@' object does not support item assignment
'@' object does not support item deletion
'@' object cannot be interpreted as an integer
object of type '@' has no len()
unsupported operand type(s) for ~: '@' and '@'
bad operand type for unary ~: '@'
bad operand type for abs(): '@'
'~' not supported between instances of '@' and '@'
can only concatenate @ (not "@") to @
must be real number, not @
@() missing # required positional argument: '@'
@() missing # required positional arguments: '@' and '@'
@() missing # required positional arguments: '@', '@', and '@'
@() missing # required positional arguments: '@', '@', '@', and '@'
@() missing # required positional arguments: "@"
@() missing # required keyword-only argument: '@'
@() takes # positional argument but # were given
@() takes # positional arguments but # was given
@() takes # positional arguments but # were given
@() takes from # to # positional arguments but # were given
@() takes no arguments
@() takes no arguments (# given)
@() got an unexpected keyword argument '@'
@() has no parameter '@'
@() has no parameters '@' and '@'
@() has no parameters '@', '@' and '@'
@() has no parameters '@', '@', '@' and '@'
@() has no parameters '@', '@', '@', '@' and '@'
@() has no parameters '@', '@', '@', '@', '@' and '@'
@() got multiple values for argument '@'
@() argument after * must be an iterable, not @
__init__() should return None, not '@'
not enough values to unpack (expected #, got #)
not enough values to unpack (expected at least #, got #)
too many values to unpack (expected #)
too many values to unpack (expected #, got #)
cannot unpack non-iterable @ object
maximum recursion depth exceeded
maximum recursion depth exceeded in comparison
maximum recursion depth exceeded while calling a Python object
invalid literal for int() with base #: '@'
could not convert string to float: '@'
No module named '@'
cannot import name '@' from '@' (unknown location)
unhashable type: '@'
slice indices must be integers or None or have an __index__ method
list indices must be integers or slices, not @
tuple indices must be integers or slices, not @
string indices must be integers, not '@'
super(): no arguments
cannot assign module before Module.__init__() call
cannot assign parameters before Module.__init__() call
cannot assign '@' as parameter '@' (torch.nn.Parameter or None expected)
cannot assign '@' as child module '@' (torch.nn.Module or None expected)
cannot assign '@' object to buffer '@' (torch Tensor or None required)
cannot assign '@' object to parameter '@' (torch Tensor or None required)
"attribute '@' already exists"
@ is not a Module subclass
Module [@] is missing the required "forward" function
@(): argument '@' must be @, not @
@(): argument '@' (position #) must be @, not @
@() received an invalid combination of arguments
@(): argument '@' (position #) must be tuple of ints, not @
@(): argument '@' (position #) must be tuple of Tensors, not @
mat1 and mat2 shapes cannot be multiplied (#x# and #x#)
mat1 and mat2 must have the same dtype, but got @ and @
expected m1 and m2 to have the same dtype, but got: @ != @
expected scalar type @ but found @
size mismatch, got input (#), mat (#x#), vec (#)
inconsistent tensor size, expected tensor [#] and src [#] to have the same number of elements, \
but got # and # elements respectively
1D tensors expected, but got #D and #D tensors
both arguments to matmul need to be at least 1D, but they are #D and #D
The size of tensor a (#) must match the size of tensor b (#) at non-singleton dimension #
Expected size for first two dimensions of batch2 tensor to be: [#] but got: [#].
self must be a matrix
mat2 must be a matrix
batch1 must be a 3D tensor
batch2 must be a 3D tensor
t() expects a tensor with <= 2 dimensions, but self is #D
tensor.mT is only supported on matrices or batches of matrices. Got #-D tensor.
Dimension out of range (expected to be in range of [#], but got #)
index # is out of bounds for dimension # with size #
index out of range in self
too many indices for tensor of dimension #
invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to \
convert a 0-dim tensor to a number
tensors used as indices must be long, int, byte or bool tensors
The shape of the mask [#] at index # does not match the shape of the indexed tensor [#] at index #
shape '[#]' is invalid for input of size #
shape mismatch: value tensor of shape [#] cannot be broadcast to indexing result of shape [#]
shape mismatch: indexing tensors could not be broadcast together with shapes [#], [#]
view size is not compatible with input tensor's size and stride (at least one dimension spans \
across two contiguous subspaces). Use .reshape(...) instead.
The expanded size of the tensor (#) must match the existing size (#) at non-singleton dimension #.\
  Target sizes: [#].  Tensor sizes: [#]
output with shape [#] doesn't match the broadcast shape [#]
stack expects each tensor to be equal size, but got [#] at entry # and [#] at entry #
stack expects a non-empty TensorList
torch.cat(): expected a non-empty list of Tensors
Sizes of tensors must match except in dimension #. Expected size # but got size # for tensor \
number # in the list.
Tensors must have same number of dimensions: got # and #
zero-dimensional tensor (at position #) cannot be concatenated
permute(sparse_coo): number of dimensions in the tensor input does not match the length of the \
desired ordering of dimensions i.e. input.dim() = # is not equal to len(dims) = #
Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor
split_with_sizes expects split_sizes to sum exactly to # (input tensor's size at dimension #), \
but got split_sizes=[#]
chunk expects `chunks` to be greater than 0, got: #
unflatten: Provided sizes [#] don't multiply up to the size of dim # (#) in the input tensor
einsum(): subscript @ has size # for operand # which does not broadcast with previously seen size #
einsum(): the number of subscripts in the equation (#) does not match the number of dimensions (#) \
for operand # and no ellipsis was given
Boolean value of Tensor with more than one value is ambiguous
Boolean value of Tensor with no values is ambiguous
only one element tensors can be converted to Python scalars
only integer tensors of a single element can be converted to an index
a Tensor with # elements cannot be converted to Scalar
@(): Expected dtype int32/int64 for index
@(): duplicate dims are not allowed.
one_hot is only applicable to index tensor of type LongTensor.
dropout probability has to be between 0 and 1, but got #.#
Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or \
`logical_xor()` operator instead.
only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices \
(got @)
one of the variables needed for gradient computation has been modified by an inplace operation
masked_fill_ only supports a 0-dimensional value tensor, but got tensor with # dimension(s).
masked_fill_ only supports boolean masks, but got mask with dtype @
where expected condition to be a boolean tensor, but got a tensor with dtype @
@(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. \
Got: @
len() of a 0-d tensor
iteration over a 0-d tensor
triu: input tensor must have at least 2 dimensions
tril: input tensor must have at least 2 dimensions
dimensions must larger than 1
Given normalized_shape=[#], expected input with shape [*, #], but got input of size[#]
Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.
Only Tensors of floating point and complex dtype can require gradients
a leaf Variable that requires grad is being used in an in-place operation.
a view of a leaf Variable that requires grad is being used in an in-place operation.
you can only change requires_grad flags of leaf variables.
element 0 of tensors does not require grad and does not have a grad_fn
grad can be implicitly created only for scalar outputs
Mismatch in shape: grad_output[#] has a shape of torch.Size([#]) and output[#] has a shape of \
torch.Size([#]).
"""
HOLES = {
    "[#]": r"(\[-?\d+(?:, -?\d+){0,5},?\])",
    "#": r"(-?\d+)",
    "@": r"([\w.<>]+)",
    "~": r"((?:[-+*/@%<>=!&|^]{1,3}|\*\* or pow\(\)))",
}
# Behind these words torch lists signatures, or says which of its own parts it was.
MORE = re.compile(r" - got \(|(?<=inplace operation): \[|\n")
HOLE = re.compile(r"(\[#\]|#|@|~)")


def pattern(sentence: str) -> re.Pattern:
    """What finds a sentence, with a group for each of its holes."""
    return re.compile("".join(HOLES.get(part, re.escape(part)) for part in HOLE.split(sentence)))


@functools.cache
def known_sentences() -> list[tuple[list[str], re.Pattern]]:
    """All sentences that may be told, in their parts and as what finds them."""
    return [(HOLE.split(one), pattern(one)) for one in SENTENCES.strip().splitlines()]


class Sayable:
    """What may be said on one hidden case."""

    def __init__(self, handed_in: HandedIn, case: Case, expected: Observation):
        self.handed_in, self.case, self.expected = handed_in, case, expected

    @cached_property
    def names(self) -> set[str]:
        """The names that the case itself is made of."""
        # Not what is passed in, nor what should come back: a text there is hidden.
        told = [name for step in self.case.steps for name in names_in(step | {"arguments": {}})]
        told += [name for step in self.case.steps for name in step.get("arguments", {})]
        told += [*self.expected.tensors, *names_in(self.expected.facts), *self.expected.values]
        return {part for name in told for part in name.split(".")}

    @cached_property
    def numbers(self) -> set[int]:
        """Sizes of the case, and what two of them make together."""
        tensors = (*self.case.tensors.values(), *self.expected.tensors.values())
        # Not the whole steps: they hold seeds too.
        passed = [v for step in self.case.steps for v in step.get("arguments", {}).values()]
        told = [value for value in passed if not isinstance(value, (list, dict))]
        told += [size for value in passed if (size := size_of(value)) is not None]
        own = {size for tensor in tensors for size in (*tensor.shape, tensor.numel())}
        own |= {n for part in (*told, self.expected.facts) for n in numbers_in(part)}
        return {*range(5), *own, *made_of(own)}

    def number(self, number: int) -> bool:
        """Whether a number may be said."""
        written = abs(number) <= LARGEST_WRITTEN and str(abs(number)) in self.handed_in.words
        return written or abs(number) in self.numbers

    def name(self, name: str) -> str:
        """A name, dotted or not; … where it stands nowhere."""
        if name in self.expected.facts:  # most do, and `names` takes long to gather
            return name
        return name if len(name) <= LONGEST_NAME and all(map(self.part, name.split("."))) else "…"

    def part(self, part: str) -> bool:
        """Whether one part of a dotted name may be said."""
        if part.isdigit():
            return len(part) <= 2
        words = self.handed_in.words
        return part in KNOWN or part in self.names or (part.isidentifier() and part in words)

    def text(self, text: str) -> str:
        """An error's text where it is one of Python's or torch's; … where it is not."""
        text = MORE.split(text, maxsplit=1)[0]
        for parts, sentence in known_sentences():
            if found := sentence.fullmatch(text):
                holes = list(zip(parts[1::2], found.groups(), strict=True))
                if any(hole == "@" and self.name(told) != told for hole, told in holes):
                    return UNSAID
                filled = [self.fill(hole, told) for hole, told in holes]
                return "".join(chain.from_iterable(zip_longest(parts[::2], filled, fillvalue="")))
        return UNSAID if text else ""

    def fill(self, hole: str, told: str) -> str:
        """What is said in a sentence's hole."""
        if hole in "@~":
            return told
        return re.sub(r"\d+", lambda digits: self.digits(digits[0]), told)

    def digits(self, digits: str) -> str:
        """A number in a text; … for one that is none of the case's."""
        return digits if len(digits) < 20 and self.number(int(digits)) else "…"

    def error(self, error: CaughtError) -> CaughtError:
        """An error as it may be told."""
        kinds = (error.type, *error.kinds)
        asked = {step.get("name") for step in self.case.steps}
        function = error.function
        return replace(
            self.handed_in.in_place(error),
            type=next((kind for kind in kinds if self.name(kind) == kind), "Exception"),
            text=self.text(error.text),
            function=function if self.name(function) == function else "",
            missing=error.missing if error.missing in asked else None,
            definition=error.definition if self.name(error.definition) == error.definition else "",
            signs=(),
            sizes={},
        )

    def as_in_public(
        self, claimed: CaughtError, told: CaughtError, public: list[CaughtError]
    ) -> CaughtError:
        """What may be told of an error, and besides what public cases show of the same one.

        claimed: the error as the learner's process words it. public: errors of a process that has
        seen no hidden case, so that nothing in their words tells of one. What is seen around an
        error (its signs and sizes) is the public one's.
        """
        text = told.text
        if any(one.text == claimed.text for one in public):
            text = claimed.text
        elif text == UNSAID:
            told_so = (self.reworded(claimed.text, one.text) for one in public)
            text = next(filter(None, told_so), UNSAID)
        alike = [one for one in public if (one.type, one.line) == (told.type, told.line)]
        seen = alike[0] if alike else told
        words = set(re.findall(r"\w+", told.source))
        sizes = {name: size for name, size in seen.sizes.items() if name in words}
        return replace(told, text=text, signs=seen.signs, sizes=sizes)

    def reworded(self, text: str, public: str) -> str:
        """A text that is a public one but for numbers of this case; empty where it is not."""
        words, same = re.split(r"\d+", text), re.split(r"\d+", public)
        if words != same or len(words) > MOST_SIZES + 1:
            return ""
        return re.sub(r"\d+", lambda digits: self.own_digits(digits[0]), text)

    def own_digits(self, digits: str) -> str:
        """A number in a text; … for one that is none of the case's, wherever it is written."""
        return digits if len(digits) < 20 and int(digits) in self.numbers else "…"

    def observation(self, observed: Observation) -> Observation:
        """All of an observation as it may be told; its tensors are its results, and stay."""
        return replace(
            observed,
            values={name: self.value(name, value) for name, value in observed.values.items()},
            facts={self.name(name): self.fact(name, fact) for name, fact in observed.facts.items()},
            error=observed.error and self.error(observed.error),
            claims=observed.values,
        )

    def value(self, name: str, value: dict) -> dict:
        """A result that is no tensor: its type, and as much of it as may be said."""
        kind = str(value.get("type"))
        kind = kind if kind in SPECIAL else self.name(kind)
        wanted = self.expected.values.get(name, {})
        if value == wanted:
            return value
        want = wanted.get("json")
        told = self.told(plain(value["json"]), plain(want))
        return {"type": kind, "json": None if told is UNSAID else spelled(told)}

    def fact(self, name: str, fact: dict) -> dict:
        """A fact; what only counts, and is never said, stays."""
        want = self.expected.facts.get(name, {})
        if fact == want:
            return fact
        return {
            self.name(key): part if key in UNSPOKEN else self.told(part, want.get(key))
            for key, part in fact.items()
        }

    def told(self, value: object, want: object = None) -> object:
        """JSON with … for what may not be said. want: what is right in its place."""
        if value is None or isinstance(value, bool) or value == want:
            return value
        if isinstance(value, str):
            return value if self.name(value) == value else UNSAID
        if isinstance(value, (int, float)):
            whole = isinstance(value, int) or value.is_integer()
            return value if whole and self.number(int(value)) else UNSAID
        if isinstance(value, list):
            return self.listed(value)
        wanted = want if isinstance(want, dict) else {}
        return self.keyed(value, wanted) if isinstance(value, dict) else UNSAID

    def listed(self, values: list) -> object:
        """A short list of what may be said: sizes, or names."""
        told = [self.told(value) for value in values]
        if all(isinstance(value, str) for value in told):
            return [name for name in self.few(told) if name is not UNSAID] or told[:1]
        flat = not any(isinstance(value, dict) for value in told)
        return told if flat and len(told) <= MOST_SIZES else UNSAID

    def keyed(self, values: dict, want: dict) -> dict:
        """A dict with the keys that may be said."""
        keys = self.few([self.name(key) for key in values])
        pairs = zip(keys, values.values(), strict=True)
        return {key: self.told(value, want.get(key)) for key, value in pairs}

    def few(self, names: list) -> list:
        """Names, … for those beyond a few that the case does not have."""
        strange = [name for name in names if not self.names.issuperset(name.split("."))]
        return [UNSAID if name in strange[MOST_NAMES:] else name for name in names]


class Unsaid(str):
    """Stands for what may not be said, and looks alike in a sentence and in a list."""

    def __repr__(self) -> str:
        return "…"


UNSAID = Unsaid("…")


def names_in(value: object) -> list[str]:
    """All texts in JSON, keys too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [*value, *(name for part in value.values() for name in names_in(part))]
    return [n for part in value for n in names_in(part)] if isinstance(value, list) else []


def numbers_in(value: object) -> list[int]:
    """All whole numbers in JSON."""
    if isinstance(value, int):
        return [value]
    if isinstance(value, dict):
        return [n for part in value.values() for n in numbers_in(part)]
    return [n for part in value for n in numbers_in(part)] if isinstance(value, list) else []


def spoken_size(
    tensor: torch.Tensor, expected: torch.Tensor, case: Case, hidden: bool = True
) -> str:
    """A result's shape in words; of one without entries, or of many dimensions, only that.

    Code that has seen a hidden input could put it into a shape. So of a hidden case a size is told
    that the case has, and one more that is made of these; of others there is a … in its place.

    >>> right, case = torch.ones(2, 3), Case("f", "a/1", (), {"x": torch.ones(2, 3)})
    >>> [spoken_size(torch.ones(*sizes), right, case) for sizes in ((3, 2), (0, 49), (3, 6))]
    ['shape (3, 2)', 'no entries', 'shape (3, 6)']
    >>> spoken_size(torch.ones(744, 2), right, case), spoken_size(torch.ones(6, 4), right, case)
    ('shape (…, 2)', 'shape (…, …)')
    """
    if not tensor.numel():
        return "no entries"
    if tensor.ndim > min(MOST_SIZES, expected.ndim + 2):
        return "more dimensions"
    own = sizes_of(case) | {1, *expected.shape}
    others = [size for size in tensor.shape if size not in own]
    told = own | made_of(own) if len(others) < 2 else own
    if not hidden or told.issuperset(tensor.shape):
        return f"shape {spoken_shape(tensor.shape)}"
    sizes = [str(size) if size in told else "…" for size in tensor.shape]
    return f"shape ({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def made_of(sizes: set[int]) -> set[int]:
    """What two of some sizes make together."""
    pairs = product(sizes, {*sizes, 1})  # one off is what people are most often
    return {c for a, b in pairs for c in (a + b, a * b, a - b, a // max(1, b))}


def sizes_of(case: Case) -> set[int]:
    """All sizes in a case: of its tensors, and the whole numbers that are passed in."""
    numbers = {n for step in case.steps for n in numbers_in(step.get("arguments", {}))}
    return {size for tensor in case.tensors.values() for size in tensor.shape} | numbers
