"""Submitted weights are graded in the graders' own model, whatever the file contains."""

import json
import re
import runpy
from io import BytesIO

import pytest
import torch
from safetensors.torch import load, load_file, save

from exercises.commands.parts.own_code import own_gpt
from exercises.commands.parts.texts import read_text

from ..answers.reader import solution
from ..support import ROOT, CompanionFile, Judge, Project, Verdict, missing

MODELS = runpy.run_path(str(ROOT / "benchmarks" / "trained_models.py"))
CHECKS, loss_of = MODELS["CHECKS"], MODELS["CHECKS"]["loss_at_the_end"]
GPT = "ch6_small_gpt"
NAME, FILE = "trained_loss", "my_model.safetensors"
OWN_WORK, MOST = 3, 10  # points for the function alone, and with the weights


@pytest.fixture(scope="module")
def trained(project: Project):
    """The file that a right answer carries, made by `tensorgrade train`."""
    (file,) = project.beside(GPT)
    return file.content


@pytest.fixture
def judged(judge: Judge, monkeypatch):
    """The verdict on trained_loss with a file beside the solution, or beside another text."""

    def judged(beside: CompanionFile, text: str = solution(GPT)) -> Verdict:
        monkeypatch.setattr(Project, "beside", lambda project, chapter: (beside,))
        return judge(GPT, NAME, text)

    return judged


def file_of(tensors: dict) -> bytes:
    return save({name: tensor.contiguous() for name, tensor in tensors.items()})


def changed(trained: bytes, **changes) -> bytes:
    """The file with some tensors as functions make them; without those that become None."""
    tensors = load(trained)
    for name, change in changes.items():
        tensors[name.replace("__", ".")] = change(tensors[name.replace("__", ".")])
    return file_of({name: tensor for name, tensor in tensors.items() if tensor is not None})


def test_the_graders_model_is_the_solutions(trained):
    """Chapter 6's solution with chapter 4's attention gives the same, whatever the weights."""
    gpt, _ = own_gpt(ROOT / "solutions")
    ids = torch.randint(0, 65, (3, 64), generator=torch.Generator().manual_seed(1))
    torch.manual_seed(2)
    for weights in (load(trained), gpt.SmallGPT(65, 64, 64, 4, 2).state_dict()):
        model = gpt.SmallGPT(65, 64, 64, 4, 2).eval()
        model.load_state_dict(weights)
        with torch.no_grad():
            for length in (64, 5, 1):
                wanted = model(ids[:, :length])[:, -1]
                found = CHECKS["last_logits"](weights, ids[:, :length])
                assert torch.allclose(found, wanted, atol=1e-4)


@pytest.mark.slow
def test_trained_weights_earn_all_points_in_any_dtype_without_masks_and_with_more(judged, trained):
    tensors = load(trained)
    without = {name: t for name, t in tensors.items() if "mask" not in name}
    for content in (trained, file_of(without), file_of(without | {"more": torch.ones(3)})):
        found = judged(CompanionFile(FILE, content))
        assert (found.points, found.status) == (MOST, "passed"), found
    for kind in (torch.float64, torch.bfloat16):
        other = {n: t.to(kind) if t.is_floating_point() else t for n, t in tensors.items()}
        found = judged(CompanionFile(FILE, file_of(other)))
        assert found.points >= MOST - 1, "rounded to eight bits the own model may be off"


def pickled(tensors) -> bytes:
    file = BytesIO()
    torch.save(tensors, file)
    return file.getvalue()


