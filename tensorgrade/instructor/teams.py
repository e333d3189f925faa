"""Learners who submit together: `SUBMITTED/teams.csv`, to which `collect` adds lines.

    student,team,chapter
    ada,falcons,
    ben,falcons,
    ben,owls,second_chapter

A line without a chapter is about every chapter. A line on a chapter has priority over it.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..course import Course, CourseError
from ..folders import write_file
from ..lateness import read_time
from ..sources.finding import TEAMS, named
from ..sources.submitted_files import NOT_SUBMITTED, SubmittedFiles
from ..views.csv_cells import in_csv, read_table

COLUMNS = ("student", "team", "chapter")
About = tuple[str, str]  # student, chapter


@dataclass
class Teams:
    """The teams of a class. of: the team of each member, by learner and chapter.

    After `share`, strangers are members without a folder who are not on the roster, and notes are
    sentences on members and files.
    """

    of: dict[About, str] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def with_teammates(
        self, student: str, submissions: list[SubmittedFiles]
    ) -> list[SubmittedFiles]:
        """Return the submissions of a learner, and of the learner's team in each chapter."""
        found = []
        for one in submissions:
            own, team = self.of.get((student, one.chapter)), self.of.get((one.student, one.chapter))
            if one.student == student or (own and own == team):
                found.append(one)
        return found

    def share(self, submissions: list[SubmittedFiles]) -> list[SubmittedFiles]:
        """Return the submissions, with one file for all members of a team.

        The newest file that can be graded counts, also for members without a file. Members without
        a folder are noted.
        """
        if not self.of:
            return submissions
        own = {(one.student, one.chapter): one for one in submissions}
        self.note_strangers({student for student, _ in own})
        graded = {chapter for _, chapter in own}
        for (team, chapter), students in sorted(by_team(self.of).items()):
            if chapter in graded:
                nothing = SubmittedFiles("", chapter, reason=NOT_SUBMITTED, missing=True)
                there = [own.get((student, chapter), nothing) for student in students]
                counts = max(there, key=rank)
                if len({one.digest for one in there if not one.missing}) > 1:
                    what = f"members of team {team} submitted different files for {chapter}"
                    self.notes.append(f"{what}; the one of {counts.student} counts for all")
                own |= {(s, chapter): replace(counts, student=s) for s in students}
        return [own[about] for about in sorted(own)]

    def note_strangers(self, students: set[str]) -> None:
        """Add a note on members who have no folder and are not on the roster."""
        self.strangers = sorted({student for student, _ in self.of} - students)
        if self.strangers:
            self.notes.append(
                f"only {TEAMS} names {named(self.strangers)}, who have no folder. They get their "
                "team's points; correct the file if a name is wrong"
            )


def rank(one: SubmittedFiles) -> tuple[bool, bool, float]:
    """Return the sort key of a team's files: the newest one that can be graded comes last."""
    at = read_time(one.submitted).timestamp() if one.submitted else 0.0
    return not one.missing, not one.reason, at


def by_team(teams: Mapping[About, str]) -> dict[tuple[str, str], list[str]]:
    """Return the members of each team, by team and chapter."""
    found = defaultdict(list)
    for (student, chapter), team in sorted(teams.items()):
        found[team, chapter].append(student)
    return found


def read_teams(submitted: Path, course: Course) -> Teams:
    """Return the teams of a folder of submissions; none without a file. Raises CourseError.

    A team with a single member is left out.
    """
    if not (submitted / TEAMS).is_file():
        return Teams()
    term: dict[About, str] = {}
    single: dict[About, str] = {}
    for number, line in read_table(submitted / TEAMS, COLUMNS[:2]):
        try:
            found = memberships(line, course)
            kind = single if line.get("chapter") else term
            for about, team in found.items():
                if kind.get(about, team) != team:
                    student, other = about[0], kind[about]
                    raise ValueError(f"{student} is in two teams, {other} and {team}")
            kind |= found
        except ValueError as error:
            raise CourseError(f"{submitted / TEAMS}, line {number}: {error}") from None
    both = term | single
    alone = {key for key, students in by_team(both).items() if len(students) < 2}
    return Teams({about: team for about, team in both.items() if (team, about[1]) not in alone})


def memberships(line: dict[str, str], course: Course) -> dict[About, str]:
    """Return the team in one line, by learner and chapter. Raises ValueError with a sentence."""
    student, team, name = line["student"], line["team"], line.get("chapter", "")
    if not (student and team):
        raise ValueError("name a learner and a team")
    chapters = [chapter.name for chapter in course.chapters]
    if name not in ("", *chapters):
        raise ValueError(f"the course has no chapter {name!r}; leave it empty for every chapter")
    return {(student, chapter): team for chapter in ([name] if name else chapters)}


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
