"""Torch's compiler takes seconds to import: a warm process has it once a file speaks of it."""

from pathlib import Path

import pytest

from tensorgrade.attempts.in_child import InChild
from tensorgrade.course import Limits
from tensorgrade.isolation.warm_process import WarmProcess
from tensorgrade.sources.submission import Source, Submission, speaks_of_compiler
from tensorgrade.sources.submitted_files import SubmittedFiles

ROOT = Path(__file__).parents[2]
# In words of which none makes anybody import it.
HAS_IT = """
import sys
if "torch._dyn" + "amo.config" in sys.modules:
    def it_is_there(): pass
"""
COMPILED = "import torch\ndouble = torch.compile(lambda x: 2 * x, backend='eager')\n"
COMPILED += "assert double(torch.ones(2)).tolist() == [2, 2]\n"


def there(warm, text: str = "", handed_in: bool = False) -> bool:
    """Return True if a file that loads silently finds it imported at its end."""
    text += HAS_IT
    source = (
        SubmittedFiles("ada", "a", "a.py", text.encode()) if handed_in else Source(text, "a.py")
    )
    child = InChild(Submission("a", source), warm, warm.limits)
    loaded = child.load()
    child.close()
    assert (loaded.status, loaded.problems) == ("loaded", ())
    return "it_is_there" in loaded.names


@pytest.mark.slow
@pytest.mark.parametrize("handed_in", [True, False])
def test_it_is_there_from_the_first_file_on_that_speaks_of_it(handed_in):
    with WarmProcess(Limits()) as warm:
        assert [there(warm), there(warm, COMPILED, handed_in), there(warm)] == [False, True, True]
        assert warm.starts == 1


@pytest.mark.slow
def test_a_process_in_place_of_one_that_died_has_it_as_well():
    with WarmProcess(Limits()) as warm:
        assert there(warm, COMPILED)
        warm.process.kill()
        warm.process.wait()
        assert there(warm, "# compile\n") and warm.starts == 2


@pytest.mark.slow
def test_a_file_that_asks_for_it_in_other_words_is_as_right():
    with WarmProcess(Limits()) as warm:
        asked = COMPILED.replace("torch.compile", "getattr(torch, 'comp' + 'ile')")
        assert [there(warm, asked), there(warm)] == [True, False]


def test_no_file_that_learners_get_speaks_of_it(project):
    """Otherwise a class would wait for an import that it does not need."""
    kit = [*ROOT.glob("exercises/ch?_*.py"), *ROOT.glob("release/*/*.ipynb")]
    solved = [*ROOT.glob("solutions/ch?_*.py"), *ROOT.glob("source/*/*.ipynb")]
    assert len(kit) == len(solved) == 2 * len(project.course.chapters)
    assert not [path for path in (*kit, *solved) if speaks_of_compiler(path.read_bytes())]


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("from torch.nn import functional as F", False),
        ("import torch.nn.functional as F; torch.functional.einsum", False),
        ("from torch import func", True),
        ("from torch import func\nfrom torch.nn import functional as F", True),
        ("torch.func.grad(f)", True),
        ("from torch.func import grad", True),
        ("@torch.compile", True),
        ("torch.vmap(f)", True),
    ],
)
def test_what_speaks_of_it(line, speaks):
    assert speaks_of_compiler(line.encode()) == speaks
