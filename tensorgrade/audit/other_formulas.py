"""Names in code that show that it follows another formula on purpose."""

import ast
import re

from .subject import Subject

# Names in code of attention that does not follow the formula, on purpose.
OTHER_FORMULAS = re.compile(
    r"(^|_)(norm|normalize|rms_norm|layer_norm|cosine\w*|relu|elu|phi|kernel\w*|linformer|temperature|tau|gates?|gating"
    r"|sinks?|null|memory_key|talking|topk|entmax|sparsemax|soft_?cap|tanh|bias_k|zero_attn|mix_heads|lambda\w*)(_|$)"
)


# The same in the name of the definition.
OTHER_ATTENTION = re.compile(
    r"linear|linformer|performer|nystrom|kernel|sparse|local|axial|focal|fast|efficient|agent|cosine"
    r"|relative|differential|gated|retention|hyper|lambda",
    re.I,
)


def own_formula(subject: Subject) -> str:
    """Return a name in the code that shows another formula, or an empty text."""
    if OTHER_ATTENTION.search(subject.name):
        return subject.name
    return next(filter(OTHER_FORMULAS.search, map(snake, attributes_read(subject.text))), "")


POSITIONS = re.compile(
    r"(^|_)(rope|rotary|rotate|alibi|slopes?|windows?|local|relative|rel|freqs?|inv_freq|pe|pos|positions?"
    r"|positional\w*|position\w*|band|bucket\w*|cos|sin|distance\w*)(_|$)"
)


def knows_positions(subject: Subject) -> bool:
    """Return True if names in the code, or its parameters, show positions or windows."""
    names = (snake(name) for name in attributes_read(subject.text))
    return any(map(POSITIONS.search, names)) or subject.has("positions")


def snake(name: str) -> str:
    """Return a name in small letters with underscores.

    >>> snake("applyRotaryEmb")
    'apply_rotary_emb'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def attributes_read(text: str) -> set[str]:
    """Return the names, attributes and keywords of a definition's code, without its docstrings."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found
