"""Facts about the lines of a submission, found by searching for words."""

import pytest

from tensorgrade.exchange.observation import CaughtError
from tensorgrade.judging.submitted_text import SubmittedText

TEXT = SubmittedText(
    """class Attend(nn.Module):
    def __init__(
        self, width, eps: float = 1e-5, size=4
    ) -> None:
        super().__init__()
        self.eps = eps
        self.parts = nn.ModuleList(nn.Linear(width, size))
        self.register_buffer("mask", torch.ones(size, size))

    def forward(self, x, base=10.0):
        group = x.shape[0] // 2  # self.eps is not read here
        for part in self.parts:
            if group:
                x = part(x)
        y = torch.softmax(
            x * self.mask,
            dim=group,
        )
        return y + self.eps ** base - late


def other(group):
    return group
"""
)
WHOLE = range(1, 20)


@pytest.mark.parametrize(
    "line, told",
    [
        (14, [("part", 12), ("self.parts", 7)]),
        (
            15,
            [("x", 14), ("self.mask", 8), ("group", 11)],
        ),  # the whole statement, and no name of an option
        (19, [("y", 15), ("self.eps", 6), ("eps", 3), ("base", 10)]),
        (11, []),
        (23, []),  # what another function makes is no source
    ],
)
def test_what_a_statement_reads_is_followed_to_where_it_is_made(line, told):
    assert list(TEXT.sources(line, WHOLE)) == told


def test_an_argument_by_name_makes_nothing():
    text = SubmittedText("def f(x, dim=-1):\n    y = g(x, dim=dim, keep=True)\n    a = b = dim = 2")
    assert not text.makes("dim", 2) and text.makes("y", 2)
    assert all(text.makes(name, 3) for name in ("a", "b", "dim"))


def test_what_is_made_twice_or_nowhere_is_followed_to_no_line():
    assert TEXT.making("x", TEXT.body(19)) == 14
    twice = SubmittedText("def f(x):\n    n = 1\n    n = 2\n    return n")
    assert twice.making("n", range(1, 5)) == 0
    assert TEXT.making("late", WHOLE) == TEXT.default("late", WHOLE) == 0
    assert TEXT.default("width", WHOLE) == 0  # it has none


def test_a_class_is_known_in_its_methods_with_the_arguments_of_its_init():
    assert TEXT.class_around(19) == TEXT.class_around(3) == range(1, 22)
    assert TEXT.class_around(23) == TEXT.class_around(1) == TEXT.class_around(99) == range(0)
    taken = {one for one in ("width", "eps", "x", "group") if TEXT.is_argument_of_init(one, 2)}
    assert taken == {"width", "eps"} and not TEXT.is_argument_of_init("x", 10)


def test_lines_that_cut_gradients_are_those_that_run_in_a_call():
    text = 'def f(x):\n    """>>> no\n    >>> x.detach()\n    """\n    with torch.no_grad():\n'
    text += "        return torch.tensor(x.data)  # x.item()\n"
    assert SubmittedText(text).cuts(range(1, 7)) == [(5, "no_grad"), (6, "torch.tensor")]
    made = "class A:\n    def __init__(self):\n        self.x = torch.tensor(2)\n"
    assert SubmittedText(made).cuts(range(1, 4)) == []


def test_no_stub_has_code_before_it_says_that_it_is_to_do(project):
    for chapter in project.course.chapters:
        text = SubmittedText((project.exercises / f"{chapter.name}.py").read_text(encoding="utf-8"))
        unwritten = [at for at, line in enumerate(text.lines, 1) if "raise NotImplement" in line]
        assert unwritten and not any(map(text.comes_behind_code, unwritten))


def test_lines_are_counted_as_python_counts_them():
    text = "a = 1\x0cb = 2\x85\n# \u2028 one line\r\n1 / 0\r2 / 0"
    told = [SubmittedText(text).with_source_line(CaughtError("E", line=n)).source for n in (3, 4)]
    assert told == ["1 / 0", "2 / 0"]
