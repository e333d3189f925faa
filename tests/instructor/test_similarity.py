"""`report --alike`: answers that are nearly the same, with how common they are."""

import pytest

from .runs import CH1

pytestmark = pytest.mark.slow
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
DEAD = RENAMED.replace("    return", "    unused = 3\n    return")
OTHER = LONG.replace("powers.sum", "torch.sum").replace("(dim, keep", "(powers, dim, keep")


def test_answers_with_other_names_are_listed_and_what_all_write_is_not(term):
    texts = {f"n{n}": SHORT for n in range(8)}
    texts |= {"ada": SHORT + LONG, "bao": SHORT + DEAD, "chi": OTHER, "deep": "x = " + "-" * 9000}
    for name in texts:
        term.put(name, 0.5, text=name)
    term.grade()
    for name, text in texts.items():
        path = term.submitted / name / CH1 / f"{CH1}.py"
        path.write_text(text, encoding="utf-8")
    earlier = term.folder / "2025" / "zoe" / CH1
    earlier.mkdir(parents=True)
    (earlier / f"{CH1}.py").write_text(RENAMED, encoding="utf-8")
    told = ("--alike", term.submitted, "--earlier", term.folder / "2025", "--isolation", "none")
    said = term.use("report", *told)
    assert "nearly the same answers: 1 group" in said and "1 answer shared by more than" in said
    page = (term.out / "report.html").read_text(encoding="utf-8")
    listed = page.partition("Nearly the same")[2].partition("<h2>")[0]
    assert all(name in listed for name in ("ada", "bao", "2025/zoe", "proves nothing"))
    assert ">chi<" not in listed
