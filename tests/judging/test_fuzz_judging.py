"""Replies of any content within the right form: judging ends in a verdict, never in an error.

An error while judging would end the grading of a whole class. The learner's file is right, and
changes parts of the replies of its own process.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..answers.reader import solution
from ..support import amount

WORDS = st.text(max_size=5)
NUMBERS = st.integers(-5, 5) | st.just(10**400) | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
SHAPES = st.sampled_from([(), (0,), (1,), (3,), (0, 4), (2, 0, 3), (1, 1, 1, 1)])
# A bool tensor for dropped weights ends the judging: see test_answers.py.
DTYPES = st.sampled_from("float64 float32 float16 int64 uint8".split())
# An edit of one reply: the part, its index if there are several, and the new content.
BENDS = st.tuples(
    st.sampled_from(["tensor", "tensors", "value", "fact", "inner", "error", "gone", "none"]),
    st.integers(0, 99),
    st.integers(0, 99),
    JSON,
    st.tuples(SHAPES, DTYPES),
)
HOSTILE = """
import copy, itertools, sys
import torch
from math import inf, nan
from tensorgrade.exchange.observation import read_observation
from tensorgrade.runner.wire import unpack

serve = sys.modules["tensorgrade.runner.serve"]
honest, turns = serve.pack, itertools.cycle(BENDS)

def forged(header, tensors=None):
    if "values" not in header:  # the reply to another request
        return honest(header, tensors)
    bent, sent = copy.deepcopy(header), dict(tensors)
    try:
        bend(bent, sent, *next(turns))
        message = honest(bent, sent)
        read_observation(unpack(message), header["id"])
        return message
    except Exception:  # a reply of a wrong form would only end this process
        return honest(header, tensors)

def bend(header, tensors, part, which, inner, value, made):
    tensor = torch.ones(made[0]).to(getattr(torch, made[1]))
    if part == "tensor" and tensors:
        tensors[pick(tensors, which)] = tensor
    elif part == "tensors":
        tensors.update(dict.fromkeys(tensors, tensor))
    elif part == "gone" and tensors:
        del tensors[pick(tensors, which)]
    elif part == "value":
        header["values"][pick({**tensors, "x": 0}, which)] = {"type": "int", "json": value}
    elif part == "error":
        header["error"] = {"type": value, "text": value, "line": value} if inner % 2 else value
    elif part in ("fact", "inner") and header["facts"]:
        name = pick(header["facts"], which)
        fact = header["facts"][name]
        whole = part == "fact" or not isinstance(fact, dict) or not fact
        header["facts"][name] = value if whole else fact | {pick(fact, inner): value}

def pick(things, which):
    return sorted(things)[which % len(things)]

serve.pack = forged
"""
CHAPTERS = ("ch1_simplified_attention", "ch3_causal_attention")
LARGE = ("ch2_self_attention", "ch4_multi_head_attention")  # a verdict on any reply takes seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter", [*CHAPTERS, *(pytest.param(name, marks=pytest.mark.proof) for name in LARGE)]
)
def test_any_reply_gets_a_verdict(judge, chapter):
    """Every exercise gets its row, with points between none and all; without a change, all."""

    def judged(bends: list) -> dict:
        text = f"{solution(chapter)}\n{HOSTILE.replace('BENDS', repr(bends))}"
        return judge.chapter(chapter, text)

    whole = judged([("none", 0, 0, None, ((), "float32"))])
    assert [one for one in whole.values() if one.points != one.max_points] == []

    @settings(max_examples=min(100, amount(3)), derandomize=True)
    @given(st.lists(BENDS, min_size=1, max_size=6))
    def each_has_its_row(bends):
        found = judged(bends)
        assert found.keys() == whole.keys()
        assert all(0 <= one.points <= one.max_points for one in found.values())
        assert all(one.message.isprintable() and len(one.message) < 1000 for one in found.values())

    each_has_its_row()
