"""Messages and traces: any bytes give a checked record, forged ones nothing."""

import io
import json
import struct
from dataclasses import asdict

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.torch import save

from tensorgrade.course import CourseError
from tensorgrade.exchange.cases import Case, spoken
from tensorgrade.exchange.observation import (
    DTYPES,
    LONGEST_HEADER,
    MOST_ITEMS,
    Loaded,
    Observation,
    read_loaded,
    read_looked,
    read_observation,
    read_tries,
    tidy,
)
from tensorgrade.exchange.references import load_references
from tensorgrade.exchange.stored import store, stored_path
from tensorgrade.exchange.text import LONGEST_TEXT, printable
from tensorgrade.exchange.traces import Trace, read_trace
from tensorgrade.exchange.values import plain, shown, sized
from tensorgrade.judging.comparison import ValueJudge, side_by_side
from tensorgrade.runner.step import Step
from tensorgrade.runner.values import DEEPEST, MOST_PARTS, MOST_TENSORS, MOST_TEXT
from tensorgrade.runner.wire import BadMessage, pack, receive, serialized, unpack

from ..hidden import opened
from ..support import stored_references

LENGTH = struct.Struct("<Q")
WORDS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)
DTYPE_NAMES = ["F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "?"]
TENSOR = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(DTYPE_NAMES),
        "shape": st.lists(st.integers(-2, 1 << 64), max_size=4),
        "data_offsets": st.lists(st.integers(-1, 1 << 64), min_size=2, max_size=2),
    }
)
TENSOR_HEADERS = st.dictionaries(st.text(max_size=6), TENSOR | JSON, max_size=3)
TAGS = "list tuple set dict record text bytes tensor unjudged type ?".split()
TAG = st.sampled_from(TAGS)
TREES = st.recursive(
    JSON,
    lambda inner: (
        st.dictionaries(TAG, inner, min_size=1, max_size=2)
        | st.builds(lambda tag, parts: {tag: parts}, TAG, st.lists(inner))
        | st.builds(
            lambda tag, pairs: {tag: pairs, "type": "T"},
            TAG,
            st.lists(st.lists(inner, min_size=2, max_size=2)),
        )
    ),
    max_leaves=12,
)


def framed(header: object, tensors: bytes) -> bytes:
    """Return a message with these two parts."""
    text = json.dumps(header).encode()
    return LENGTH.pack(len(text)) + text + tensors


def reply(values: object = None, **parts: object) -> dict:
    """Return the header of a reply to case `a`."""
    return {"id": "a", "values": values or {}, "facts": {}, "error": None} | parts


def tree_reply(*trees: object) -> bytes:
    """Return a reply with these values."""
    return pack(reply({f"x{at}": {"type": "T", "json": tree} for at, tree in enumerate(trees)}))


def reads(read, *arguments):
    """Return a reader's record, checked, or None for BadMessage; other errors fail the test."""
    message, *more = arguments
    try:
        found = read(message if read is unpack else unpack(message, LONGEST_HEADER), *more)
    except BadMessage:
        return None
    if isinstance(found, Observation):
        check_observation(found)
    if isinstance(found, Loaded):
        assert all(isinstance(name, str) for name in found.names)
        check_text([found.names, *map(asdict, found.problems)])
    return found


def check_text(value) -> None:
    """Every text in a record is printable and bounded."""
    if isinstance(value, str):
        assert len(value) <= LONGEST_TEXT + 1
        assert all(c.isprintable() or c in "\n\t" for c in value)
    elif isinstance(value, dict):
        check_text([*value, *value.values()][:MOST_ITEMS])
    elif isinstance(value, (list, tuple)):
        assert len(value) <= MOST_ITEMS
        for part in value:
            check_text(part)


def check_observation(found: Observation) -> None:
    """An Observation keeps what its docstring promises."""
    assert found.status == "answered" and len(found.tensors) <= MOST_TENSORS
    assert all(t.dtype in DTYPES and t.device.type == "cpu" for t in found.tensors.values())
    assert all(isinstance(v, dict) for v in found.values.values()) and isinstance(found.facts, dict)
    error = found.error and asdict(found.error)
    check_text([found.facts, error, list(found.tensors), list(found.values)])
    for value in found.values.values():
        check_text(value["type"])
        check_tree(value["json"])
    found.fact("a", "b", default=[])


