"""Reading any bytes from a child gives a checked record or BadMessage."""

import io
import json
import struct
from dataclasses import asdict

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from tensorgrade.exchange.observation import (
    DTYPES,
    MOST_ITEMS,
    Loaded,
    Observation,
    read_loaded,
    read_observation,
    read_tries,
    tidy,
)
from tensorgrade.exchange.text import LONGEST_TEXT, printable
from tensorgrade.exchange.values import plain, shown, sized
from tensorgrade.judging.value_comparison import ValueJudge, side_by_side
from tensorgrade.runner.edits import Idea
from tensorgrade.runner.values import DEEPEST, MOST_PARTS, MOST_TENSORS, MOST_TEXT
from tensorgrade.runner.wire import BadMessage, pack, receive, unpack

LENGTH = struct.Struct("<Q")
WORDS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)
DTYPE_NAMES = ["F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "?"]
TENSOR_HEADERS = st.dictionaries(
    st.text(max_size=6),
    st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(DTYPE_NAMES),
            "shape": st.lists(st.integers(-2, 1 << 64), max_size=4),
            "data_offsets": st.lists(st.integers(-1, 1 << 64), min_size=2, max_size=2),
        }
    )
    | JSON,
    max_size=3,
)


def framed(header: bytes, tensors: bytes) -> bytes:
    """A message with these two parts, whatever they are."""
    return LENGTH.pack(len(header)) + header + tensors


def tensor_part(header, body: bytes) -> bytes:
    """safetensors' own form, with any header."""
    text = json.dumps(header).encode()
    return LENGTH.pack(len(text)) + text + body


def reads(read, *arguments):
    """Return a reader's result, or None for BadMessage; any other error fails the test."""
    try:
        return read(*arguments)
    except BadMessage:
        return None


def check_text(value) -> None:
    """Every text in a record is printable and bounded."""
    if isinstance(value, str):
        assert len(value) <= LONGEST_TEXT + 1
        assert all(c.isprintable() or c in "\n\t" for c in value)
    elif isinstance(value, dict):
        for key, part in value.items():
            check_text(key), check_text(part)
    elif isinstance(value, (list, tuple)):
        assert len(value) <= MOST_ITEMS
        for part in value:
            check_text(part)


def check_observation(found: Observation) -> None:
    """An Observation keeps what its docstring promises."""
    assert found.status == "answered"
    assert len(found.tensors) <= MOST_TENSORS
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
    assert ValueJudge(same, same, {}).gap("result") is None or not is_clean(tree)


def texts_in(value, depth: int):
    """All texts in JSON that is at most so deep."""
    assert depth >= 0
    if isinstance(value, str):
        yield value
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    for part in parts if isinstance(parts, list) else ():
        yield from texts_in(part, depth - 1)


def is_clean(tree) -> bool:
    """Return True if a tree contains no value that differs from itself."""
    return not any(word in json.dumps(tree) for word in ("NaN", "unjudged", "tensor"))


def check_loaded(found: Loaded) -> None:
    """A Loaded keeps what its docstring promises."""
    assert all(isinstance(name, str) for name in found.names)
    check_text([found.names, *map(asdict, found.problems)])


@pytest.mark.slow
@given(st.binary(max_size=400))
def test_any_bytes(message):
    """Noise is no message."""
    for read in (unpack, read_loaded, lambda m: read_observation(m, "a")):
        reads(read, message)


@pytest.mark.slow
@given(JSON, TENSOR_HEADERS, st.binary(max_size=64))
def test_any_header_and_tensors(header, tensors, body):
    """Any JSON in front, any safetensors header behind."""
    message = framed(json.dumps(header).encode(), tensor_part(tensors, body))
    for read in (unpack, read_loaded, lambda m: read_observation(m, "a")):
        reads(read, message)


@pytest.mark.slow
@given(st.fixed_dictionaries({"values": JSON, "facts": JSON, "error": JSON}), st.binary(max_size=9))
def test_any_reply_to_a_case(parts, body):
    """The right keys with anything in them."""
    message = framed(json.dumps({"id": "a"} | parts).encode(), save({"x": torch.zeros(2)}))
    if found := reads(read_observation, message, "a"):
        check_observation(found)
    assert reads(read_observation, message, "b") is None, "another case's id is refused"
    assert reads(read_observation, message + body + b"x", "a") is None, "so is a longer message"


