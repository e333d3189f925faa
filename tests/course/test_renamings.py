"""Parameters under any names: a right answer loses nothing, and a wrong one keeps its mistakes.

By position names never matter. A class with its parameters in another order loses a point.
Numbers in the environment rename more definitions: RIGHT_RENAMED=2000, WRONG_RENAMED=500 and
KNOWN_RENAMED=30000, which are definitions with known mistakes.
"""

import ast
import os
import runpy
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tensorgrade.attempts.attempt import Attempt
from tensorgrade.attempts.in_process import InProcess
from tensorgrade.attempts.pipeline import unexplained_verdict, verdict
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.results import CheckResult
from tensorgrade.attempts.verdict import Status, Verdict
from tensorgrade.author.proofs.sample_class import Choice, assemble
from tensorgrade.recognition.mistakes import make, mistake

from ..other_names import RENAMED
from ..renaming import functions_of, parameters, renamed, reordered
from ..sampling import first_of_each

TESTS = Path(__file__).parents[1]
SLOW = pytest.mark.slow
MOST_RENAMED = int(os.environ.get("RIGHT_RENAMED", "400"))
MOST_WRONG = int(os.environ.get("WRONG_RENAMED", "200"))
MOST_KNOWN = int(os.environ.get("KNOWN_RENAMED", "200"))


@pytest.fixture(scope="module")
def grade(project, grader):
    """A function that grades exercises of a text with the hidden tests: verdicts by exercise.

    In this process, since all texts are ours and there are many of them. The messages on wrong
    answers are left out, because they take longer than everything else.
    """

    def grade(chapter: str, text: str, names: list[str]) -> dict:
        maker, backend = grader.maker, InProcess(project.submission(chapter, text))
        prints = partial(maker.fingerprints, chapter)
        references = maker.references(chapter)
        attempt = Attempt(backend, maker.course, references, prints, maker.own)
        results = grader.collected.results(attempt, *names)
        return {name: verdict_on(attempt, name, results) for name in names}

    return grade


def verdict_on(attempt: Attempt, name: str, results: list[CheckResult]) -> Verdict:
    """Return the verdict on one exercise, without a message unless it is right."""
    exercise, part = attempt.chapter.exercise(name), attempt.exercises[name]
    checks = [one for one in results if one.exercise == name]
    bare = unexplained_verdict("somebody", exercise, part, checks)
    if bare.status == Status.PASSED:
        return verdict("somebody", exercise, part, checks)
    return replace(bare, mistakes=list(mistakes(part)))


def right_texts(project) -> list[tuple[str, str]]:
    """(chapter, text) of the solutions and of other right answers; compiling one takes too long."""
    solutions = [(c.name, project.solution(c.name)) for c in project.course.chapters]
    others = [(path.parent.name, path) for path in sorted(TESTS.glob("right_answers/*/*.py"))]
    texts = [(name, path.read_text(encoding="utf-8")) for name, path in (*solutions, *others)]
    return [(name, text) for name, text in texts if "torch.compile" not in text]


def taking_something(project, chapter: str, text: str) -> list[str]:
    """The exercises that a text defines and whose parameters can be renamed.

    In find-the-bug exercises, every changed name counts.
    """
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    exercises = {name for name in names if not project.bug(chapter, name)}
    there = [node for node in ast.parse(text).body if getattr(node, "name", "") in exercises]
    return [node.name for node in there if any(map(parameters, functions_of(node)))]


def lost_by_renaming(project, grade, most: int, seed: int) -> tuple[int, list]:
    """How many definitions were renamed, and the verdicts on those that lost anything."""
    random, done, lost = Random(seed), 0, []
    texts = right_texts(project)
    for turn in count():
        chapter, text = texts[turn % len(texts)]
        names = taking_something(project, chapter, text)
        verdicts = grade(chapter, renamed(text, names, random), names)
        lost += [verdicts[name] for name in names if verdicts[name].message != "Right."]
        done += len(names)
        if done >= most:
            return done, lost


@pytest.mark.slow
def test_right_answers_lose_nothing_by_other_names(project, grade):
    done, lost = lost_by_renaming(project, grade, 6, seed=1)
    assert done and not lost


@SLOW
@pytest.mark.timeout(3600)
def test_many_right_answers_lose_nothing_by_other_names(project, grade):
    done, lost = lost_by_renaming(project, grade, MOST_RENAMED, seed=2)
    assert done >= MOST_RENAMED and not lost