def check_tree(tree) -> None:
    """A value is printable and bounded, and can be shown, sized and compared without an error."""
    texts = list(texts_in(tree, 3 * DEEPEST + 1))
    assert sum(map(len, texts)) <= 2 * MOST_TEXT
    assert all(c.isprintable() or c in "\n\t" for text in texts for c in text)
    assert isinstance(shown(tree), str) and isinstance(sized(tree), str)
    plain(tree)
    same = Observation(values={"result": {"type": "x", "json": tree}})
    itself = any(word in json.dumps(tree) for word in ("NaN", "unjudged", "tensor"))
    assert itself or ValueJudge(same, same, {}).gap("result") is None


def texts_in(value, depth: int):
    """Yield all texts in JSON that is at most so deep."""
    assert depth >= 0
    if isinstance(value, str):
        yield value
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    for part in parts if isinstance(parts, list) else ():
        yield from texts_in(part, depth - 1)


NOISE = st.binary(max_size=400)
NOISE |= st.builds(
    lambda header, tensors, body: framed(header, framed(tensors, body)),
    JSON,
    TENSOR_HEADERS,
    st.binary(max_size=64),
)
TRUE = pack(reply(), {"x": torch.ones(3)})
NOISE |= st.builds(lambda cut: TRUE[:cut], st.integers(0, len(TRUE) - 1))
NOISE |= st.builds(
    lambda cut, more: TRUE[:cut] + more + TRUE[cut + len(more) :],
    st.integers(0, len(TRUE)),
    st.binary(min_size=1, max_size=200),
)


@given(NOISE)
def test_any_bytes(message):
    """Noise, any JSON and tensors, a true message that was cut or changed; the sandbox's reader."""
    for read in (unpack, read_loaded, read_looked):
        reads(read, message)
    for read in (read_observation, read_tries):
        reads(read, message, "a")
    if len(message) < 8 or LENGTH.unpack_from(message)[0] < 1 << 30:
        found = receive(io.BytesIO(message))
        assert found is None or len(found) <= len(message)


ERROR = st.fixed_dictionaries(dict.fromkeys(["type", "text", "line", "source", "function"], JSON))
PROBLEMS = st.fixed_dictionaries({"names": st.lists(JSON, max_size=3), "error": ERROR})
TRIED = {"facts": JSON, "error": JSON}
TRIED |= {"values": st.dictionaries(WORDS, st.fixed_dictionaries({"json": TREES}), max_size=3)}
NULL = [{"facts": {}, "error": None, "values": {"a": {"json": {"tuple": None}}}}]


@given(
    st.fixed_dictionaries({"values": JSON, "facts": JSON, "error": JSON}),
    st.fixed_dictionaries({"names": JSON, "problems": st.lists(PROBLEMS, max_size=4) | JSON}),
    st.lists(st.fixed_dictionaries(TRIED), max_size=3),
)
@example({}, {}, NULL)
def test_any_reply(parts, loaded, tries):
    """The right keys with anything in them, in replies to a case, to `load` and to a search."""
    message = framed({"id": "a"} | parts, save({"x": torch.zeros(2)}))
    reads(read_observation, message, "a")
    assert reads(read_observation, message, "b") is None, "another case's id is refused"
    assert reads(read_observation, message + b"x", "a") is None, "so is a longer message"
    reads(read_loaded, pack({"loaded": loaded}))
    for seen in reads(read_tries, pack({"id": "a", "tries": tries}), "a") or ():
        check_observation(seen)


@given(TREES, TREES)
@example({"bytes": ""}, [{"bytes": "6162"}])
@example(None, {"dict": [[{}, None]]})
@example({"tensor": "nowhere"}, [{"tensor": "x0"}])
def test_any_tree(told, other):
    """Values with any tags in any places become trees, or something else that is never right."""
    if found := reads(read_observation, tree_reply(told, other), "a"):
        left, right = (Observation(values={"x": value}) for value in found.values.values())
        gap = ValueJudge(left, right, {}).gap("x")
        assert gap is None or all(isinstance(text, str) for text in side_by_side(gap))


@pytest.mark.parametrize("tree", [{"tensor": "nowhere"}, [{"tensor": "x"}, {"tensor": ""}]])
def test_a_tensor_that_was_not_sent_agrees_with_nothing(tree):
    """Not even with itself."""
    found = read_observation(unpack(tree_reply(tree)), "a")
    assert ValueJudge(found, found, {}).gap("x0").how == "type"


@pytest.mark.slow
def test_a_tree_is_bounded_in_depth_parts_and_characters():
    deep: list | dict = []
    for _ in range(60):
        deep = {"tuple": [deep]}
    for tree in (deep, [0] * (MOST_PARTS + 9), [{"text": "a" * MOST_TEXT}] * 2):
        found = reads(read_observation, tree_reply(tree), "a")
        assert "something else" in json.dumps(found.values["x0"]["json"])


