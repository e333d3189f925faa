"""Relations: one class each, with a name, a sentence, a property test on drawn sizes, a source."""

from .attention import RELATIONS as OF_ATTENTION
from .base import Broken, Relation, Tested, result_of, tested
from .blocks import RELATIONS as OF_BLOCKS
from .formula import RELATIONS as OF_FORMULA
from .formula import Formula, follows_formula
from .modules import RELATIONS as OF_MODULES
from .parts import RELATIONS as PARTS

ATTENTION: tuple[type[Relation], ...] = (*OF_ATTENTION, *OF_FORMULA, *OF_BLOCKS, *OF_MODULES)

__all__ = [
    "ATTENTION", "PARTS", "Broken", "Formula", "Relation", "Tested", "follows_formula",
    "result_of", "tested",
]  # fmt: skip
