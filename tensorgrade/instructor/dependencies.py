"""The files that a chapter's grades depend on, and a digest of them."""

import ast
from pathlib import Path

from ..exchange.stored_key import SUFFIX, key_in
from ..folders import JUDGED_WITH, digest_of_files, engine_files

ABOUT_EXERCISES = ("points", "off")  # settings with names of exercises
AFTER_GRADING = ("lateness", "scheme")  # settings that are applied after the graders have run


def graders_files(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """Return the files that grading a chapter (or all) needs, by path from the course's root."""
    root = graders.parent
    # Files next to the chapters' folders are shared, because grader files import them. Grading does
    # not read `mistakes.py`.
    patterns = {
        graders: (
            f"{chapter}/*.py",
            "*.py",
            f"references/{chapter}/*",
        ),
        # Public cases matter too: pairs of mistakes are looked up on them, and an error's own text
        # is reported only if they end in the same error.
        root / "exercises": (f"given/{chapter}/*.py", f"references/{chapter}/*"),
    }
    paths = [
        path for folder, names in patterns.items() for name in names for path in folder.glob(name)
    ]
    return {
        str(path.relative_to(root)): path
        for path in sorted(paths)
        if path.is_file() and path.name != "mistakes.py"
    }


def digest_of(graders: Path, chapter: str = "*") -> str:
    """Return a digest of everything that affects the grades of a chapter.

    It changes with a hidden test, a check of the course, a recording, a message of a mistake, a
    substitute, a setting that affects grading, or the engine's code
    that decides results (JUDGED_WITH).
    """
    files = graders_files(graders, chapter)
    # A key stands for a whole file, whose copy of the lesson's text does not matter.
    keys = [f"{name} {key_in(path)}" for name, path in files.items() if path.suffix == SUFFIX]
    files = {name: path for name, path in files.items() if path.suffix != SUFFIX}
    public, config = graders / "course.json", graders.parent / "course_config.py"
    files |= {public.name: public} if public.is_file() else {}
    engine = {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    own = {path.stem for path in graders.glob(f"{chapter}/*.py")}
    texts = [settings_in(config, own)] if config.is_file() else []
    return digest_of_files(files | engine, "\n".join([*texts, *keys]))[:16]


def settings_in(config: Path, exercises: set[str]) -> str:
    """Return the settings' code without dates and without entries of other exercises.

    So a changed deadline, another chapter's points or a new scheme does not cause grading again.
    """
    text = config.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError:  # reported when the settings are loaded
        return text
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        call.keywords = [keyword for keyword in call.keywords if keyword.arg not in AFTER_GRADING]
        for keyword in call.keywords:
            if keyword.arg in ABOUT_EXERCISES:
                keyword.value = without_other_exercises(keyword.value, exercises)
    return ast.dump(tree)


def without_other_exercises(value: ast.expr, exercises: set[str]) -> ast.expr:
    """Return a dict or list without entries of other exercises; anything else unchanged."""
    if isinstance(value, ast.Dict):
        pairs = [p for p in zip(value.keys, value.values, strict=True) if is_own(p[0], exercises)]
        return ast.Dict([key for key, _ in pairs], [told for _, told in pairs])
    if isinstance(value, ast.Tuple | ast.List):
        return ast.Tuple([one for one in value.elts if is_own(one, exercises)], ast.Load())
    return value


def is_own(name: ast.expr | None, exercises: set[str]) -> bool:
    """Return True for a name of one of these exercises, and for code that may be one."""
    return not isinstance(name, ast.Constant) or name.value in exercises
