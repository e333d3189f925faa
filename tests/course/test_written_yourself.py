"""Softmax must be written by hand: naming torch's costs half, using it at run time a tenth."""

import pytest

from tensorgrade.learner.notebook.checking import check
from tensorgrade.runner.source import Source

CH1 = "ch1_simplified_attention"
MOST = {"softmax": 10, "softmax_naive": 5}
# Names in a text, in any spelling.
SHOWN = {
    "torch": "    return torch.softmax(x, {})\n",
    "a method": "    return x.softmax({})\n",
    "an import": "    from torch.special import log_softmax as f\n    return f(x, {}).exp()\n",
    "logsumexp": "    return (x - x.logsumexp({}, True)).exp()\n",
    "getattr": "    return getattr(torch, 'softmax')(x, {})\n",
}
HIDDEN = "    return getattr(torch, 'soft' + 'max')(x, {})\n"


def written(project, body: str) -> str:
    """The solution of chapter 1 with this body in both exercises."""
    lines = project.solution(CH1).read_text(encoding="utf-8").splitlines(keepends=True)
    for name, dim in (("softmax", "dim"), ("softmax_naive", "0")):
        start = next(k for k, line in enumerate(lines) if line.startswith(f"def {name}("))
        first = next(k for k in range(start, len(lines)) if "### BEGIN" in lines[k])
        last = next(k for k in range(start, len(lines)) if "### END" in lines[k])
        lines[first:last] = [body.format(dim)]
    return "".join(lines)


@pytest.fixture
def earned(project, judged):
    def earned(body: str, name: str) -> float:
        return judged(CH1, name, written(project, body)).points / MOST[name]

    return earned


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("way", SHOWN)
def test_half_is_lost_if_the_text_names_it(earned, way, name):
    assert earned(SHOWN[way], name) == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
def test_a_tenth_is_lost_if_only_the_run_shows_it(earned, name):
    assert earned(HIDDEN, name) == pytest.approx(0.9)


@pytest.mark.slow
def test_a_wrong_answer_earns_no_more_than_its_checks(earned):
    assert earned("    return torch.softmax(x, -1)\n", "softmax") < 0.5


@pytest.mark.slow
def test_the_text_counts_though_the_run_shows_nothing(earned):
    """Written out, with a call that is never made."""
    body = "    if False:\n        torch.softmax(x, {0})\n    e = (x - x.amax({0}, True)).exp()\n"
    assert earned(body + "    return e / e.sum({0}, True)\n", "softmax") == pytest.approx(0.5)


def test_self_check_says_the_same(project):
    text = written(project, SHOWN["torch"])
    found = check(project.exercises, "softmax", Source(text, f"{CH1}.py"))
    assert found.points == 5 and found.state == "wrong"


def test_the_docstring_says_both(project):
    for path in (project.solution(CH1), project.exercises / f"{CH1}.py"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert text.count("costs half of the points, or a tenth") == len(MOST)
