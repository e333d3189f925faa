"""Formulas of lessons: the same TeX as text that can be read, and as MathML for a browser."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tensorgrade.views.formulas import FORMULA, in_mathml, in_plain_text

SOLUTIONS = sorted((Path(__file__).parents[2] / "solutions").glob("ch*.py"))


def test_words_keep_their_distance_in_a_browser():
    shown = in_mathml(r"$\mathrm{head\ of\ } h$ and $\text{one head}$", lambda inner, _: inner)
    assert ">head of\u00a0</mi><mi>h</mi>" in shown and ">one head</mi>" in shown


@pytest.mark.parametrize(
    "tex, mathml",
    [
        (r"$(3, -2)$", '<mo>,</mo><mo form="prefix">−</mo><mn>2</mn>'),
        (r"$3 - 2$", "<mn>3</mn><mo>−</mo><mn>2</mn>"),
        (r"$\frac{-\infty}{2}$", '<mo form="prefix">−</mo><mi>∞</mi>'),
        (r"$(a) - b$", '<mo stretchy="false">)</mo><mo>−</mo>'),
        (r"$\sum_{j=1}^n w_j$", "<munderover><mo>∑</mo><mrow>"),
        (r"$W_{in}^2$", "<msubsup><mi>W</mi><mrow>"),
        (r"$\max_k x_k$", '</munder><mspace width="0.17em"/><msub>'),
        (r"$\log(x)$", 'log</mi><mo stretchy="false">(</mo>'),
    ],
)
def test_signs_substitute_a_browser_as_in_print(tex, mathml):
    assert mathml in in_mathml(tex, lambda made, shown: made)


def formulas_in(path: Path) -> list[str]:
    """Every formula of a lesson, with its dollar signs."""
    text = re.sub(r"^# ?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [match[0] for match in FORMULA.finditer(text)]


@pytest.mark.parametrize(
    "tex, text",
    [
        (r"$\sqrt{d_k}$", "√d_k"),
        (r"$\sqrt{\mathrm{head\_dim}}$", "√head_dim"),
        (r"$-\infty / \sqrt{d_k}$", "−∞ / √d_k"),
        (r"$e^{x_i - x_j}$", "e^(x_i − x_j)"),
        (r"$3.4 \cdot 10^{38}$", "3.4 · 10³⁸"),
        (r"$n(n-1)/2$ of $n^2$", "n(n−1)/2 of n²"),
        (r"$X^{\top}$", "Xᵀ"),
        (r"$\frac{a + b}{c}$", "(a + b) / c"),
        (r"$M = \begin{cases} -\infty & j > i \\ 0 & j \le i \end{cases}$",
         "M = { −∞ for j > i; 0 for j ≤ i }"),
        (r"$\left(\frac{Q K^{\top}}{2}\right) V$", "((Q Kᵀ) / 2) V"),
        ("it costs $5", "it costs $5"),
        ("`a$b` and `c$d`", "`a$b` and `c$d`"),
    ],
)  # fmt: skip
def test_a_formula_reads_as_text(tex, text):
    assert in_plain_text(tex) == text


def test_a_displayed_formula_is_on_lines_of_its_own():
    text = in_plain_text("Then\n\n$$\nS = X X^{\\top}\n$$\n\nholds.")
    assert text == "Then\n\n    S = X Xᵀ\n\nholds."


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_no_formula_of_a_lesson_keeps_a_sign_of_tex(path):
    formulas = formulas_in(path)
    assert formulas
    for formula in formulas:
        assert not re.search(r"[\\${}&](?! |$)|\\", in_plain_text(formula)), formula


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_every_formula_of_a_lesson_is_well_formed_mathml(path):
    for formula in formulas_in(path):
        page = in_mathml(formula, lambda made, shown: made)
        tree = ElementTree.fromstring(page)
        pieces = [tree] if tree.tag == "math" else list(tree)
        assert pieces and all(piece.tag == "math" for piece in pieces)
        assert all("".join(piece.itertext()).strip() for piece in pieces)
        assert "\\" not in page and "$" not in page


def test_signs_of_html_in_a_formula_are_escaped():
    assert "<b>" not in in_mathml(r"$a <b> c$", lambda made, shown: made)
