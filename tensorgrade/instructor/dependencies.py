"""The files that a chapter's grades depend on, and a digest of them."""

import ast
import json
from pathlib import Path

from ..folders import FINGERPRINTS, JUDGED_WITH, SOURCES, digest_of_files, engine_files

ABOUT_EXERCISES = ("points", "off")  # settings with names of exercises
AFTER_GRADING = ("lateness", "scheme")  # settings that are applied after the graders have run


def graders_files(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """Return the files that grading a chapter (or all) needs, by path from the course's root.

    Without `right_answers` a mistake may cost points twice, and two at once get no names.
    """
    root = graders.parent
    # Files next to the chapters' folders are shared, because grader files import them. Grading does
    # not read `mistakes.py`.
    patterns = {
        graders: (
            f"{chapter}/*.py",
            "*.py",
            f"references/{chapter}.safetensors",
            f"references/{chapter}{FINGERPRINTS}",
        ),
        # Public cases matter too: pairs of mistakes are looked up on them, and an error's own text
        # is reported only if they end in the same error.
        root / "exercises": (f"given/{chapter}/*.py", f"references/{chapter}.*"),
    }
    paths = [
        path for folder, names in patterns.items() for name in names for path in folder.glob(name)
    ]
    return {
        str(path.relative_to(root)): path
        for path in sorted(paths)
        if path.is_file() and path.name != "mistakes.py"
    }


def right_answers(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """Return the files with right answers, by path from the course's root.

    Grading reads them if they are there.

    They do not go to the containers of course systems, where learners' code runs next to them.
    """
    patterns = f"references/{chapter}{SOURCES}", f"from_earlier/{chapter}/**/*.py"
    paths = sorted(path for pattern in patterns for path in graders.glob(pattern))
    return {str(path.relative_to(graders.parent)): path for path in paths}


def digest_of(graders: Path, chapter: str = "*") -> str:
    """Return a digest of everything that affects the grades of a chapter.

    It changes with a hidden test, a check of the course, a reference, a substitute, the code of a
    right answer, a setting that affects grading, or the engine's code that decides results
    (JUDGED_WITH).
    """
    files = graders_files(graders, chapter)
    answers = right_answers(graders, chapter)
    built = [path for path in answers.values() if path.name.endswith(SOURCES)]
    files |= {name: path for name, path in answers.items() if path not in built}
    public, config = graders / "course.json", graders.parent / "course_config.py"
    files |= {public.name: public} if public.is_file() else {}
    engine = {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    own = {path.stem for path in graders.glob(f"{chapter}/*.py")}
    texts = [settings_in(config, own)] if config.is_file() else []
    return digest_of_files(files | engine, "\n".join([*texts, *map(code_of, built)]))[:16]


def code_of(path: Path) -> str:
    """Return the code of a chapter's stored solution and mistakes, without the lesson's text.

    Of a damaged file, return all text; grading reports it.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        sources = json.loads(text)
        return f"{ast.dump(ast.parse(sources['text']))} {sources['edits']}"
    except (ValueError, KeyError, TypeError, SyntaxError):
        return text


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
