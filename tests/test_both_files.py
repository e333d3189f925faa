"""Where a learner hands in a notebook and a script, the notebook counts if it was begun."""

import shutil

from tensorgrade.grading.submissions import find_handins

CHAPTER = "ch1_simplified_attention"


def handed_in(project, folder, notebook, script) -> str:
    """The name of the file that counts."""
    place = folder / "ada" / CHAPTER
    place.mkdir(parents=True)
    shutil.copy(notebook, place / f"{CHAPTER}.ipynb")
    shutil.copy(script, place / f"{CHAPTER}.py")
    (handin,), _ = find_handins(folder, project.course)
    return handin.filename


def test_an_untouched_notebook_gives_way_to_the_script(project, tmp_path):
    untouched = project.root / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    assert handed_in(project, tmp_path, untouched, project.solution(CHAPTER)) == f"{CHAPTER}.py"


def test_a_notebook_that_was_begun_counts(project, tmp_path):
    solved = project.root / "source" / CHAPTER / f"{CHAPTER}.ipynb"
    stub = project.exercises / f"{CHAPTER}.py"
    assert handed_in(project, tmp_path, solved, stub) == f"{CHAPTER}.ipynb"
