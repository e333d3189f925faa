"""Relations: one class each, with a name, a sentence, a property test on drawn sizes, a source."""

from .attention import RELATIONS as OF_ATTENTION
from .base import Broken, Relation, Tested, tested
from .blocks import RELATIONS as OF_BLOCKS
from .formula import RELATIONS as OF_FORMULA
from .formula import SPECIAL_CASE, Formula, follows_formula
from .modules import RELATIONS as OF_MODULES
from .parts import RELATIONS as PARTS

ATTENTION: tuple[type[Relation], ...] = (*OF_ATTENTION, *OF_FORMULA, *OF_BLOCKS, *OF_MODULES)

__all__ = [
    "ATTENTION", "PARTS", "SPECIAL_CASE", "Broken", "Formula", "Relation", "Tested",
    "follows_formula", "tested",
]  # fmt: skip
