"""Formulas of lessons: the same TeX as text that can be read, and as MathML for a browser."""

import re
import xml.etree.ElementTree as ElementTree

from tensorgrade.views.formulas import FORMULA, in_mathml, in_plain_text

from ..support import ROOT

MATHML = {
    r"$(3, -2)$": '<mo>,</mo><mo form="prefix">−</mo><mn>2</mn>',
    r"$3 - 2$": "<mn>3</mn><mo>−</mo><mn>2</mn>",
    r"$(a) - b$": '<mo stretchy="false">)</mo><mo>−</mo>',
    r"$\sum_{j=1}^n w_j$": "<munderover><mo>∑</mo><mrow>",
    r"$W_{in}^2$": "<msubsup><mi>W</mi><mrow>",
    r"$\max_k x_k$": '<munder><mo lspace="0" rspace="0.17em">max</mo>',
    r"$\log(x)$": 'log</mo><mo stretchy="false">(</mo>',
    r"$\mathrm{head\ of\ } h$": ">head of\u00a0</mi><mi>h</mi>",
    r"$a <b> c$": "&lt;",
}
TEXT = {
    r"$\sqrt{d_k}$": "√d_k",
    r"$\sqrt{\mathrm{head\_dim}}$": "√head_dim",
    r"$-\infty / \sqrt{d_k}$": "−∞ / √d_k",
    r"$e^{x_i - x_j}$": "e^(x_i − x_j)",
    r"$3.4 \cdot 10^{38}$": "3.4 · 10³⁸",
    r"$n(n-1)/2$ of $n^2$": "n(n−1)/2 of n²",
    r"$X^{\top}$": "Xᵀ",
    r"$\frac{a + b}{c}$": "(a + b) / c",
    r"$M = \begin{cases} -\infty & j > i \\ 0 & j \le i \end{cases}$": (
        "M = { −∞ for j > i; 0 for j ≤ i }"
    ),
    r"$\left(\frac{Q K^{\top}}{2}\right) V$": "((Q Kᵀ) / 2) V",
    "it costs $5": "it costs $5",
    "`a$b` and `c$d`": "`a$b` and `c$d`",
    "Then\n\n$$\nS = X X^{\\top}\n$$\n\nholds.": "Then\n\n    S = X Xᵀ\n\nholds.",
}


def mathml(tex: str) -> str:
    return in_mathml(tex, str).replace("> <", "><")


def test_a_formula_reads_as_text_and_as_mathml():
    assert {tex: in_plain_text(tex) for tex in TEXT} == TEXT
    assert [tex for tex, made in MATHML.items() if made not in mathml(tex)] == []
    assert "<b>" not in mathml(r"$a <b> c$")


def test_every_formula_of_a_lesson_is_readable_text_and_well_formed_mathml():
    for path in sorted((ROOT / "solutions").glob("ch*.py")):
        lesson = re.sub(r"^# ?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        formulas = [match[0] for match in FORMULA.finditer(lesson)]
        assert formulas
        for formula in formulas:
            assert not re.search(r"[\\${}&](?! |$)|\\", in_plain_text(formula)), formula
            page = mathml(formula)
            tree = ElementTree.fromstring(page)
            assert tree.tag == "math" and "".join(tree.itertext()).strip()
            assert "\\" not in page and "$" not in page
