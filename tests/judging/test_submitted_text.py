"""Facts about the lines of a submission, found by searching for words."""

from tensorgrade.exchange.observation import CaughtError
from tensorgrade.judging.submitted_text import SubmittedText


def test_no_stub_has_code_before_it_says_that_it_is_to_do(project):
    for chapter in project.course.chapters:
        text = SubmittedText((project.exercises / f"{chapter.name}.py").read_text(encoding="utf-8"))
        unwritten = [at for at, line in enumerate(text.lines, 1) if "raise NotImplement" in line]
        assert unwritten and not any(map(text.comes_behind_code, unwritten))


def test_lines_are_counted_as_python_counts_them():
    text = "a = 1\x0cb = 2\x85\n# \u2028 one line\r\n1 / 0\r2 / 0"
    told = [SubmittedText(text).with_source_line(CaughtError("E", line=n)).source for n in (3, 4)]
    assert told == ["1 / 0", "2 / 0"]
