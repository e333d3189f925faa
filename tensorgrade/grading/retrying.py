"""Gives hand-ins to workers and sees to it that each comes back, whoever dies on the way.

A worker that dies takes the hand-ins with it that it had; whose fault it was cannot be seen from
outside. They are graded again, each alone. One that ends its worker once more is set aside.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from ..course import Course
from ..results import Verdict
from .aside import ENDED_ITS_WORKER, set_aside
from .submissions import Handin

Graded = tuple[Handin, list[Verdict]]


def graded(todo: list[Handin], workers, course: Course) -> Iterator[list[Graded]]:
    """Verdicts on each hand-in exactly once, in batches as they come."""
    suspects: list[Handin] = []
    yield from flow(todo, workers, workers.ahead, suspects)
    for handin in suspects:
        guilty: list[Handin] = []
        yield from flow([handin], workers, 1, guilty)
        if guilty:
            yield [(handin, set_aside(handin, course, "killed", ENDED_ITS_WORKER))]


def flow(todo: list[Handin], workers, ahead: int, lost: list[Handin]) -> Iterator[list[Graded]]:
    """Keep so many hand-ins with the workers until all are back, or in the list of those lost."""
    waiting, running = deque(todo), {}
    while waiting or running:
        while waiting and len(running) < ahead:
            handin = waiting.popleft()
            running[submitted(handin, workers)] = handin
        done = wait(running, return_when=FIRST_COMPLETED).done
        if any(isinstance(future.exception(), workers.lost) for future in done):
            done = done | workers.replace(set(running) - done)
        finished = {running.pop(future): future for future in done}
        back = {h: f for h, f in finished.items() if not isinstance(f.exception(), workers.lost)}
        lost += [handin for handin in finished if handin not in back]
        if back:
            yield [(handin, future.result()) for handin, future in back.items()]


def submitted(handin: Handin, workers) -> Future:
    """The future of one hand-in; one that has failed already where the workers are just dying."""
    try:
        return workers.submit(handin)
    except workers.lost as error:
        failed: Future = Future()
        failed.set_exception(error)
        return failed
