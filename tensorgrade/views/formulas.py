r"""Convert the TeX formulas in a lesson's text to plain text or MathML.

Lessons write `$…$` and `$$…$$`. Notebooks render these automatically. Scripts get plain text.
Pages get MathML, which browsers draw without a network. Only the TeX that lessons use is
supported. An unknown command is written as its name, and a build refuses it.
"""

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element, tostring

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
AROUND = ("∑", "∏", "max", "min")  # their scripts are below and above them
DOWN, UP = ("msub", "munder"), ("msup", "mover")
RAISED = dict(zip("0123456789-+⊤T", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀᵀ", strict=True))


def element(tag: str, *inner: Element, text: str = "", **attributes: str) -> Element:
    """Return an element of MathML with its text or the elements inside."""
    made = Element(tag, attributes)
    made.text = text
    made.extend(inner)
    return made


def leaf(text: str) -> Element:
    """Return the element of one piece: a space, a number, a name, several letters, or a sign."""
    if text.isspace() or not text:
        return element("mspace", text=text)
    if text[0].isdigit():
        return element("mn", text=text)
    if text.isalpha() or text == "∞":
        return element("mi", text=text, **({"mathvariant": "normal"} if text[1:] else {}))
    return element("mo", text=text, **({"stretchy": "false"} if text in BRACKETS else {}))


class Reader:
    """A parser that turns TeX into the elements of MathML. Spaces are still text in them."""

    def __init__(self, tex: str):
        self.pieces, self.at = PIECE.findall(" ".join(tex.split())), 0

    def next(self) -> str:
        """Return the next piece; an empty one at the end."""
        self.at += 1
        return self.pieces[self.at - 1] if self.at <= len(self.pieces) else ""

    def row(self, *ends: str) -> Element:
        """Read elements up to one of these pieces, or up to the end."""
        row = element("mrow")
        while (piece := self.next()) and piece not in ends:
            self.add(row, piece)
        return row

    def add(self, row: Element, piece: str) -> None:
        """Add the element that begins with a piece to a row; `^` and `_` take the last one."""
        if piece in ("^", "_") and len(row):
            row[-1] = with_script(row[-1], piece, self.one())
        else:
            row.append(self.part(piece))

    def one(self) -> Element:
        """Read one argument: a group in braces, or a single element."""
        piece = self.next()
        while piece.isspace():
            piece = self.next()
        return self.part(piece)

    def part(self, piece: str) -> Element:
        """Return the element that begins with a piece."""
        if piece == "{":
            return self.row("}")
        if piece.startswith("\\begin"):
            return self.table()
        if not piece.startswith("\\"):
            return leaf(piece.replace("-", "−"))
        name = piece[1:]
        if name in ("frac", "sqrt"):
            return element(f"m{name}", *(self.one() for _ in range(2 if name == "frac" else 1)))
        if name in ("left", "right"):  # a bracket as high as its content
            bracket = self.next().lstrip("\\")
            return element("mo", text=SYMBOLS.get(bracket, bracket))
        if name in WORDS:  # a browser trims blanks at both ends
            words = re.sub(r"^\s|\s$", "\u00a0", plain(self.one()))
            return element("mi", text=words, mathvariant="normal")
        if name in SPACES or name in UNMARKED:
            return leaf(SPACES.get(name, ""))
        return leaf(SYMBOLS.get(name, name))

    def table(self) -> Element:
        """Read the content of `\\begin{…}` and `\\end{…}`: rows, each of them a row of cells."""
        table, piece = element("mtable", columnalign="left"), "\\\\"
        while piece == "\\\\":
            cells = [element("mrow")]
            while (piece := self.next()) not in ("\\\\", "") and not piece.startswith("\\end"):
                if piece == "&":
                    cells.append(element("mrow"))
                else:
                    self.add(cells[-1], piece)
            table.append(element("mtr", *(element("mtd", cell) for cell in cells)))
        return element("mrow", element("mo", text="{"), table)


def with_script(base: Element, sign: str, script: Element) -> Element:
    """Return an element with a script below (`_`) or above (`^`) it, besides the one it has."""
    scripts = {sign: script}
    if base.tag in (UP if sign == "_" else DOWN):
        base, scripts["^" if sign == "_" else "_"] = base
    names = ("under", "over") if base.text in AROUND else ("sub", "sup")
    tag = "m" + "".join(name for name, one in zip(names, "_^", strict=True) if one in scripts)
    return element(tag, base, *(scripts[one] for one in "_^" if one in scripts))


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


def plain(part: Element) -> str:
    r"""Write an element as plain text.

    >>> plain(Reader(r"\frac{e^{x_j}}{\sum_k e^{x_k}}").row())
    'e^(x_j) / ∑_k e^(x_k)'
    >>> plain(Reader(r"x Y^{\top} / \sqrt{n_x}, \; n^2").row())
    'x Yᵀ / √n_x,   n²'
    """
    if part.tag == "mfrac":
        return " / ".join(map(in_brackets, part))
    if part.tag == "mtable":
        rows = (" for ".join(plain(cell).strip() for cell in row) for row in part)
        return f" {'; '.join(rows)} }}"
    inner = [plain(one) for one in part]
    if part.tag == "msqrt":
        return "√" + closed(inner[0], NAMES)
    if not part.tag.startswith(("msu", "mund", "mov")):
        return (part.text or "").replace("\u00a0", " ") + "".join(inner)
    base, *scripts = inner
    if part.tag not in UP:
        base += f"_{closed(scripts[0], NAMES)}"
    if part.tag in DOWN:
        return base
    if scripts[-1] and all(sign in RAISED for sign in scripts[-1]):
        return base + "".join(RAISED[sign] for sign in scripts[-1])
    return f"{base}^{closed(scripts[-1], ONE_WORD)}"


def in_brackets(part: Element) -> str:
    """Return a numerator or denominator as text, in brackets unless it is one term or one sum."""
    text = plain(part).strip()
    return text if text.startswith("∑") else closed(text, r"[^\s()/]+|[^\s()/]*\([^()]*\)")


def closed(text: str, bare: str) -> str:
    """Put a text in brackets, unless it matches the pattern `bare` from start to end."""
    return text if re.fullmatch(bare, text) else f"({text})"


def mathml(formula: Element) -> str:
    r"""Write a formula as a browser needs it: with wide spaces only, and signs in their place.

    A minus that begins an expression stays close to the next element.

    >>> mathml(Reader(r"0, -n").row())
    '<mrow><mn>0</mn><mo>,</mo><mo form="prefix">−</mo><mi>n</mi></mrow>'
    >>> mathml(Reader(r"\cos \sqrt x").row())[:66]
    '<mrow><mi mathvariant="normal">cos</mi><mspace width="0.17em" /><m'
    """
    for row in list(formula.iter("mrow")):
        told, before = [], element("mo", text="(")
        for one in (o for o in row if o.tag != "mspace" or len(o.text or "") > 1):
            if one.tag == "mspace":
                one = element("mspace", width=f"{len(one.text or '') / 3:.2g}em")
            if base_of(before).text in NAMED and base_of(one).text not in OPENING:
                told.append(element("mspace", width="0.17em"))
            if one.tag == before.tag == "mo" and before.text not in CLOSING:
                one.attrib |= {"form": "prefix"} if one.text in ("−", "±") else {}
            told.append(one)
            before = one
        row[:] = told
    return tostring(formula, encoding="unicode")


def base_of(part: Element) -> Element:
    """Return the base of an element with scripts; return any other one unchanged."""
    return base_of(part[0]) if part.tag.startswith(("msu", "mund", "mov")) else part


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
