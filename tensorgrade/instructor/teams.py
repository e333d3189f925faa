"""Learners who submit together: `SUBMITTED/teams.csv`, to which `collect` adds lines.

    student,team,chapter
    ada,falcons,
    ben,falcons,
    ben,owls,second_chapter

A line without a chapter is about every chapter. A line on a chapter has priority over it.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..course import Course
from ..folders import write_file
from ..sources.finding import TEAMS, named
from ..sources.submitted_files import NOT_SUBMITTED, SubmittedFiles
from ..views.csv_cells import in_csv, read_table
from .decisions import each_line
from .rules import About

COLUMNS = ("student", "team", "chapter")


@dataclass(frozen=True)
class Teams:
    """The teams of a class. of: the team of each member, by learner and chapter."""

    of: dict[About, str] = field(default_factory=dict)

    def owner(self, one: SubmittedFiles) -> tuple[str, str]:
        """Return who submitted a file: a learner, or a team, which has a key of its own."""
        team = self.of.get((one.student, one.chapter))
        return (one.student, "") if team is None else ("", team)

    def share(self, submissions: list[SubmittedFiles]) -> tuple[list[SubmittedFiles], list[str]]:
        """Return the submissions, with one file for all members of a team, and notes.

        The newest file that can be graded counts, also for members without a file. Members without
        a folder are noted.
        """
        own = {(one.student, one.chapter): one for one in submissions}
        students, chapters = {one.student for one in submissions}, {c for _, c in own}
        members, notes = defaultdict(list), []
        for (student, chapter), team in sorted(self.of.items()):
            members[team, chapter].append(student)
        if strangers := sorted({student for student, _ in self.of} - students):
            notes.append(
                f"only {TEAMS} names {named(strangers)}, who have no folder. They get their team's "
                "points; correct the file if a name is wrong"
            )
        for (team, chapter), together in sorted(members.items()):
            if chapter not in chapters:
                continue
            nothing = SubmittedFiles("", chapter, reason=NOT_SUBMITTED, missing=True)
            there = [own.get((student, chapter), nothing) for student in together]
            # The newest one that can be graded.
            counts = max(there, key=lambda o: (not o.missing, not o.reason, o.submitted))
            if len({one.digest for one in there if not one.missing}) > 1:
                what = f"members of team {team} submitted different files for {chapter}"
                notes.append(f"{what}; the one of {counts.student} counts for all")
            own |= {(student, chapter): replace(counts, student=student) for student in together}
        return [own[about] for about in sorted(own)], notes


def read_teams(submitted: Path, course: Course) -> Teams:
    """Return the teams of a folder of submissions; none without a file. Raises CourseError."""
    term: dict[About, str] = {}
    single: dict[About, str] = {}
    every = [chapter.name for chapter in course.chapters]

    def take(line: dict[str, str]) -> None:
        student, team, chapter = (line.get(column, "") for column in COLUMNS)
        if not (student and team):
            raise ValueError("name a learner and a team")
        if chapter not in ("", *every):
            advice = "leave it empty for every chapter"
            raise ValueError(f"the course has no chapter {chapter!r}; {advice}")
        kind = single if chapter else term
        for about in [(student, name) for name in ([chapter] if chapter else every)]:
            if kind.setdefault(about, team) != team:
                raise ValueError(f"{student} is in two teams, {kind[about]} and {team}")

    each_line(submitted / TEAMS, COLUMNS[:2], take)
    return Teams(term | single)


def add_teams(submitted: Path, teams: dict[About, str]) -> None:
    """Write a download's teams into `teams.csv`, in place of these learners' earlier lines.

    teams: by learner and chapter; "" for a learner who submitted alone.
    """
    before = [
        [line.get(column, "") for column in COLUMNS]
        for _, line in read_table(submitted / TEAMS, COLUMNS[:2])
        if (line["student"], line.get("chapter", "")) not in teams
    ]
    new = [[student, team, chapter] for (student, chapter), team in sorted(teams.items()) if team]
    if new or (submitted / TEAMS).is_file():
        write_file(submitted / TEAMS, in_csv(COLUMNS, [*before, *new]).encode())