TAGS = [
    "list",
    "tuple",
    "set",
    "dict",
    "record",
    "text",
    "bytes",
    "tensor",
    "unjudged",
    "type",
    "?",
]
TREES = st.recursive(
    JSON,
    lambda inner: (
        st.dictionaries(st.sampled_from(TAGS), inner, min_size=1, max_size=2)
        | st.builds(lambda tag, parts: {tag: parts}, st.sampled_from(TAGS), st.lists(inner))
        | st.builds(
            lambda tag, pairs: {tag: pairs, "type": "T"},
            st.sampled_from(TAGS),
            st.lists(st.lists(inner, min_size=2, max_size=2)),
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(TREES, TREES)
@example({"bytes": ""}, [{"bytes": "6162"}])
@settings(max_examples=300)
def test_any_tree(told, other):
    """Values with any tags in any places become trees, or something else that is never right."""
    values = {name: {"type": "T", "json": tree} for name, tree in (("a", told), ("b", other))}
    reply = pack({"id": "a", "values": values, "facts": {}, "error": None})
    if found := reads(read_observation, reply, "a"):
        check_observation(found)
        left, right = (Observation(values={"x": found.values[name]}) for name in "ab")
        gap = ValueJudge(left, right, {}).gap("x")
        assert gap is None or all(isinstance(text, str) for text in side_by_side(gap))


@pytest.mark.parametrize("tree", [{"tensor": "nowhere"}, [{"tensor": "x"}, {"tensor": ""}]])
def test_a_tensor_that_was_not_sent_agrees_with_nothing(tree):
    """Not even with itself."""
    values = {"result": {"type": "T", "json": tree}}
    reply = pack({"id": "a", "values": values, "facts": {}, "error": None})
    found = read_observation(reply, "a")
    assert ValueJudge(found, found, {}).gap("result").how == "type"


@pytest.mark.slow
def test_a_tree_is_bounded_in_depth_parts_and_characters():
    deep: list | dict = []
    for _ in range(60):
        deep = {"tuple": [deep]}
    for tree in (deep, [0] * (MOST_PARTS + 9), [{"text": "a" * MOST_TEXT}] * 2):
        values = {"x": {"type": "T", "json": tree}}
        found = read_observation(
            pack({"id": "a", "values": values, "facts": {}, "error": None}), "a"
        )
        check_observation(found)
        assert "something else" in json.dumps(found.values["x"]["json"])


TRIED = {"line": st.just(1), "idea": st.sampled_from([*Idea]) | WORDS, "code": WORDS}
TRIED |= {"text": WORDS, "facts": JSON, "error": JSON}
TRIED |= {"values": st.dictionaries(WORDS, st.fixed_dictionaries({"json": TREES}), max_size=3)}
A_TRY = {"line": 1, "idea": "name", "code": "", "text": "", "facts": {}, "error": None}


@pytest.mark.slow
@given(st.lists(st.fixed_dictionaries(TRIED), max_size=3))
@example([A_TRY | {"values": {"a": {"json": {"tuple": None}}}}])
def test_any_reply_to_a_search(tries):
    """Results of edits of a definition can be shown and compared, whatever they contain."""
    for _, seen in reads(read_tries, pack({"id": "a", "tries": tries}), "a") or ():
        check_observation(seen)
        for value in seen.values.values():
            plain(value["json"])
            assert shown(value["json"])


@pytest.mark.slow
@given(st.fixed_dictionaries({"names": JSON, "problems": JSON}))
def test_any_reply_to_load(header):
    """The right keys with anything in them, and problems of the right form with odd parts."""
    if found := reads(read_loaded, pack(header)):
        check_loaded(found)


ERRORS = st.fixed_dictionaries(
    {"type": JSON, "text": JSON, "line": JSON, "source": JSON, "function": JSON}
)
PROBLEMS = st.fixed_dictionaries({"names": st.lists(JSON, max_size=3), "error": ERRORS})


@pytest.mark.slow
@given(st.lists(PROBLEMS, max_size=4))
def test_any_problem(problems):
    """Errors with parts of any type become errors with parts of the right type."""
    found = read_loaded(pack({"names": [], "problems": problems}))
    assert len(found.problems) == len(problems)
    check_loaded(found)


@given(st.binary(max_size=200))
def test_cut_off_anywhere(extra):
    """A true message that was cut short, or bent in the middle, is no message or a checked one."""
    message = pack({"id": "a", "values": {}, "facts": {}, "error": None}, {"x": torch.ones(3)})
    for cut in range(0, len(message), 7):
        assert reads(read_observation, message[:cut], "a") is None
        bent = message[:cut] + extra + message[cut + len(extra) :]
        if found := reads(read_observation, bent, "a"):
            check_observation(found)


@pytest.mark.slow
@given(JSON)
@settings(max_examples=300)
def test_tidy_bounds_everything(value):
    """Depth, number and characters are bounded; what it gives is JSON again."""
    tidied = tidy(value)
    check_text(tidied)
    json.dumps(tidied)


def test_tidy_bounds_depth():
    """A list of lists a thousand deep ends at a bounded depth."""
    value: list = []
    for _ in range(500):
        value = [value]
    assert json.dumps(tidy(value)).count("[") < 10


@given(st.text())
def test_printable_text(text):
    """Control characters are removed, and short printable text stays unchanged."""
    shown = printable(text)
    check_text(shown)
    if len(text) <= LONGEST_TEXT and text.isprintable():
        assert shown == text


@given(st.binary(max_size=100))
def test_receive_from_any_stream(content):
    """The reader inside the sandbox never waits for more than the stream holds."""
    stream = io.BytesIO(content)
    reasonable = len(content) < 8 or LENGTH.unpack_from(content)[0] < 1 << 30
    found = receive(stream) if reasonable else None
    assert found is None or len(found) <= len(content)
