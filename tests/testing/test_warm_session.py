"""The session that stays open holds all tests of its folder, whoever starts it."""

from tensorgrade.testing.collecting import QUESTION
from tensorgrade.testing.warm_session import WarmSession


def test_options_for_somebodys_own_runs_take_no_test_away(project, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k softmax --junitxml=written.xml")
    session = WarmSession(project.graders)
    asked = {item.stash[QUESTION].exercise for items in session.items.values() for item in items}
    session.close()
    assert asked == {e.name for chapter in project.course.chapters for e in chapter.exercises}
