"""A course of one exercise, `f`, in a folder of its own: its solution and its cases are given."""

from pathlib import Path

from tensorgrade.attempts.attempt import Answer, Attempt
from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.naming import answer_to
from tensorgrade.attempts.side import Side
from tensorgrade.author.mistakes import known
from tensorgrade.judging.checks import load_checks
from tensorgrade.judging.diagnosis import Diagnosis, Wrong
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import Fingerprints

from .small_course import build_exercise

CHAPTER = "ch1_small"
CONFIG = """
from tensorgrade.course import Settings, Tolerance

FLOATS = {"float64": Tolerance(1e-6, 1e-6), "float32": Tolerance(1e-4, 1e-4)}
COURSE = Settings("small", "A small course", 2**100, ("ch1_small",), {"cpu": FLOATS})
"""
LESSON = """# %% [markdown]
# # Small

# %%
from collections import *
from dataclasses import dataclass

import torch
from torch import nn

# %% exercise="f"
{solution}
"""
GRADER = '''
from collections import OrderedDict

import torch

from tensorgrade.author import *


def cases(draw):
    return [{cases}]


CHECKS = [check(1, "It agrees.", it.agrees("values"))]

MISTAKES = """
{mistakes}
"""
'''
IMPORTS = "from collections import *\nfrom dataclasses import dataclass\nimport torch\n"
IMPORTS += "from torch import nn\n"


class SmallCourse:
    """The course, with references made by its solution. Nothing is built in a sandbox."""

    def __init__(self, root: Path, solution: str, cases: str, mistakes: str = ""):
        self.project = Project(root)
        files = {
            "course_config.py": CONFIG,
            f"solutions/{CHAPTER}.py": LESSON.format(solution=solution),
            f"graders/{CHAPTER}/f.py": GRADER.format(cases=cases, mistakes=mistakes),
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        self.made = {
            hidden: build_exercise(str(root), CHAPTER, "f", hidden) for hidden in (False, True)
        }

    def answer(self, source: str, hidden: bool = False) -> Answer:
        """A learner's text, run on the cases."""
        references, prints = self.made[hidden]
        messages = {one.name: one.message for one in known(self.project, "f")}
        attempt = Attempt(
            Lab(None, self.project.course.limits),
            self.project.program(CHAPTER, IMPORTS + source),
            self.project.course,
            Side(
                references,
                load_checks(self.project.graders),
                Fingerprints(lambda _: prints, messages),
            ),
        )
        return answer_to(attempt, "f")

    def diagnosis(self, source: str, check, hidden: bool = False) -> Diagnosis | None:
        """Return the message of a check for a learner's text; None if it passes."""
        try:
            check(self.answer(source, hidden))
        except Wrong as wrong:
            return wrong.diagnosis
        return None
