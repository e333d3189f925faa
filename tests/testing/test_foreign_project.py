"""The pytest plugin does nothing in other projects, and works in courses."""

import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from ..support import ROOT, run_pytest

pytestmark = pytest.mark.slow
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
    "pytest.ini": "[pytest]\n",
    # Names that courses use, too.
    "course_config.py": "COURSE = 'crochet'",
    "exercises/course.json": '{"chapters": []}',
}
TOKENS = ROOT / "courses" / "tokens"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A project in a folder of a course that is not its own."""
    course = tmp_path_factory.mktemp("course")
    (course / "course_config.py").write_text("from tensorgrade import Settings\n")
    for name, text in FILES.items():
        path = course / "vendor" / "theirs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return course / "vendor" / "theirs"


@pytest.mark.parametrize("arguments, expected", [("--attempt 4 -rA", 1), ("--help", 0)])
def test_it_changes_nothing_there(foreign, arguments: str, expected: int):
    found = []
    for more in ((), ("-p", "no:tensorgrade")):
        options = ("-o", "pythonpath=.", "-p", "their_plugin", *arguments.split(), *more)
        done = run_pytest(*options, cwd=foreign)
        varying = r"\d+\.\d+s\b|0x[0-9a-f]+|\b\d{9,}\b"  # durations, addresses, threads
        found.append((done.returncode, re.sub(varying, "…", done.stdout), done.stderr))
    (code, out, err), without = found
    assert (code, out, err) == without
    assert "INTERNALERROR" not in out + err and "usage:" not in err
    assert code == expected, out + err


def test_it_imports_next_to_nothing():
    script = "import sys, importlib; importlib.import_module('tensorgrade' + '.pytest_plugin'); "
    script += "sys.exit(bool({'torch', 'rich'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A folder with a learner's kit of the other course, as far as pytest needs it."""
    folder = tmp_path_factory.mktemp("downloads") / "kit"
    shutil.copytree(TOKENS / "exercises", folder / "exercises")
    return folder


@pytest.mark.parametrize(
    "start, arguments",
    [
        ("kit/exercises", ["ch1_byte_pairs.py"]),
        (".", ["--rootdir=.", "kit/exercises/ch1_byte_pairs.py"]),
        (".", [TOKENS / "graders" / "ch1_byte_pairs" / "encode.py"]),
    ],
)
def test_its_options_exist_in_a_course(kit, start, arguments):
    options = ("--isolation", "none", "--hint", "1", "--help")
    done = run_pytest(*arguments, *options, cwd=kit.parent / start)
    assert done.returncode == 0 and "the device for learner code" in done.stdout


def test_a_course_may_be_in_testpaths_which_do_not_count_with_arguments(kit, tmp_path):
    (tmp_path / "kit").symlink_to(kit)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = kit/exercises\n")
    (tmp_path / "test_theirs.py").write_text("def test_theirs(): pass\n")
    done = run_pytest("--isolation", "none", "--collect-only", "-q", cwd=tmp_path)
    assert done.returncode == 0 and "count_pairs: " in done.stdout, done.stdout + done.stderr
    done = run_pytest("test_theirs.py", "--isolation", "none", cwd=tmp_path)
    assert done.returncode == 4 and "unrecognized arguments: --isolation" in done.stderr