@given(JSON, st.text())
def test_any_value_and_text_is_tidied(value, text):
    """Depth, number and characters are bounded; printable text stays unchanged."""
    tidied = tidy(value)
    check_text([tidied, printable(text)])
    json.dumps(tidied)
    for _ in range(500):
        value = [value]
    assert json.dumps(tidy(value)).count("[") < 12
    if len(text) <= LONGEST_TEXT and text.isprintable():
        assert printable(text) == text


X = {"x": 2}
SPOKEN = {
    "Layer(x=2)": Step("construct", "Layer", arguments=X, result="object0"),
    ".eval()": Step("mode", on="object0", options={"training": False}),
    "its forward(x=2) on another device": Step("move", on="object0", arguments=X),
    ".encode(x=2)": Step("call", on="object0", path="encode", arguments=X),
    "its forward(x=2)": Step("call", on="object0", arguments=X),
}


@pytest.mark.parametrize("said", SPOKEN)
def test_a_step_is_described_in_words(said):
    assert spoken(Case("f", "a/1", (SPOKEN[said],), {})) == said


DTYPES_SENT = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()


@pytest.mark.parametrize("dtype", DTYPES_SENT)
def test_the_bytes_are_those_of_the_library(dtype):
    made = (5 * torch.rand(2, 3)).to(getattr(torch, dtype))
    tensors = {"b": made, "a": made[0, 0].clone(), "none": made[:0].clone()}
    assert serialized(tensors) == save(tensors)


def test_numbers_come_in_their_order_wherever_they_are():
    x = torch.arange(6.0).reshape(2, 3)
    turned = torch.complex(x, x).conj()
    views = {"T": x.T, "gaps": x[:, ::2], "wide": x[:1].expand(4, 3), "same": x, "again": x}
    views |= {"conj": turned, "neg": turned.imag, "grad": x.clone().requires_grad_()}
    _, back = unpack(pack({}, views))
    assert list(back) == sorted(views)
    assert all(back[name].tolist() == views[name].tolist() for name in views)


# --- traces

CHAPTER, NAME = "ch2_self_attention", "scaled_dot_product_attention"


TOLD = {"steps": [[[1, 5], "add", [], ["x"]]], "returned": [0], "last": 4, "raised": [3]}
TOLD |= {"failed": [], "cut": False}


@pytest.mark.parametrize(
    "name, forged",
    [
        ("steps", "long"),
        ("steps", [[[1], "add", [0], []]]),  # made from itself
        ("steps", [[[1], "add", [-1], []]]),
        ("steps", [[1, "add", [], []]]),
        ("steps", [[[1] * 9, "add", [], []]]),  # within more calls than are reported
        ("steps", [[["1"], "add", [], []]]),
        ("steps", [[[1], 7, [], []]]),
        ("returned", [0, 1]),
        ("failed", [-1]),
        ("raised", [3, "4"]),
        ("last", -4),
    ],
)
def test_a_forged_trace_is_empty(name, forged):
    trace = read_trace(Observation(facts={"stages": TOLD}))
    assert (trace.returned, trace.last, trace.raised) == ((0,), 4, (3,))
    assert (trace.stages[0].line, trace.stages[0].callers) == (1, (5,))
    assert read_trace(Observation(facts={"stages": TOLD | {name: forged}})) == Trace()


def test_traces_are_stored_without_lines_operations_or_a_name_of_the_code(project):
    """Those of hidden cases are not stored."""
    assert stored_references(project, CHAPTER).traces == {}
    traces = stored_references(project, CHAPTER, hidden=False).traces.values()
    stages = [stage for trace in traces for stage in trace.stages]
    assert len(stages) > 20 and any(stage.names for stage in stages)
    assert all(stage.line == 0 and not stage.operation for stage in stages)
    path = stored_path(project.exercises, CHAPTER, NAME)
    content = b"".join(opened({path.name: path.read_bytes()}).values())
    assert b"d_k**" not in content and b"attn_scores" not in content


@pytest.mark.parametrize("cases", [None, [{"exercise": "f", "name": "a", "id": "a"}]])
def test_references_in_another_format_ask_for_a_build(tmp_path, cases):
    store(stored_path(tmp_path, CHAPTER, NAME), "key", {"cases": cases}, {})
    with pytest.raises(CourseError, match="damaged; `tensorgrade build`"):
        load_references(tmp_path, CHAPTER, [NAME])
