"""What runs in the grading process. Importing this costs nothing: torch stays over there."""

from pathlib import Path


def start(graders: str, isolation: str, device: str) -> None:
    """Make the process ready."""
    from ..grading import worker

    worker.start(graders, isolation, device)


def grade(handed_in: tuple[str, str, str, bytes]) -> list[dict]:
    """The verdicts on (student, chapter, file name, content), as rows of `results.jsonl`."""
    from ..grading import worker
    from ..grading.submissions import Handin

    return [verdict.row() for verdict in worker.grade(Handin(*handed_in))]


def given_up(handed_in: tuple[str, str, str, bytes], graders: Path) -> list[dict]:
    """Rows for what ended its process again and again."""
    from ..course import load_course
    from ..grading.aside import ENDED_ITS_WORKER, set_aside
    from ..grading.submissions import Handin

    course = load_course(graders)
    aside = set_aside(Handin(*handed_in), course, "killed", ENDED_ITS_WORKER)
    return [verdict.row() for verdict in aside]
