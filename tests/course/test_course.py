"""The course is the one that was agreed on: names, signatures, points, known mistakes."""

import ast

import pytest

from tensorgrade.author import Sizes
from tensorgrade.author.mistakes import every_mistake, known
from tensorgrade.course import Check

from ..support import ROOT, Project

SIGNATURES = {
    "attention_scores": "query inputs",
    "softmax_naive": "x",
    "softmax": "x dim=-1",
    "context_vector": "query inputs",
    "simplified_self_attention": "inputs",
    "bug_simplified_self_attention": "inputs",
    "project_qkv": "x W_query W_key W_value",
    "attention_weights": "queries keys",
    "scaled_dot_product_attention": "queries keys values",
    "SelfAttention_v1": "d_in d_out",
    "SelfAttention_v2": "d_in d_out qkv_bias=False",
    "copy_v2_into_v1": "v2 v1",
    "bug_scaled_dot_product_attention": "queries keys values",
    "causal_mask": "context_length",
    "mask_and_renormalize": "attn_weights",
    "causal_attention_weights": "attn_scores d_k",
    "inverted_dropout": "attn_weights p training=True",
    "CausalAttention": "d_in d_out context_length dropout qkv_bias=False",
    "bug_mask_and_renormalize": "attn_weights",
    "bug_inverted_dropout": "attn_weights p training=True",
    "MultiHeadAttentionWrapper": "d_in d_out context_length dropout num_heads qkv_bias=False",
    "split_heads": "x num_heads",
    "merge_heads": "x",
    "trace_shapes": "b num_tokens d_in d_out num_heads",
    "MultiHeadAttention": "d_in d_out context_length dropout num_heads qkv_bias=False",
    "bug_merge_heads": "x",
    "padding_mask": "lengths num_tokens",
    "CrossAttention": "d_in d_context d_out num_heads qkv_bias=False",
    "sinusoidal_positions": "num_tokens d",
    "rotate": "x positions base=10000.0",
    "GroupedQueryAttention": (
        "d_in d_out context_length dropout num_heads num_kv_heads qkv_bias=False"
    ),
    "CachedAttention": "d_in d_out context_length num_heads qkv_bias=False",
    "sliding_window_mask": "num_tokens window",
    "append_to_window": "keys values new_keys new_values window",
    "online_softmax_attention": "queries keys values block_size",
    "LatentAttention": "d_in d_out d_latent context_length num_heads",
    "bug_sinusoidal_positions": "num_tokens d",
    "bug_rotate": "x positions base=10000.0",
    "LayerNorm": "d eps=1e-05",
    "FeedForward": "d",
    "TransformerBlock": "d context_length dropout num_heads",
    "SmallGPT": "vocab_size context_length d num_heads num_layers dropout=0.0",
    "batches": "ids context_length batch_size generator",
    "cross_entropy": "logits targets",
    "train_step": "model optimizer inputs targets",
    "generate": "model ids max_new_tokens temperature=1.0 top_k=None generator=None",
    "trained_loss": "model windows",
    "BugLayerNorm": "d eps=1e-05",
    "bug_batches": "ids context_length batch_size generator",
}
GIVEN = {  # no exercises
    "WithCache": "attention",
    "with_cache": "model num_heads",
    "generate_with_cache": "model ids max_new_tokens num_heads",
}
MODULES = {
    "SelfAttention_v1",
    "SelfAttention_v2",
    "CausalAttention",
    "MultiHeadAttentionWrapper",
    "MultiHeadAttention",
}


def test_the_exercises_of_six_chapters(project: Project):
    exercises = [one for chapter in project.course.chapters for one in chapter.exercises]
    assert [one.name for one in exercises] == list(SIGNATURES)
    assert len(project.course.chapters) == 6
    assert [one.name for one in exercises if one.points != int(one.points)] == []


@pytest.mark.parametrize("folder", ["solutions", "exercises"])
def test_signatures(folder: str):
    found = {}
    for path in sorted((ROOT / folder).glob("ch[0-9]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = signature(node.args)
            elif isinstance(node, ast.ClassDef):
                init = next(n for n in node.body if getattr(n, "name", "") == "__init__")
                found[node.name] = signature(init.args)
    assert found == SIGNATURES | GIVEN


def signature(arguments: ast.arguments) -> str:
    """Return parameter names with their defaults, `self` left out."""
    names = [a.arg for a in arguments.args if a.arg != "self"]
    defaults = [ast.unparse(d) for d in arguments.defaults]
    plain = names[: len(names) - len(defaults)]
    optional = zip(names[len(plain) :], defaults, strict=True)
    return " ".join(plain + [f"{name}={default}" for name, default in optional])


@pytest.mark.slow
def test_no_size_that_graders_draw_is_in_a_public_case(project: Project):
    for chapter in project.course.chapters:
        for name in (one.name for one in chapter.exercises):
            cases = project.grader(chapter.name, name).cases
            hidden = [{*sizes_of(cases(Sizes(name, True, seed)), name)} for seed in (1, 2, 3)]
            drawn = set.union(*hidden) - set.intersection(*hidden)
            assert not [
                one for one in drawn & {*sizes_of(cases(Sizes(name)), name)} if one[-1] > 1
            ], name


def sizes_of(cases, name: str):
    """Yield an argument, an axis and a size for all that calls pass; the axis of an int is -1."""
    for case in (one.recorded(name, 1) for one in cases):
        for key, tensor in case.tensors.items():
            if key.count(".") == 1:  # others are weights of layers
                yield from ((key.split(".")[1], *one) for one in enumerate(tensor.shape))
        for key, value in (one for call in case.calls for one in call.arguments.items()):
            if type(value) is int:
                yield key, -1, value


def test_every_exercise_has_many_known_mistakes_with_short_messages(project: Project):
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            found = known(project, exercise.name)
            if exercise.like:  # known mistakes, in other words
                assert found == []
                continue
            assert len(found) >= 10, exercise.name
            assert len(found) >= 12 or exercise.name not in MODULES, exercise.name
    for one in every_mistake(project):
        assert one.message.endswith((".", "?")) and 15 < len(one.message) < 240, one.name


def test_deductions_are_within_bounds(project: Project):
    prices = [one.price for one in every_mistake(project) if one.price is not None]
    assert prices.count(1) <= 6
    assert all(price == 1 or 0.1 <= price <= 0.5 for price in prices), prices


FACTS = {"keeps_inputs", "has_parameters", "has_buffer", "does_not_grow", "refuses"}
FACTS |= {"avoids", "makes_no_table"}


def test_facts_carry_at_most_a_tenth(project: Project):
    """Checks that trust the learner's process are worth little."""
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            points = sum(check.points for check in exercise.checks if rests_on_facts(check))
            assert points <= 0.1 * exercise.points + 1e-9, exercise.name


def rests_on_facts(check: Check) -> bool:
    """Return True if a check looks at facts."""
    names = [call.name for call in check.calls]
    return any(name in FACTS or name.startswith("avoids") for name in names)
