"""The part of tensorgrade that pytest loads in every project.

pytest loads the plugins of all installed packages. In a course this module registers the plugin
that collects and judges exercises. In any other project it adds no option, hook or line of output.
It must stay cheap: it imports neither torch nor the rest of the engine.
"""

import os
from itertools import pairwise
from pathlib import Path

import pytest

PLUGIN = "tensorgrade.testing.plugin"
WITH_VALUES = ("--attempt", "--device", "--isolation", "--hint")  # its options that take a value
# Files that every course has, and words in them that other projects' files of that name lack.
SIGNS = {
    "course_config.py": b"tensorgrade",
    "exercises/course.json": b'"tolerances"',
    "graders/course.json": b'"tolerances"',
}


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plugin in a course.

    This is the last moment for it: options have to exist before pytest reads its arguments.
    """
    config: pytest.Config | None = pluginmanager.get_plugin("pytestconfig")
    if config and any(is_in_course(path, config.inipath) for path in paths_of_run(config)):
        pluginmanager.import_plugin(PLUGIN)
    else:
        hide(pluginmanager)


def paths_of_run(config: pytest.Config) -> list[Path]:
    """Return the files and folders that pytest runs: its arguments, else `testpaths`, else `.`.

    pytest mistakes values of options that are not registered yet for files. So a value of the
    course's own options does not count. A missing file counts only if no argument exists.
    """
    start = config.invocation_params.dir.absolute()
    raw = list(map(str, config.invocation_params.args))
    values = [value for option, value in pairwise(raw) if option in WITH_VALUES]
    named = [path for path in config.known_args_namespace.file_or_dir if path not in values]
    given = [path for path in named if os.path.exists(start / path.split("::")[0])]
    paths = given or [*named, *config.getini("testpaths")] or ["."]
    return [start / path.split("::")[0] for path in paths]


def is_in_course(path: Path, ini: Path | None) -> bool:
    """Return True if a path is a course's folder or below one.

    ini: pytest's configuration file. The search stops at its folder, because a project inside a
    course's folder is not the course.
    """
    path = Path(os.path.normpath(path))
    for folder in (path, *path.parents):
        if any(holds(folder / name, words) for name, words in SIGNS.items()):
            return True
        if ini and folder == ini.parent:
            return False
    return False


def holds(path: Path, words: bytes) -> bool:
    """Return True if a file is there, can be read, and has these words."""
    try:
        return words in path.read_bytes()
    except OSError:
        return False


def hide(pluginmanager: pytest.PytestPluginManager) -> None:
    """Leave this module out of the list of plugins that pytest prints first."""
    listed = pluginmanager.list_plugin_distinfo

    def others() -> list:
        return [pair for pair in listed() if getattr(pair[0], "__name__", "") != __name__]

    pluginmanager.list_plugin_distinfo = others  # type: ignore[method-assign]