def broken(trained: bytes) -> dict[str, tuple[CompanionFile, str]]:
    """Files of which nothing can be made, each with a part of the sentence on it."""
    tensors = load(trained)
    looking = load_file(ROOT / "exercises" / "weights" / "looking.safetensors")
    stand_in = {
        name.replace("W_query", "projection"): tensor
        for name, tensor in tensors.items()
        if not any(part in name for part in ("W_key", "W_value", "out_proj", "mask"))
    }
    many = {str(number): torch.ones(1) for number in range(300)}
    header = json.dumps(
        {"head.weight": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 4]}}
    )
    lying = len(header).to_bytes(8, "little") + header.encode() + bytes(4)
    contents = {
        "empty": (b"", "is empty"),
        "text": (b"these are my weights\n", "is not a valid safetensors file"),
        "a pickle": (pickled(tensors), "is not a valid safetensors file"),
        "cut off": (trained[:-1000], "is not a valid safetensors file"),
        "a header that lies": (lying, "is not a valid safetensors file"),
        "no tensors": (save({}), "it has no `token_embedding.weight`"),
        "many tensors": (file_of(many), "holds more than 200 tensors"),
        "a name without end": (
            file_of({"ab_" * 100_000: torch.ones(2)} | tensors),
            "holds a tensor with a name of more than 300 characters",
        ),
        "numbers of 8 bits": (
            file_of({"x": torch.ones(2).to(torch.float8_e4m3fn)}),
            "holds numbers of a kind that no answer needs: torch.float8",
        ),
        "another model's": (file_of(looking), "`token_embedding.weight` has shape (97, 72)"),
        "the stand-in's": (file_of(stand_in), "trained with the substitute for your MultiHeadA"),
        "NaN": (
            changed(trained, head__weight=lambda t: t.index_fill(0, torch.tensor(3), torch.nan)),
            "`head.weight` contains NaN or infinite numbers",
        ),
        "whole numbers": (
            changed(trained, final_norm__scale=lambda t: t.long()),
            "`final_norm.scale` does not contain floating-point numbers",
        ),
        "one missing": (
            changed(trained, head__weight=lambda t: None),
            "it has no `head.weight`",
        ),
    }
    files = {
        name: (CompanionFile(FILE, content, "" if content else f"{FILE} is empty."), said)
        for name, (content, said) in contents.items()
    }
    return files | {"missing": (missing(FILE), "`tensorgrade train` creates it")}


@pytest.mark.slow
def test_what_are_no_weights_costs_what_weights_earn_and_is_reported(judged, trained):
    for name, (beside, said) in broken(trained).items():
        found = judged(beside)
        assert (found.points, found.status) == (OWN_WORK, "partial"), (name, found)
        one = found.message.removesuffix(" Are these the weights of another model?")
        assert said in one and one.count(". ") == 0, (name, found.message)
        assert (found.mistakes, found.line) == ((), None), name


@pytest.mark.slow
def test_untrained_and_mixed_up_weights_have_learned_nothing(judged, trained):
    tensors, chance = load(trained), torch.Generator().manual_seed(1)
    tables = [name for name, t in tensors.items() if t.dim() == 2 and "mask" not in name]
    untrained = {name: 0.02 * torch.randn(tensors[name].shape, generator=chance) for name in tables}
    others = {
        "untrained": file_of(tensors | untrained),
        "the tokens in another order": changed(
            trained, token_embedding__weight=lambda t: t.flip(0)
        ),
        "blocks in reverse": file_of({other_block(name): t for name, t in tensors.items()}),
    }
    for name, content in others.items():
        found = judged(CompanionFile(FILE, content))
        assert found.points == OWN_WORK + 1, (name, found)  # the own model agrees
        assert "has a loss of" in found.message, (name, found)


def other_block(name: str) -> str:
    """Return a weight's name in the other one of two blocks."""
    place = {"blocks.0.": "blocks.1.", "blocks.1.": "blocks.0."}
    return place.get(name[:9], name[:9]) + name[9:]


