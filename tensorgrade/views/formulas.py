r"""Convert the TeX formulas in a lesson's text to plain text or MathML.

Lessons write `$…$` and `$$…$$`. Notebooks render these automatically. Scripts get plain text.
Pages get MathML, which browsers draw without a network. Only the TeX that lessons use is
supported. An unknown command is written as its name, and a build refuses it.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

FORMULA = re.compile(r"(?<![\\`])\$\$(.+?)\$\$|(?<![\\`$])\$([^$`]+?)\$", re.DOTALL)
PIECE = re.compile(r"\\begin\{\w+\}|\\end\{\w+\}|\\[a-zA-Z]+|\\.|\d+(?:[.,]\d+)*|\s+|.", re.DOTALL)
SYMBOLS = {
    "cdot": "·", "times": "×", "infty": "∞", "sum": "∑", "prod": "∏", "top": "⊤", "to": "→",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈", "pm": "±",
    "leftarrow": "←", "in": "∈", "dots": "…", "ldots": "…", "cdots": "⋯", "partial": "∂",
    "nabla": "∇", "lVert": "‖", "rVert": "‖", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈",
    "rceil": "⌉", "odot": "⊙", "mid": "|",
    "langle": "⟨", "rangle": "⟩",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ",
    "varepsilon": "ε",
    "lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
    "Delta": "Δ", "Sigma": "Σ", "Omega": "Ω", "{": "{", "}": "}", "_": "_", "%": "%", "|": "‖",
}  # fmt: skip
SPACES = {",": " ", ";": " ", ":": " ", " ": " ", "quad": "   ", "qquad": "   ", "!": ""}
WORDS = {"operatorname", "mathrm", "text", "mathbf", "mathit", "textbf"}
WIDEST = 88
ONE_WORD, NAMES = r"[^_\W]+", r"[\w,]+"  # need no brackets after `^`; after `_`, `√`
NAMED = set("log ln exp sin cos tan max min arg det dim Pr".split())  # written with their own names
KNOWN = {"frac", "sqrt", "left", "right", "begin", "end"}
UNMARKED = {"big", "Big", "displaystyle", "limits"}
BRACKETS = "()[]{}|‖⌊⌋⌈⌉⟨⟩"
OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}", "|", "‖", "⌋", "⌉", "⟩")
SCRIPTS = {"down": ("sub", "under"), "up": ("sup", "over")}  # next to a base, or below and above it
RAISED = dict(zip("0123456789-+⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ", strict=True))
RAISED["T"] = "ᵀ"


@dataclass
class Part:
    """A piece of a formula. kind: one of the kinds that `PLAIN` or `mathml` can write."""

    kind: str
    text: str = ""
    parts: list["Part"] = field(default_factory=list)


class Reader:
    """A parser that turns TeX into parts."""

    def __init__(self, tex: str):
        self.pieces, self.at = PIECE.findall(" ".join(tex.split())), 0

    def next(self) -> str:
        """Return the next piece; an empty one at the end."""
        self.at += 1
        return self.pieces[self.at - 1] if self.at <= len(self.pieces) else ""

    def row(self, *ends: str) -> Part:
        """Read parts up to one of these pieces, or up to the end."""
        row = Part("row")
        while (piece := self.next()) and piece not in ends:
            self.add(row, piece)
        return row

    def add(self, row: Part, piece: str) -> None:
        """Add the part that begins with a piece to a row; `^` and `_` take the last part."""
        if piece in ("^", "_") and row.parts:
            kind, base = "up" if piece == "^" else "down", row.parts.pop()
            row.parts.append(Part(kind, "", [base, self.one()]))
        else:
            row.parts.append(self.part(piece))

    def one(self) -> Part:
        """Read one argument: a group in braces, or a single part."""
        piece = self.next()
        while piece.isspace():
            piece = self.next()
        return self.part(piece)

    def part(self, piece: str) -> Part:
        """Return the part that begins with a piece."""
        if piece == "{":
            return self.row("}")
        if piece.startswith("\\begin"):
            return self.table()
        if not piece.startswith("\\"):
            return Part(kind_of(piece), piece.replace("-", "−") if piece == "-" else piece)
        name = piece[1:]
        if name in ("frac", "sqrt"):
            return Part(name, "", [self.one() for _ in range(2 if name == "frac" else 1)])
        if name in ("left", "right"):  # a bracket as high as its content
            return Part("tall", SYMBOLS.get(self.next().lstrip("\\"), self.pieces[self.at - 1]))
        if name in WORDS:
            return Part("words", plain(self.one()))
        if name in SPACES or name in UNMARKED:
            return Part("space", SPACES.get(name, ""))
        return Part(kind_of(SYMBOLS.get(name, name)), SYMBOLS.get(name, name))

    def table(self) -> Part:
        """Read the content of `\\begin{…}` and `\\end{…}`: rows, each of them a row of cells."""
        table, piece = Part("table"), "\\\\"
        while piece == "\\\\":
            cells = [Part("row")]
            while (piece := self.next()) not in ("\\\\", "") and not piece.startswith("\\end"):
                if piece == "&":
                    cells.append(Part("row"))
                else:
                    self.add(cells[-1], piece)
            table.parts.append(Part("row", "", cells))
        return table


def kind_of(text: str) -> str:
    """Return the kind: `number`, `name` (one letter), `words` (several), `space` or `sign`."""
    if text.isspace() or not text:
        return "space"
    if text[0].isdigit():
        return "number"
    if text == "∞":
        return "name"
    if text.isalpha() and text not in "∑∏∂":
        return "name" if len(text) == 1 else "words"
    return "sign"


def unknown_commands(lesson: str) -> list[str]:
    r"""Return the commands in a lesson's formulas that this module cannot write.

    >>> unknown_commands(r"so $\beta \maps x$, in the folder C:\maps")
    ['\\maps']
    """
    formulas = ("".join(map(str, found)) for found in FORMULA.findall(lesson))
    said = {piece for formula in formulas for piece in PIECE.findall(formula)}
    known = SYMBOLS.keys() | SPACES.keys() | WORDS | UNMARKED | NAMED | KNOWN
    names = {piece for piece in said if re.fullmatch(r"\\[a-zA-Z]+", piece)}
    return sorted(name for name in names if name[1:] not in known)


def plain(part: Part) -> str:
    r"""Write a part as plain text.

    >>> plain(Reader(r"\frac{e^{x_j}}{\sum_k e^{x_k}}").row())
    'e^(x_j) / ∑_k e^(x_k)'
    >>> plain(Reader(r"x Y^{\top} / \sqrt{n_x}, \; n^2").row())
    'x Yᵀ / √n_x,   n²'
    """
    return PLAIN.get(part.kind, lambda part: part.text)(part)


def plain_row(part: Part) -> str:
    return "".join(map(plain, part.parts))


def plain_fraction(part: Part) -> str:
    above, below = map(in_brackets, part.parts)
    return f"{above} / {below}"


def plain_root(part: Part) -> str:
    return "√" + closed(plain(part.parts[0]), NAMES)


def plain_up(part: Part) -> str:
    base, up = map(plain, part.parts)
    if up and all(sign in RAISED for sign in up):
        return base + "".join(RAISED[sign] for sign in up)
    return f"{base}^{closed(up, ONE_WORD)}"


def plain_down(part: Part) -> str:
    base, down = map(plain, part.parts)
    return f"{base}_{closed(down, NAMES)}"


def plain_table(part: Part) -> str:
    rows = [" for ".join(plain(cell).strip() for cell in row.parts) for row in part.parts]
    return "{ " + "; ".join(rows) + " }"


def in_brackets(part: Part) -> str:
    """Return a numerator or denominator as text, in brackets unless it is one term or one sum."""
    text = plain(part).strip()
    return text if text.startswith("∑") else closed(text, r"[^\s()/]+|[^\s()/]*\([^()]*\)")


def closed(text: str, bare: str) -> str:
    """Put a text in brackets, unless it matches the pattern `bare` from start to end."""
    return text if re.fullmatch(bare, text) else f"({text})"


PLAIN: dict[str, Callable[[Part], str]] = {
    "row": plain_row,
    "frac": plain_fraction,
    "sqrt": plain_root,
    "up": plain_up,
    "down": plain_down,
    "table": plain_table,
}


def mathml(part: Part) -> str:
    r"""Write a part as MathML.

    >>> mathml(Reader(r"\sqrt{n_x}").row())
    '<mrow><msqrt><mrow><msub><mi>n</mi><mi>x</mi></msub></mrow></msqrt></mrow>'
    """
    if part.kind == "row":
        return f"<mrow>{mathml_row(part)}</mrow>"
    if part.kind in SCRIPTS:
        return mathml_scripts(part)
    inner = "".join(map(mathml, part.parts))
    if part.kind == "space":
        return f'<mspace width="{len(part.text) / 3:.2g}em"/>' if len(part.text) > 1 else ""
    if part.kind == "table":
        rows = ("".join(f"<mtd>{mathml(cell)}</mtd>" for cell in row.parts) for row in part.parts)
        table = "".join(f"<mtr>{row}</mtr>" for row in rows)
        return f'<mrow><mo>{{</mo><mtable columnalign="left">{table}</mtable></mrow>'
    if part.kind == "words":  # a browser trims blanks at both ends
        words = re.sub(r"^\s|\s$", "\u00a0", part.text)
        return f'<mi mathvariant="normal">{html.escape(words)}</mi>'
    tag = {"frac": "mfrac", "sqrt": "msqrt"}
    leaf = {"number": "mn", "name": "mi", "sign": "mo", "tall": "mo"}
    if part.kind == "sign" and part.text in BRACKETS:
        return f'<mo stretchy="false">{part.text}</mo>'
    if part.kind in leaf:
        return f"<{leaf[part.kind]}>{html.escape(part.text)}</{leaf[part.kind]}>"
    return f"<{tag[part.kind]}>{inner}</{tag[part.kind]}>"


def mathml_row(part: Part) -> str:
    r"""Write the parts of a row. A minus that begins an expression stays close to the next part.

    >>> mathml_row(Reader(r"0, -n").row())
    '<mn>0</mn><mo>,</mo><mo form="prefix">−</mo><mi>n</mi>'
    >>> mathml_row(Reader(r"\cos x").row())
    '<mi mathvariant="normal">cos</mi><mspace width="0.17em"/><mi>x</mi>'
    """
    told, before = [], Part("sign", "(")
    for one in (part for part in part.parts if part.kind != "space" or len(part.text) > 1):
        begins = before.kind in ("sign", "tall") and before.text not in CLOSING
        if base_of(before).text in NAMED and base_of(one).text not in OPENING:
            told.append('<mspace width="0.17em"/>')
        prefix = one.kind == "sign" and one.text in "−±" and begins
        told.append(mathml(one).replace("<mo>", '<mo form="prefix">') if prefix else mathml(one))
        before = one
    return "".join(told)


def base_of(part: Part) -> Part:
    """Return the base of a raised or lowered part; return any other part unchanged."""
    return base_of(part.parts[0]) if part.kind in SCRIPTS else part


def mathml_scripts(part: Part) -> str:
    r"""Write a superscript, a subscript or both. A sum gets them above and below instead.

    >>> mathml(Reader("n_x^2").row().parts[0])
    '<msubsup><mi>n</mi><mi>x</mi><mn>2</mn></msubsup>'
    """
    base, scripts = part, {}
    while base.kind in SCRIPTS and base.kind not in scripts:
        scripts[base.kind] = mathml(base.parts[1])
        base = base.parts[0]
    around = base.text in ("∑", "∏") or base.text in ("max", "min")
    tag = "m" + "".join(SCRIPTS[kind][around] for kind in ("down", "up") if kind in scripts)
    inner = "".join(scripts[kind] for kind in ("down", "up") if kind in scripts)
    return f"<{tag}>{mathml(base)}{inner}</{tag}>"


def in_plain_text(lesson: str) -> str:
    r"""Return a lesson with its formulas as plain text; displayed formulas get their own lines.

    >>> in_plain_text(r"Divide by $\sqrt{n_x}$.")
    'Divide by √n_x.'
    """
    return FORMULA.sub(written_plain, lesson)


def written_plain(match: re.Match) -> str:
    if match[2] is not None:
        return " ".join(plain(Reader(match[2]).row()).split())
    text = re.sub(
        r"(?<! )  +(?=\S)",
        lambda gap: gap[0][: 1 if len(gap[0]) < 4 else 4],
        plain(Reader(match[1]).row()).strip(),
    )
    return "\n".join("    " + line.strip() for line in lines_of(text))


def lines_of(formula: str) -> list[str]:
    """Break a long formula before its equals signs."""
    if len(formula) <= WIDEST:
        return [formula]
    first, *more = formula.split(" = ")
    return [first, *(f"= {part}" for part in more)]


def in_mathml(lesson: str, put: Callable[[str, bool], str]) -> str:
    """Replace each formula by the result of `put`, which gets its MathML and if it is displayed."""

    def written(match: re.Match) -> str:
        made = mathml(Reader(match[1] or match[2]).row())
        if match[1] is None:
            return put(f"<math>{made}</math>", False)
        return put(f'<math display="block">{made}</math>', True)

    return FORMULA.sub(written, lesson)
