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
BLOCK = ' display="block"'
ONE_WORD, NAMES = r"[^_\W]+", r"[\w,]+"  # need no brackets after `^`; after `_`, `√`
NAMED = set("log ln exp sin cos tan max min arg det dim Pr".split())  # written with their own names
KNOWN = {"frac", "sqrt", "left", "right", "begin", "end"}
UNMARKED = {"big", "Big", "displaystyle", "limits"}
BRACKETS = "()[]{}|‖⌊⌋⌈⌉⟨⟩"
CLOSING = (")", "]", "}", "|", "‖", "⌋", "⌉", "⟩")
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
    """Return the element of one piece: a number, a name, several letters, or a sign."""
    if text[:1].isdigit():
        return element("mn", text=text)
    if text in NAMED:
        return element("mo", text=text, lspace="0", rspace="0.17em")
    if text.isalpha() or text == "∞":
        return element("mi", text=text, **({"mathvariant": "normal"} if text[1:] else {}))
    return element("mo", text=text, **({"stretchy": "false"} if text in BRACKETS else {}))


class Reader:
    """A parser that turns TeX into the elements of MathML. A space is text after an element."""

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
        space = piece if piece.isspace() else SPACES.get(piece[1:] if piece[0] == "\\" else "")
        if piece in ("^", "_") and len(row):
            row[-1] = with_script(row[-1], piece, self.one())
        elif space is None:
            before = next((one for one in reversed(row) if one.tag != "mspace"), row)
            row.append(new := self.part(piece))
            # A minus that begins an expression stays close to the next element.
            if new.text in ("−", "±") and before.tag == "mo" and before.text not in CLOSING:
                new.attrib["form"] = "prefix"
        else:
            if len(space) > 1:
                row.append(element("mspace", width="1em"))
            if len(row):
                row[-1].tail = (row[-1].tail or "") + space
            else:
                row.text = space

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
        if name in UNMARKED:
            return element("mspace")
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
        spaced = (text + (one.tail or "") for text, one in zip(inner, part, strict=True))
        return (part.text or "").replace("\u00a0", " ") + "".join(spaced)
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
    # A long formula continues below, before each equals sign.
    first, *more = text.split(" = ") if len(text) > WIDEST else [text]
    return "\n".join(f"    {line.strip()}" for line in (first, *(f"= {part}" for part in more)))


def in_mathml(lesson: str, put: Callable[[str], str]) -> str:
    """Replace each formula by the result of `put`, which gets its MathML."""

    def written(match: re.Match) -> str:
        made = tostring(Reader(match[1] or match[2]).row(), encoding="unicode")
        return put(f"<math{BLOCK if match[1] else ''}>{made}</math>")

    return FORMULA.sub(written, lesson)
