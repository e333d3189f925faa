"""The course is the one that was agreed on: names, signatures, points."""

import ast

import pytest

from tensorgrade.grader_files import grader_path, syntax_of
from tensorgrade.judging.course_checks import load_checks

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


def test_the_exercises_of_six_chapters(project):
    names = [e.name for chapter in project.course.chapters for e in chapter.exercises]
    assert names == list(SIGNATURES) and len(project.course.chapters) == 6


@pytest.mark.parametrize("folder", ["solutions", "exercises"])
def test_signatures(project, folder):
    found = {}
    for chapter in project.course.chapters:
        tree = ast.parse((project.root / folder / f"{chapter.name}.py").read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = signature(node.args)
            elif isinstance(node, ast.ClassDef):
                init = next(n for n in node.body if getattr(n, "name", "") == "__init__")
                found[node.name] = signature(init.args)
    assert found == SIGNATURES | GIVEN


def signature(arguments: ast.arguments) -> str:
    """Parameter names with their defaults, `self` left out."""
    names = [a.arg for a in arguments.args if a.arg != "self"]
    defaults = [ast.unparse(d) for d in arguments.defaults]
    plain = names[: len(names) - len(defaults)]
    optional = zip(names[len(plain) :], defaults, strict=True)
    return " ".join(plain + [f"{name}={default}" for name, default in optional])


def test_an_exercise_is_worth_a_whole_number_of_points(project):
    points = {e.name: e.points for chapter in project.course.chapters for e in chapter.exercises}
    assert {name: worth for name, worth in points.items() if worth != int(worth)} == {}


FACTS = {"keeps_inputs", "has_parameters", "has_buffer", "does_not_grow", "refuses"}
FACTS |= {"avoids", "makes_no_table"}


@pytest.mark.slow
def test_facts_carry_at_most_a_tenth(project):
    """Checks that trust the learner's process are worth little."""
    own = {name for name in load_checks(project.graders).checks if name.startswith("avoids")}
    assert own
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            tree = syntax_of(grader_path(project.graders, chapter.name, exercise.name))
            points = sum(
                points_of(test)
                for test in tree.body
                if rests_on_facts(test, exercise.name, FACTS | own)
            )
            assert points <= 0.1 * exercise.points + 1e-9, exercise.name


def rests_on_facts(node, exercise: str, facts: set[str]) -> bool:
    """Return True if a test of this exercise checks facts."""
    markers = getattr(node, "decorator_list", ())
    if not markers or markers[0].func.id != "exercise" or markers[0].args[0].value != exercise:
        return False
    return any(isinstance(n, ast.Attribute) and n.attr in facts for n in ast.walk(node))


def points_of(node: ast.FunctionDef) -> float:
    """The points that a test's marker names."""
    return next(k.value.value for k in node.decorator_list[0].keywords if k.arg == "points")