@pytest.mark.slow
def test_a_model_that_sees_what_comes_earns_nothing(judged, tmp_path):
    """It is good by its own loss."""
    MODELS["train"]("no mask", 0, 300, tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    found = judged(CompanionFile(FILE, path.read_bytes()))
    assert found.points == OWN_WORK + 1 and "it must be below 2.1" in found.message


@pytest.mark.slow
def test_foreign_names_in_a_file_are_not_held_against_the_code(judged, trained):
    """The file counts as meant; the own model, whose names are right, cannot take it."""
    tensors = {name.replace("layers.0", "layers.9"): t for name, t in load(trained).items()}
    found = judged(CompanionFile(FILE, file_of(tensors)))
    assert found.points == MOST - 1 and "layers.9" not in found.message
    assert "your own model and the graders' model have different losses" in found.message


def kit_cut(tensors: dict, kit: dict) -> dict:
    """The kit's numbers in the shapes of these tensors."""
    cut = (
        kit[name][tuple(map(slice, t.shape))] if name in kit else t for name, t in tensors.items()
    )
    return dict(zip(tensors, cut, strict=True))


def permuted(tensors: dict, chance) -> dict:
    return {
        n: t[torch.randperm(len(t), generator=chance)] if t.dim() < 2 else shuffled(t, chance)
        for n, t in tensors.items()
    }


def shuffled(table: torch.Tensor, chance) -> torch.Tensor:
    rows, columns = (torch.randperm(size, generator=chance) for size in table.shape)
    return table[rows][:, columns]


HIDING = {
    "cut": lambda t, chance: t,
    "permuted": permuted,
    "scaled": lambda t, chance: {n: -3.7 * x if "mask" not in n else x for n, x in t.items()},
    "scaled by row": lambda t, chance: {n: scaled(x, chance, 0) for n, x in t.items()},
    "scaled by column": lambda t, chance: {n: scaled(x, chance, 1) for n, x in t.items()},
    "permuted and scaled": lambda t, chance: {
        n: scaled(x, chance, 0) for n, x in permuted(t, chance).items()
    },
    "in halves": lambda t, chance: {n: x.half() for n, x in t.items()},
    "half of it": lambda t, chance: {
        n: torch.randn(x.shape) if "attention" in n else x for n, x in t.items()
    },
}


def scaled(tensor: torch.Tensor, chance, dim: int) -> torch.Tensor:
    """Each row, or each column, by a factor of its own."""
    if tensor.dim() < 2 or not tensor.is_floating_point():
        return tensor
    sizes = [1, 1]
    sizes[dim] = tensor.shape[dim]
    return tensor * (0.5 + 2 * torch.rand(sizes, generator=chance))


@pytest.fixture(scope="module")
def kit():
    return load_file(ROOT / "exercises" / "weights" / "looking.safetensors")


@pytest.mark.slow
def test_what_comes_with_the_course_knows_no_english_and_is_wider(trained, kit):
    """Cut to the model that is asked for, and to the characters of Shakespeare."""
    assert kit["token_embedding.weight"].shape[1] > 64
    order = ["\n", *map(chr, range(32, 127))]
    text = read_text("shakespeare")
    rows = [order.index(c) for c in sorted(set(text))]
    tables = ("token_embedding.weight", "head.weight")
    cut = kit_cut(load(trained), kit | {name: kit[name][rows] for name in tables})
    assert loss_of(cut, MODELS["hidden_windows"](0)) > 3


def test_the_weights_of_the_kit_are_known_however_they_are_cut(trained, kit):
    for way in HIDING.values():
        hidden = way(kit_cut(load(trained), kit), torch.Generator().manual_seed(3))
        assert CHECKS["of_the_kit"](hidden) == "looking.safetensors"


@pytest.mark.slow
def test_other_weights_are_not_taken_for_those_of_the_kit(trained):
    """Trained ones, and 50 files of random, even, huge, tiny or broken numbers."""
    tensors, chance = load(trained), torch.Generator().manual_seed(4)
    assert CHECKS["of_the_kit"](tensors) == ""
    kinds = (
        lambda t: torch.randn(t.shape, generator=chance),
        lambda t: torch.rand(t.shape, generator=chance),
        lambda t: torch.zeros(t.shape),
        lambda t: torch.full(t.shape, 2.5),
        lambda t: torch.randint(-3, 3, t.shape, generator=chance).float(),
        lambda t: torch.randn(t.shape, generator=chance) * 1e38,
        lambda t: torch.randn(t.shape, generator=chance) * 1e-42,
        lambda t: torch.full(t.shape, torch.nan),
        lambda t: torch.full(t.shape, torch.inf),
        lambda t: t * (torch.rand(t.shape, generator=chance) < 0.1),
    )
    for number in range(50):
        kind = kinds[number % len(kinds)]
        assert CHECKS["of_the_kit"]({name: kind(t) for name, t in tensors.items()}) == ""


@pytest.mark.slow
def test_the_weights_of_the_kit_earn_nothing_and_it_is_said(judged, trained, kit):
    for way in ("cut", "permuted and scaled"):
        tensors = HIDING[way](kit_cut(load(trained), kit), torch.Generator().manual_seed(5))
        found = judged(CompanionFile(FILE, file_of(tensors)))
        assert found.points == OWN_WORK, found
        assert "contains the numbers of looking.safetensors, which comes with the" in found.message


IN_BOTH = {  # a learner's own names, for those of the stub
    "token_embedding": "tok_emb",
    "position_embedding": "pos_emb",
    "blocks": "trf_blocks",
    "attention": "att",
    "feed_forward": "ff",
    "scale": "gamma",
    "shift": "beta",
    "norm1": "before_attention",
    "norm2": "before_ff",
    "final_norm": "last",
    "head": "out",
}
PROJECTIONS = {"W_query": "q_proj", "W_key": "k_proj", "W_value": "v_proj", "out_proj": "o"}


EACH = [IN_BOTH, *({name: IN_BOTH[name]} for name in IN_BOTH)]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EACH)))
def test_weights_under_a_learners_own_names_count_as_meant(judged, trained, number: int):
    """Files are sorted by name, so the order says nothing. Every other one has masks of floats."""
    names, text, tensors = EACH[number], solution(GPT), load(trained)
    for asked, own in names.items():
        text = re.sub(rf"\bself\.{asked}\b", f"self.{own}", text)
    assert text != solution(GPT)
    for asked, own in (names | (PROJECTIONS if number % 3 == 0 else {})).items():
        tensors = {re.sub(rf"\b{asked}\b", own, name): t for name, t in tensors.items()}
    if number % 2:
        tensors = {n: t.float() if t.dtype == torch.bool else t for n, t in tensors.items()}
    found = judged(CompanionFile(FILE, file_of(tensors)), text)
    assert found.points >= MOST - 1 and "weights" not in found.message, found


