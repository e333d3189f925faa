"""A book of cases for one chapter: written once, drawn twice, for learners and for graders."""

import torch

from .cases import Case, record

PUBLIC_SEED = 7


class CaseBook:
    """Collects a chapter's cases. `hidden` books take the course's seed and other sizes."""

    def __init__(self, chapter: str, hidden: bool, seed: int = PUBLIC_SEED):
        self.chapter, self.hidden, self.seed = chapter, hidden, seed
        self.cases: list[Case] = []

    def pick(self, *, public, hidden):
        """One of two lists of sizes: learners never see the hidden cases' shapes."""
        return hidden if self.hidden else public

    def add(self, exercise: str, name: str, write, dtype=torch.float64, **settings) -> None:
        """Record the case that `write(attempt, draw)` writes."""
        self.cases.append(record(exercise, name, write, self.seed, dtype, **settings))

    def show(self, exercise: str, name: str, write, **settings) -> None:
        """A case that learners see in full; the hidden book leaves it out."""
        if not self.hidden:
            self.add(exercise, name, write, dtype=torch.float32, shown=True, **settings)
