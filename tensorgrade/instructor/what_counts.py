"""Decide what counts: which attempt, with which late penalty, extension and override."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..lateness import BEST, Lateness
from ..sources.submitted_files import SubmittedFiles
from .extensions import Extension
from .overrides import Key, Override, overridden
from .store import About, Attempt


@dataclass
class Rules:
    """The rules by which attempts become rows that count.

    lateness: the late policy. overrides: an instructor's decisions against the graders. extensions:
    later deadlines of single learners. teams: the team of each member. settings: digests of the
    settings that these rules come from, by name.
    """

    lateness: Lateness = field(default_factory=Lateness)
    overrides: dict[Key, Override] = field(default_factory=dict)
    extensions: dict[About, Extension] = field(default_factory=dict)
    teams: Mapping[About, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def counted_attempt(self, attempts: list[Attempt]) -> tuple[Attempt, list[dict]]:
        """Return the attempt that counts, and its rows with penalties and overrides.

        If the best attempt counts, only attempts judged by the same graders are compared, because
        earlier graders may have been wrong.
        """
        newest = attempts[-1]
        options = [newest]
        if self.lateness.attempts == BEST:
            options += [one for one in attempts[:-1] if one.graders == newest.graders][::-1]
        dated = [(one, [self.dated(row) for row in one.rows]) for one in options]
        counted, rows = max(dated, key=lambda pair: points(pair[1]))  # the newest of equal ones
        return counted, [overridden(row, self.overrides) for row in rows]

    def dated(self, row: dict) -> dict:
        """Return a row with its late penalty, and with the learner's team and extension."""
        if team := self.teams.get((row["student"], row["chapter"])):
            row = row | {"team": team}
        extension = self.extensions.get((row["student"], row["chapter"]))
        if extension is None:
            return self.lateness.applied(row, row.get("submitted"))
        dated = self.lateness.applied(row, row.get("submitted"), extension.due)
        return dated | {"extension": extension.told()}

    def is_late(self, submitted_files: SubmittedFiles) -> bool:
        """Return True if a submission arrived after its learner's deadline."""
        extension = self.extensions.get((submitted_files.student, submitted_files.chapter))
        due = extension.due if extension else None
        return bool(
            self.lateness.seconds_late(submitted_files.chapter, submitted_files.submitted, due)
        )

    def rename(self, new: dict[str, str]) -> None:
        """Apply overrides and extensions of a learner's earlier name to the new name."""
        for (old, chapter, exercise), given in list(self.overrides.items()):
            self.overrides.setdefault((new.get(old, old), chapter, exercise), given)
        for (old, chapter), extension in list(self.extensions.items()):
            self.extensions.setdefault((new.get(old, old), chapter), extension)


def points(rows: list[dict]) -> float:
    """Return the sum of the points of some rows."""
    return sum(row["points"] for row in rows)