@pytest.mark.slow
def test_an_own_model_that_makes_something_else_of_the_weights_loses_that_part(judged, trained):
    for right, wrong in (
        ("+ self.position_embedding(places)", ""),
        ("return self.head(self.final_norm(x))", "return self.head(x)"),
    ):
        assert solution(GPT).count(right) == 1
        found = judged(CompanionFile(FILE, trained), solution(GPT).replace(right, wrong))
        assert found.points == MOST - 1, found


@pytest.mark.slow
def test_weights_count_whatever_the_function_gives(judged, trained):
    before = solution(GPT).partition("def trained_loss(")[0]
    found = judged(CompanionFile(FILE, trained), f"{before}def {NAME}(model, windows):\n    pass\n")
    assert found.points == 6, found


@pytest.mark.slow
def test_the_bound_is_between_models_that_count_pairs_and_trained_ones(trained):
    """In each term, a bigram model is well above the bound, and a trained one well below."""
    for term in range(2):
        windows = MODELS["hidden_windows"](term)
        assert windows.shape == (512, 65)
        assert loss_of(load(trained), windows) < 2.0
        assert 2.35 < MODELS["counted"](1, windows) < 2.65  # the lesson says 2.50
    assert "must be below 2.1" in solution(GPT)


@pytest.mark.slow
def test_a_known_mistake_beside_no_weights_costs_no_more_and_both_are_reported(judged, trained):
    right = "model.train(training)"
    assert solution(GPT).count(right) == 1
    wrong = solution(GPT).replace(right, "model.train()")
    alone, without = judged(CompanionFile(FILE, trained), wrong), judged(missing(FILE), wrong)
    assert alone.mistakes == without.mistakes == ("always_back_to_training",)
    assert alone.points == pytest.approx(0.9 * MOST)  # the least that a mistake costs
    assert without.points == pytest.approx(OWN_WORK - 0.5)  # the test that it fails
    assert "it was in evaluation before. There is no my_model.safetensors" in without.message
    assert "my_model" not in alone.message
