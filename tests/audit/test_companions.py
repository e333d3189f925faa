"""Which modules next to an audited file are sent with it."""

import os

from tensorgrade.audit import run
from tensorgrade.audit.run import asked_for


def put(folder, *names: str):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}", encoding="utf-8")
    return str(folder / names[0])


def test_modules_below_the_file_are_sent_but_not_those_of_environments(tmp_path):
    """The project's own folder may be called build."""
    target = put(tmp_path / "build", "a.py", "b.py", "parts/c.py", "venv/d.py", ".git/e.py")
    assert sorted(asked_for(target).companions) == ["a", "b", "parts.", "parts.c"]


def test_a_file_that_is_gone_by_now_is_left_out(tmp_path):
    """The folder may be /tmp, where other programs delete their files."""
    target = put(tmp_path, "a.py", "b.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert sorted(asked_for(target).companions) == ["a", "b"]


def test_of_too_many_files_or_folders_only_the_neighbours_are_sent(tmp_path, monkeypatch):
    target = put(tmp_path, "a.py", "b.py", *(f"parts/c{i}.py" for i in range(5)))
    monkeypatch.setattr(run, "MOST_FILES", 5)
    assert sorted(asked_for(target).companions) == ["a", "b"]
    monkeypatch.setattr(run, "MOST_FILES", 300)
    assert "parts.c0" in asked_for(target).companions
    monkeypatch.setattr(run, "MOST_FOLDERS", 1)
    assert sorted(asked_for(target).companions) == ["a", "b"]
