"""The common parts of all relations: draws of sizes, and the outcomes of a test."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..errors import error_text
from ..reference import Cause
from ..roles import Sizes
from ..subject import Subject

VASWANI = "Vaswani et al. 2017, section 3.2"
ONE = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7, seed=1)
DRAWS = (
    ONE,
    Sizes(3, 6, 2, 4, kv_heads=1, tokens_of_context=4, seed=2, biases=True),
    Sizes(1, 9, 6, 2, kv_heads=3, tokens_of_context=31, seed=3, biases=True, twins=True),
)
LARGE = Sizes(5, 102, 9, 18, kv_heads=3, tokens_of_context=104, seed=4)
SINGLE = replace(ONE, tokens=1, batch=1, seed=5)
NARROW = replace(ONE, heads=1, kv_heads=1, head_dim=1, seed=6, biases=True)
# The smallest sizes at which a failure is shown, if it occurs there.
SMALL = (
    Sizes(batch=1, tokens=2, heads=1, head_dim=2, kv_heads=1, tokens_of_context=2),
    Sizes(batch=1, tokens=3, heads=1, head_dim=4, kv_heads=1, tokens_of_context=3),
    Sizes(batch=1, tokens=2, heads=2, head_dim=2, kv_heads=1, tokens_of_context=2),
    Sizes(batch=2, tokens=3, heads=2, head_dim=2, kv_heads=1, tokens_of_context=4),
)
IN_PLACE = Cause(
    "input_changed_in_place",
    "The caller's tensor is changed in place.",
    ("_(", "-=", "+=", "*=", "/="),
)
DETACHED = Cause(
    "detached",
    "A value is cut off from the weights that made it, so these never learn.",
    ("detach", "no_grad", "inference_mode", "data", "item", "tensor"),
)


class Skip(Exception):
    """The relation does not apply to this definition; the text says why."""


@dataclass(frozen=True)
class Broken:
    """A relation that fails at some sizes.

    says: what was seen, in a sentence. sizes: the smallest sizes at which it fails. causes: known
    mistakes whose results match. where: operations on the line that it may be on, if there are no
    causes. line: the line that raises an error, if one does.
    """

    says: str
    sizes: Sizes | None = None
    causes: tuple[Cause, ...] = ()
    where: tuple[str, ...] = ()
    line: int = 0


class Relation:
    """One property of correct code. A subclass tests it at given sizes.

    explain: search for a known mistake too.
    """

    name: ClassVar[str]
    sentence: ClassVar[str]
    source: ClassVar[str] = VASWANI
    draws: ClassVar[tuple[Sizes, ...]] = DRAWS
    follows_from: ClassVar[str] = ""  # the relation whose failure breaks this one too

    def __init__(self, subject: Subject, explain: bool = True):
        self.subject, self.explain = subject, explain

    def check(self, sizes: Sizes) -> Broken | None:
        """Return what is broken at these sizes, or None. Raises Skip."""
        raise NotImplementedError

    def test(self) -> Broken | None:
        """Return the failure at drawn sizes; None if the relation holds. Raises Skip.

        It counts only if it occurs at fresh sizes too. It is reported at the smallest sizes that
        show it.
        """
        for sizes in self.draws:
            found = self.check(self.fitted(sizes))
            if found and all(self.fails(fresh) for fresh in afresh(sizes)):
                return self.smallest(found, sizes)
        return None

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that the definition can have."""
        return self.subject.fitted(sizes)

    def fails(self, sizes: Sizes) -> bool:
        """Return True if the relation is broken at these sizes; an error is no proof."""
        try:
            return type(self)(self.subject, explain=False).check(self.fitted(sizes)) is not None
        except Exception:
            return False

    def smallest(self, found: Broken, sizes: Sizes) -> Broken:
        """Return the same failure at the smallest sizes that show it."""
        for small in SMALL:
            try:
                other = self.check(self.fitted(small))
            except Exception:
                continue
            if other and other.causes == found.causes:
                return replace(other, sizes=self.fitted(small))
        return replace(found, sizes=self.fitted(sizes))


def afresh(sizes: Sizes) -> list[Sizes]:
    """Return other sizes of the same kind, with other numbers."""
    more, longer = int(sizes.tokens > 1), int(sizes.batch > 1)  # one alone can be a special case
    return [
        replace(sizes, seed=sizes.seed + 100, batch=sizes.batch + longer),
        replace(
            sizes,
            seed=sizes.seed + 200,
            tokens=sizes.tokens + more,
            tokens_of_context=sizes.tokens_of_context + 2,
        ),
    ]


@dataclass(frozen=True)
class Tested:
    """The outcome of one relation: it holds, it is broken, or it was skipped with a reason."""

    relation: Relation
    broken: Broken | None = None
    skipped: str = ""


def tested(subject: Any, relations: tuple[type[Relation], ...]) -> list[Tested]:
    """Test the relations. One whose failure follows from another one's is skipped."""
    found = [result_of(relation(subject)) for relation in relations]
    failing = {one.relation.name for one in found if one.broken}
    for place, one in enumerate(found):
        if one.broken and one.relation.follows_from in failing:
            found[place] = Tested(one.relation, skipped=f"{one.relation.follows_from} fails")
    return found


def result_of(relation: Relation) -> Tested:
    """Test one relation. An error is a reason to skip it: the audit may have misread the code."""
    try:
        return Tested(relation, relation.test())
    except Skip as skip:
        return Tested(relation, skipped=str(skip))
    except Exception as error:
        return Tested(relation, skipped=error_text(error))
