"""List identical files, and similar answers with how common each is, for a human to review.

Right answers to a short exercise are often similar, so this list accuses no learner. The learner's
process reduces the text to its structure (runner/reading.py). This module only counts the results.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..attempts.maker import AttemptMaker
from ..runner.source import Unreadable
from ..sources.finding import find_submissions
from ..sources.submitted_files import NOTHING, WEIGHTS, SubmittedFiles
from .store import Store
from .teams import read_teams

COMMON = 0.2  # an answer shared by more than this share of a class is the usual one
TO_DO = "NotImplementedError"


@dataclass(frozen=True)
class SimilarAnswers:
    """Similar answers to an exercise. students: their authors. answers: the number of all answers.

    lines: the length of the answers without comments and docstrings. earlier: authors of the same
    answer in earlier years, as `FOLDER/student`.
    """

    exercise: str
    students: tuple[str, ...]
    answers: int
    lines: int
    earlier: tuple[str, ...] = ()


def similar_answers(
    maker: AttemptMaker, submitted: Path, earlier: Sequence[Path] = ()
) -> tuple[list[SimilarAnswers], int]:
    """Return groups of answers that differ only in names, comments, spaces and dead statements.

    The rarest and longest come first. Common answers are left out; their number is returned, too. A
    team has one answer.
    earlier: folders of submissions of earlier years, with which these are compared.

    Raises CourseError if learners' files cannot be read.
    """
    before: dict[tuple[str, str], list[str]] = defaultdict(list)
    for folder in earlier:
        for submitted_files in find_submissions(folder, maker.course)[0]:
            for about in structures_of(maker, submitted_files).items():
                before[about].append(f"{folder.resolve().name}/{submitted_files.student}")
    same: dict[tuple[str, str], list[str]] = defaultdict(list)
    answers: dict[str, int] = defaultdict(int)
    teams = read_teams(submitted, maker.course)
    for submitted_files in find_submissions(submitted, maker.course, share=teams.once)[0]:
        for exercise, shape in structures_of(maker, submitted_files).items():
            same[exercise, shape].append(submitted_files.student)
            answers[exercise] += 1
    shared = [
        SimilarAnswers(
            exercise, tuple(students), answers[exercise], shape.count("\n") + 1, tuple(others)
        )
        for (exercise, shape), students in same.items()
        if len(students) + len(others := before.get((exercise, shape), [])) > 1
    ]
    groups = [g for g in shared if len(g.students) <= max(2, COMMON * g.answers)]
    groups.sort(key=lambda g: (len(g.students) / g.answers, -g.lines, g.exercise))
    return groups, len(shared) - len(groups)


def structures_of(maker: AttemptMaker, submitted_files: SubmittedFiles) -> dict[str, str]:
    """Return the structure of a learner's answers by exercise; {} for an unreadable file."""
    if submitted_files.missing or submitted_files.reason:
        return {}
    try:
        found = maker.reader().structures(maker.source_of(submitted_files).text)
    except Unreadable:
        return {}
    own = maker.names_in(submitted_files.chapter)
    last = {names[0]: shape for names, shape in found if names and names[0] in own}
    return {exercise: shape for exercise, shape in last.items() if TO_DO not in shape}


def identical_files(kept: Store, learners: Collection[str] = ()) -> list[dict]:
    """Return `chapter` and `students` of each file that several learners share.

    Learners without any exercise begun are left out, because untouched stubs are always equal.
    Weights are ignored, because learners may share them. A team counts as one learner. learners:
    only files that one of them submitted; all files if empty.
    """
    groups = defaultdict(list)
    rows = [((row["student"], row["chapter"]), row) for row in kept.rows()]
    teams = {a: row["team"] for a, row in rows if row.get("team")}
    begun = {a for a, row in rows if row["status"] != "not_attempted"}
    for a, own in sorted(kept.attempts().items()):
        content = own[-1].content.split(WEIGHTS)[0]
        if a in begun and content and not content.startswith(NOTHING):
            groups[a[1], content].append(a[0])
    return [
        {"chapter": chapter, "students": students}
        for (chapter, _), students in groups.items()
        if len({teams.get((student, chapter), (student,)) for student in students}) > 1
        and (not learners or set(students) & set(learners))
    ]
