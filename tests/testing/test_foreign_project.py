"""The pytest plugin does nothing in other projects, and works in courses."""

import re
import shutil
import subprocess
import sys

import pytest

from ..support import ROOT, run_pytest

FILES = {
    "test_theirs.py": """
        import pytest, time, warnings

        @pytest.mark.exercise("legs")
        def test_passes(pytestconfig, attempt):
            assert pytestconfig.getoption("device") == "toaster" and attempt == 3

        def test_fails(): assert {"a": 1} == {"a": 2}

        @pytest.mark.skip(reason="not today")
        def test_skipped(): pass

        @pytest.mark.timeout(0.2)
        def test_hangs():
            warnings.warn("slow")
            time.sleep(5)
    """,
    "conftest.py": """
        import pytest

        def pytest_addoption(parser):
            parser.addoption("--hint", action="store_true", help="theirs")
            parser.addoption("--attempt", type=int, default=3)

        @pytest.fixture
        def attempt(pytestconfig):
            return pytestconfig.getoption("attempt")
    """,
    "their_plugin.py": """
        def pytest_addoption(parser):
            parser.addoption("--device", default="toaster")
            parser.addoption("--isolation", action="store_true")
    """,
    # Names that courses use, too.
    "course_config.py": "COURSE = 'crochet'",
    "exercises/course.json": '{"chapters": []}',
}
OPTIONS = ("-o", "pythonpath=.", "-p", "their_plugin")


def write_files(folder, files=FILES):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.sub(r"^ {8}", "", text, flags=re.MULTILINE), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("foreign"))


def output_of(folder, *arguments):
    """Return the exit code and the output of pytest in a folder, without what differs each time."""
    done = run_pytest(*OPTIONS, *arguments, cwd=folder)
    varying = r"\d+\.\d+s\b|0x[0-9a-f]+|\b\d{9,}\b"  # durations, addresses, threads
    return done.returncode, re.sub(varying, "…", done.stdout), done.stderr


@pytest.mark.slow
def test_it_changes_nothing_there(foreign):
    for arguments, expected in (("--attempt 4 -rA", 1), ("--help", 0)):
        code, out, err = output_of(foreign, *arguments.split())
        without = output_of(foreign, *arguments.split(), "-p", "no:tensorgrade")
        assert (code, out, err) == without
        assert "INTERNALERROR" not in out + err and "usage:" not in err
        assert code == expected, out + err


@pytest.mark.slow
def test_a_project_inside_a_course_stays_foreign(foreign, tmp_path):
    (tmp_path / "course_config.py").write_text("from tensorgrade import Settings\n")
    inside = write_files(tmp_path / "vendor" / "theirs", FILES | {"pytest.ini": "[pytest]\n"})
    code, out, _ = output_of(inside, ".", "--device", "toaster")
    assert code == 1 and "2 failed, 1 passed, 1 skipped" in out


@pytest.mark.slow
def test_it_imports_next_to_nothing():
    script = "import sys, importlib; importlib.import_module('tensorgrade' + '.pytest_plugin'); "
    script += "sys.exit(bool({'torch', 'rich'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A folder with a learner's kit of the other course, as far as pytest needs it."""
    folder = tmp_path_factory.mktemp("downloads") / "kit"
    shutil.copytree(ROOT / "courses" / "tokens" / "exercises", folder / "exercises")
    return folder


@pytest.mark.slow
def test_its_options_exist_in_a_course(kit):
    for start, *arguments in (
        ("kit/exercises", "ch1_byte_pairs.py"),
        (".", "--rootdir=.", "kit/exercises/ch1_byte_pairs.py"),
        (".", ROOT / "courses" / "tokens" / "graders" / "ch1_byte_pairs" / "encode.py"),
    ):
        options = ("--isolation", "none", "--hint", "1", "--help")
        done = run_pytest(*arguments, *options, cwd=kit.parent / start)
        assert done.returncode == 0 and "the device for learner code" in done.stdout, arguments


@pytest.mark.slow
def test_a_course_may_be_in_testpaths_which_do_not_count_with_arguments(kit, tmp_path):
    (tmp_path / "kit").symlink_to(kit)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = kit/exercises\n")
    (tmp_path / "test_theirs.py").write_text("def test_theirs(): pass\n")
    done = run_pytest("--isolation", "none", "--collect-only", "-q", cwd=tmp_path)
    assert done.returncode == 0 and "count_pairs: " in done.stdout, done.stdout + done.stderr
    done = run_pytest("test_theirs.py", "--isolation", "none", cwd=tmp_path)
    assert done.returncode == 4 and "unrecognized arguments: --isolation" in done.stderr


@pytest.mark.slow
def test_conftest_files_of_learners_stay_unread(tmp_path):
    (tmp_path / "conftest.py").write_text("raise SystemExit('read')\n", encoding="utf-8")
    done = run_pytest("graders", "--attempt", tmp_path, "--collect-only", "-q", "-k", "softmax")
    assert done.returncode == 0 and "softmax" in done.stdout, done.stdout + done.stderr