CLASSES = [
    ("ch3_causal_attention", "CausalAttention"),
    ("ch4_multi_head_attention", "MultiHeadAttention"),
    ("ch6_small_gpt", "TransformerBlock"),
    ("ch6_small_gpt", "SmallGPT"),
]


@SLOW
@pytest.mark.parametrize("chapter, name", CLASSES)
@pytest.mark.parametrize("seed", range(3))
def test_another_order_costs_a_point_at_most(project, judged, chapter, name, seed):
    text = project.solution(chapter).read_text(encoding="utf-8")
    verdict = judged(chapter, name, reordered(text, name, Random(seed)))
    assert verdict.message.startswith("Right."), verdict
    assert verdict.points >= verdict.max_points - 1 and not verdict.mistakes


@pytest.fixture(scope="module")
def wrong_texts(project) -> list[tuple[str, str, list[str]]]:
    """(chapter, text, exercises) with a known mistake, or with none that has a name, in each."""
    texts = []
    for chapter in project.course.chapters:
        names = [exercise.name for exercise in chapter.exercises]
        known = {n: [m for m in project.mistakes if n in m.edits and not m.same_as] for n in names}
        for at in range(max(map(len, known.values()))):
            chosen = {name: ms[at].name for name, ms in known.items() if at < len(ms)}
            choices = [Choice(n, (chosen[n],) if n in chosen else ()) for n in names]
            texts.append((chapter.name, assemble(project, chapter.name, choices), list(chosen)))
        solution = project.solution(chapter.name).read_text(encoding="utf-8")
        unnamed = runpy.run_path(str(TESTS / "wrong_answers" / f"{chapter.name}.py"))["WRONG"]
        for name, programs in unnamed.items():
            for edits in programs.values():
                wrong = mistake("wrong", "", {name: tuple(edits)})
                texts.append((chapter.name, make(solution, name, [wrong]), [name]))
    return texts


def changed_by_renaming(
    project, grade, texts: list, most: int, seed: int, times: int = 1
) -> tuple[int, list]:
    """How many wrong definitions were renamed, and both verdicts where they differ."""
    random, done, changed = Random(seed), 0, []
    shuffled = [*texts]
    random.shuffle(shuffled)
    for chapter, text, wrong in shuffled:
        names = [name for name in taking_something(project, chapter, text) if name in wrong]
        before = grade(chapter, text, names)
        for _ in range(times):
            after = grade(chapter, renamed(text, names, random), names)
            both = [(before[name], after[name]) for name in names]
            changed += [(a, b) for a, b in both if differ(a, b)]
            done += len(names)
            if done >= most:
                return done, changed
    return done, changed


def differ(before, after) -> bool:
    """Return True if another mistake is named, or more points are given."""
    return before.mistakes != after.mistakes or after.points > before.points


@pytest.mark.slow
def test_wrong_answers_keep_their_mistakes_under_other_names(project, grade, wrong_texts):
    done, changed = changed_by_renaming(project, grade, wrong_texts, 6, seed=3)
    assert done and not changed


@SLOW
@pytest.mark.timeout(3600)
def test_many_wrong_answers_keep_their_mistakes_under_other_names(project, grade, wrong_texts):
    done, changed = changed_by_renaming(project, grade, wrong_texts, MOST_WRONG, seed=4)
    assert done and len(changed) <= done / 100, changed
    assert not [both for both in changed if both[1].points > both[0].points], changed


@SLOW
@pytest.mark.timeout(6 * 3600)
def test_known_mistakes_are_accepted_under_no_names(project, grade, wrong_texts):
    """Such as a swapped query and key: each of them under twenty names."""
    done, changed = changed_by_renaming(project, grade, wrong_texts, MOST_KNOWN, seed=5, times=20)
    print(f"{done} renamed, {len(changed)} with other mistakes or more points")
    assert done >= min(MOST_KNOWN, 500)  # there are fewer than 30,000
    assert not [both for both in changed if both[1].points > both[0].points], changed


@pytest.mark.parametrize("name", first_of_each(RENAMED, lambda name: RENAMED[name].chapter))
def test_names_as_people_choose_them(project, judged, name):
    case = RENAMED[name]
    text = project.solution(case.chapter).read_text(encoding="utf-8")
    verdict = judged(case.chapter, case.exercise, text + case.text)
    assert verdict.points == case.points and verdict.message.startswith(case.message), verdict
