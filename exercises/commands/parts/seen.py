"""A text and where each head looks in it, for the terminal, the page and the notebook."""

import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path

import torch

from tensorgrade import CourseError

from .heads import (
    Attention,
    after_the_same,
    all_heads,
    far_back,
    share_after_the_same,
    share_before,
)
from .texts import ids_of
from .weights_file import load_weights

WEIGHTS = Path(__file__).resolve().parents[2] / "weights" / "looking.safetensors"
# By layer and head, from 0. Measured on text and on random characters that the model has never
# seen (tests/course/test_see.py checks the shares). The other heads have no known behaviour.
BEFORE, AFTER = (0, 0), (1, 3)
DOES = {
    BEFORE: "looks at the previous character",
    AFTER: "finds an earlier occurrence, and looks at what came after it",
}

CLEAR = 0.6  # the smallest weight that is described in words


@dataclass(frozen=True)
class Seen:
    """characters: the text, one by one. weights: (num_layers, num_heads, n, n).

    notes: sentences on parts of the text that are not shown as typed. does: what each head does, if
    it is known from measurements; empty for a learner's own model.
    """

    characters: str
    ids: torch.Tensor
    weights: torch.Tensor
    notes: list[str] = field(default_factory=list)
    does: dict[tuple[int, int], str] = field(default_factory=lambda: DOES)

    @property
    def heads(self) -> list[tuple[int, int]]:
        """(layer, head) of all heads, from 0; those with a known behaviour first."""
        every = [(at, h) for at in range(len(self.weights)) for h in range(self.weights.shape[1])]
        return sorted(every, key=lambda one: one not in self.does)

    @cached_property
    def shares(self) -> dict[tuple[int, int], float]:
        """The share of weight that each known head gives to its targets; nan without targets."""
        before = share_before(self.weights)
        after = share_after_the_same(self.weights, self.ids)
        return {BEFORE: before[BEFORE].item(), AFTER: after[AFTER].item()}

    def title(self, head: tuple[int, int]) -> str:
        """Return the name of a head, counted from 1."""
        return f"Layer {head[0] + 1}, head {head[1] + 1}"

    def caption(self, head: tuple[int, int]) -> str:
        """Return what a head does, and its share in this text; empty if that is not known.

        Nothing is known of a learner's own model, so all its heads are measured the same way.
        """
        if not self.does:
            before, far = share_before(self.weights)[head], far_back(self.weights)[head]
            return f"{before:.0%} to the previous character; {far:.0f} back on average, in this text"
        if head not in self.does:
            return ""
        share = self.shares[head]
        if share != share:
            return f"{self.does[head]}; here nothing occurs twice with something in between"
        return f"{self.does[head]}: {share:.0%} of its weight, in this text"

    def example(self, head: tuple[int, int]) -> str:
        """Return a sentence on the longest repetition that a head clearly follows, or nothing."""
        matrix = self.weights[head] * after_the_same(self.ids)
        places = (matrix > CLEAR).nonzero().tolist()
        if head != AFTER or not self.does or not places:
            return ""
        i, j = max(places, key=lambda place: self.in_common(*place))
        here, there = self.words_to(i), self.words_to(j - 1)
        found = visible(self.characters[j])
        return (
            f"At the end of “{here}” it gives {matrix[i, j]:.0%} to the “{found}” after “{there}”"
        )

    def in_common(self, i: int, j: int) -> int:
        """Return how many characters up to i are equal to those right before j."""
        pairs = zip(self.characters[i::-1], self.characters[j - 1 :: -1], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def words_to(self, place: int) -> str:
        """Return some characters up to a position, including that one."""
        return "".join(map(visible, self.characters[max(0, place - 7) : place + 1]))


def visible(character: str) -> str:
    """Return a character as one visible sign."""
    if character == "\n":
        return "↵"
    return "␣" if character == " " else character if character.isprintable() else "�"


def look(attention: Attention, text: str, own: Path | None = None) -> Seen:
    """Return where each head of an attention class looks in a text. Raises CourseError.

    own: the weights of a model that the learner has trained, instead of the shipped one.
    """
    state, settings = load_weights(own or WEIGHTS)
    shown, notes = text[: settings.context_length], []
    if len(shown) < 2:
        raise CourseError("the text needs at least two characters")
    if len(shown) < len(text):
        notes.append(f"Only the first {len(shown)} characters fit into the model's context.")
    known = [plain(character, settings.vocabulary) for character in shown]
    if strange := "".join(sorted({c for c, k in zip(shown, known, strict=True) if not k})):
        notes.append(f"The model has never seen {strange}; to it, these are all the same.")
    other = len(settings.vocabulary) - 1
    ids = ids_of([k or settings.vocabulary[other] for k in known], settings.vocabulary, other)
    try:
        weights = all_heads(attention, state, settings, ids)
    except KeyError as error:
        raise CourseError(f"{own} has no {error}: its parts have other names") from None
    return Seen(shown, ids, weights, notes, {} if own else DOES)


def plain(character: str, vocabulary: str) -> str:
    """Return the character itself, or its letter without the accent; empty if both are unknown."""
    return next((c for c in (character, letter(character)) if c in vocabulary), "")


def letter(character: str) -> str:
    """Return a character without its accents."""
    return unicodedata.normalize("NFKD", character)[0]
