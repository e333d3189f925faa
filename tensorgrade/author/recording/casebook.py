"""Cases of an exercise: written once as data, drawn twice, for learners and for graders."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

import torch

from ...exchange.cases import Case, Draw, Planned, record, seed_for
from ...project import Project
from .drawings import Drawn

PUBLIC_SEED = 7
Sizes = TypeVar("Sizes")


@dataclass(frozen=True)
class WrittenCase:
    """A name, the steps, the dtype of what is drawn, and what else a `Case` says of itself."""

    name: str
    steps: tuple[Planned, ...]
    dtype: torch.dtype = torch.float64
    settings: dict = field(default_factory=dict)

    def recorded(self, exercise: str, seed: int, hidden: bool = False) -> Case:
        """The case with its numbers drawn.

        They depend on the seed, the exercise and the case's name, and on no other case. On a hidden
        case so do the seeds that its steps set.
        """

        def own_seed(written: int) -> int:
            return seed_for(seed, exercise, self.name, "seed", written)

        draw = Drawn(Draw(seed_for(seed, exercise, self.name), self.dtype))
        seeds = own_seed if hidden else int
        return record(exercise, self.name, self.steps, draw.value, seeds, **self.settings)


def case(
    name: str, *steps: Planned, dtype: torch.dtype = torch.float64, **settings: Any
) -> WrittenCase:
    """A case: `group/which`, by which tests ask for it, and the steps to take.

    settings: what else `tensorgrade.exchange.cases.Case` knows, such as its `signature`.
    """
    return WrittenCase(name, steps, dtype, settings)


def shown(name: str, *steps: Planned, **settings: Any) -> WrittenCase:
    """A case that learners see in full, and that graders do not use; in float32."""
    return WrittenCase(name, steps, torch.float32, settings | {"shown": True})


@dataclass(frozen=True)
class Pick:
    """Chooses sizes: learners never see hidden cases' shapes.

    master: what all is drawn from; a course's seed, where cases are hidden.
    """

    hidden: bool
    master: int = field(repr=False, default=PUBLIC_SEED)

    def __call__(self, *, public: Sizes, hidden: Sizes) -> Sizes:
        return hidden if self.hidden else public

    def chance(self, *purpose: str) -> Random:
        """Draws sizes and options for one purpose; from one nobody learns of another's."""
        return Random(seed_for(self.master, "sizes", *purpose))


def recorded_cases(project: Project, chapter: str, exercise: str, hidden: bool) -> list[Case]:
    """The cases of an exercise as its grader file says them, for graders or for learners.

    Drawn once, and for everybody who asks.
    """
    if (names := (chapter, exercise, hidden)) not in project.drawn:
        project.drawn[names] = drawn_cases(project, *names)
    return [*project.drawn[names]]


def drawn_cases(project: Project, chapter: str, exercise: str, hidden: bool) -> list[Case]:
    """The same, drawn now."""
    seed = (project.course.seed if hidden else None) or PUBLIC_SEED
    written = project.grader(chapter, exercise).cases(Pick(hidden, seed))
    kept = [one for one in written if not (hidden and one.settings.get("shown"))]
    return [one.recorded(exercise, seed, hidden) for one in kept]
