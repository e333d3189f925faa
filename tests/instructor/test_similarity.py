"""Answers that are nearly the same: listed with how common they are, whatever the files hold."""

import pytest

from tensorgrade.attempts.maker import AttemptMaker
from tensorgrade.attempts.setup import Setup
from tensorgrade.cli.instructors import say_what_is_similar
from tensorgrade.instructor.report.page import write_report
from tensorgrade.instructor.similarity import similar_answers
from tensorgrade.runner.reading import structures

from ..commands import ROOT
from .runs import grade_by_content, put, put_rows
from .test_report import CHAPTER, COURSE, hand_in

CH1 = CHAPTER.name
SHORT = "def attention_scores(query, inputs):\n    return inputs @ query\n"
LONG = '''
def softmax(x, dim=-1):
    """Stable."""
    biggest = x.max(dim, keepdim=True).values  # so that nothing overflows
    biggest = biggest.where(biggest.isfinite(), 0)
    powers = (x - biggest).exp()
    return powers / powers.sum(dim, keepdim=True)
'''
RENAMED = LONG.replace("biggest", "m").replace("powers", "e").replace('    """Stable."""\n', "")
OTHER = LONG.replace("powers.sum", "torch.sum").replace("(dim, keep", "(powers, dim, keep")


@pytest.fixture(scope="module")
def maker():
    made = AttemptMaker(Setup(ROOT / "graders", "none"))
    yield made
    made.close()


def handed_in(folder, texts: dict[str, str]):
    for name, text in texts.items():
        put(folder, name, CH1, 0).write_text(text, encoding="utf-8")
    return folder


DEAD = [
    ("    return powers /", "    unused = 3\n    return powers /"),
    ("    powers = (x", "    pass\n    if False:\n        x = 0\n    powers = (x"),
    ("keepdim=True)\n", "keepdim=True)\n    return x\n"),
    ("    powers = (x", "    print(x)\n    'no docstring'\n    powers = (x"),
]


@pytest.mark.parametrize("old, new", DEAD)
def test_dead_statements_do_not_hide_a_copy(old, new):
    at = LONG.rindex(old)
    changed = LONG[:at] + new + LONG[at + len(old) :]
    assert structures(changed) == structures(LONG) != structures(OTHER)


@pytest.mark.slow
def test_an_answer_of_an_earlier_year_is_listed(maker, tmp_path):
    now = handed_in(tmp_path / "now", {"ada": RENAMED, "bao": OTHER})
    before = handed_in(tmp_path / "2025", {"zoe": LONG})
    (one,), _ = similar_answers(maker, now, [before])
    assert (one.students, one.earlier) == (("ada",), ("2025/zoe",))


@pytest.mark.slow
def test_what_differs_in_names_and_words_is_listed_and_what_all_write_is_not(maker, tmp_path):
    texts = {f"n{n}": SHORT for n in range(8)}
    texts |= {"ada": SHORT + LONG, "bao": SHORT + RENAMED.replace(" # so", "  # so"), "chi": OTHER}
    texts |= {"todo": LONG.split('"""Stable."""')[0] + "raise NotImplementedError\n"}
    texts |= {"also": texts["todo"], "broken": "def softmax(:\n", "deep": "x = " + "-" * 9000 + "1"}
    (one,), common = similar_answers(maker, handed_in(tmp_path, texts))
    assert (one.exercise, sorted(one.students)) == ("softmax", ["ada", "bao"])
    assert (one.answers, one.lines, common) == (3, 5, 1)


@pytest.mark.slow
def test_rare_and_long_ones_come_first(maker, tmp_path):
    texts = {"ada": SHORT + LONG, "bao": SHORT + LONG}
    found, _ = similar_answers(maker, handed_in(tmp_path, texts))
    assert [one.exercise for one in found] == ["softmax", "attention_scores"]
    texts = {"chi": LONG.replace("-1", "0"), "dan": LONG.replace("-1", "1")}
    found, _ = similar_answers(maker, handed_in(tmp_path, texts))
    assert (found[0].exercise, found[0].answers) == ("softmax", 4)


@pytest.mark.slow
def test_the_page_lists_them_and_accuses_nobody(maker, tmp_path):
    alike, _ = similar_answers(maker, handed_in(tmp_path / "in", {"ada": LONG, "bao": RENAMED}))
    put_rows(tmp_path, hand_in("ada") + hand_in("bao"))
    page = write_report(tmp_path, COURSE, alike=alike).read_text(encoding="utf-8")
    assert "2 of 2 answers; 5 lines" in page and "proves nothing" in page
    assert "Nearly the same" not in write_report(tmp_path, COURSE).read_text(encoding="utf-8")
    hidden = write_report(tmp_path, COURSE, True, alike).read_text(encoding="utf-8")
    assert "2 of 2 answers" in hidden and "ada" not in hidden


def test_the_command_counts_identical_files_and_common_answers(monkeypatch, capsys, tmp_path):
    for name in ("ada", "bao", "chi"):
        put(tmp_path / "in", name, CH1, 0.5)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    say_what_is_similar(tmp_path / "out", (), groups=0, common=2)
    assert capsys.readouterr().out.splitlines() == [
        "identical files: 1 group (of 3 learners), listed on the page",
        "nearly the same answers: 0 groups, listed on the page; 2 answers shared by more than a "
        "fifth of the class left out",
    ]
    say_what_is_similar(tmp_path / "out", ("zoe",), groups=1, common=0)
    assert capsys.readouterr().out.splitlines() == [
        "identical files: 0 groups, listed on the page",
        "nearly the same answers: 1 group, listed on the page",
    ]
