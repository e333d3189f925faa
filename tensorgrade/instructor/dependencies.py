"""What a chapter's grades depend on: which files, and a digest of them."""

import ast
from pathlib import Path

from ..folders import FINGERPRINTS, JUDGED_WITH, digest_of_files, engine_files

ABOUT_EXERCISES = ("points", "off")  # settings that name exercises
AFTER_GRADING = ("lateness", "scheme")  # settings that decide nothing about a single row


def graders_files(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """The files that grading a chapter (or all) reads, by their path from the course's root."""
    root = graders.parent
    # What lies beside the chapters is shared: grader files import it. Families of mistakes are
    # read by nobody who grades.
    patterns = {
        graders: (
            f"{chapter}/*.py",
            "*.py",
            f"references/{chapter}.safetensors",
            f"references/{chapter}{FINGERPRINTS}",
        ),
        # On public cases pairs of mistakes are looked up; an error's own text is told if these end
        # in the same one.
        root / "exercises": (f"given/{chapter}/*.py", f"references/{chapter}.*"),
    }
    paths = [
        path for folder, names in patterns.items() for name in names for path in folder.glob(name)
    ]
    return {
        str(path.relative_to(root)): path
        for path in sorted(paths)
        if path.is_file() and path.parent.name != "mistakes"
    }


def digest_of(graders: Path, chapter: str = "*") -> str:
    """Changes when a hidden test, a check of the course's own, a reference or a stand-in does.

    And when the course's settings or the engine do.
    """
    files = graders_files(graders, chapter)
    public, config = graders / "course.json", graders.parent / "course_config.py"
    files |= {public.name: public} if public.is_file() else {}
    engine = {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    own = {path.stem for path in graders.glob(f"{chapter}/*.py")}
    return digest_of_files(files | engine, settings_in(config, own) if config.is_file() else "")[
        :16
    ]


def settings_in(config: Path, exercises: set[str]) -> str:
    """The settings' code as far as it is about these exercises, and without dates.

    A deadline that moves grades nobody again, nor do another chapter's points or the scheme.
    """
    text = config.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError:  # whoever loads it says so
        return text
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        call.keywords = [keyword for keyword in call.keywords if keyword.arg not in AFTER_GRADING]
        for keyword in call.keywords:
            if keyword.arg in ABOUT_EXERCISES:
                keyword.value = only(keyword.value, exercises)
    return ast.dump(tree)


def only(value: ast.expr, exercises: set[str]) -> ast.expr:
    """A table or a list without its entries on other exercises; anything else stays as it is."""
    if isinstance(value, ast.Dict):
        pairs = [p for p in zip(value.keys, value.values, strict=True) if is_own(p[0], exercises)]
        return ast.Dict([key for key, _ in pairs], [told for _, told in pairs])
    if isinstance(value, ast.Tuple | ast.List):
        return ast.Tuple([one for one in value.elts if is_own(one, exercises)], ast.Load())
    return value


def is_own(name: ast.expr | None, exercises: set[str]) -> bool:
    """Whether it names one of these exercises, or may do so."""
    return not isinstance(name, ast.Constant) or name.value in exercises
