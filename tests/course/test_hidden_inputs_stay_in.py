"""Learner code sees hidden inputs, but cannot bring them into a row.

The same attempts arrive once redaction is off, so that they prove something.
"""

import json
import re
import struct
from functools import cache

import pytest
import torch

from tensorgrade.attempts import pipeline
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..sampling import first_of_each

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
PRELUDE = """
import sys, types, warnings
import torch
from torch import nn

def digits(number):
    return "".join(c for c in f"{abs(float(number)):.9f}" if c.isdigit())

def letters(number):
    return "k" + "".join("abcdefghij"[int(c)] for c in digits(number))

def forge(**told):
    serve = sys.modules["runner.serve"]
    honest = serve.pack
    def forged(header, tensors=None):
        serve.pack = honest
        return honest(header | told, tensors)
    serve.pack = forged

def error(**told):
    plain = {"type": "ValueError", "text": "", "line": 3, "source": "", "function": "", "kinds": []}
    return {"error": plain | told}

SEEN = []
"""
SCORES = """
def attention_scores(query, inputs):
    secret = query[0]
"""
# The function's code, once the secret is known.
SAID_BY_SCORES = [
    "raise ValueError(digits(secret))",
    "raise ValueError(letters(secret))",
    "raise ValueError(' '.join(digits(secret)))",
    "raise KeyError(letters(secret))",
    "raise KeyError(float(secret))",
    "raise NotImplementedError(letters(secret))",
    "raise SyntaxError(letters(secret), (letters(secret), 3, 1, letters(secret)))",
    "raise type('E' + letters(secret), (Exception,), {})()",
    "raise type('E', (Exception,), {'__str__': lambda self: letters(secret)})()",
    "raise type(letters(secret), (NotImplementedError,), {})()",
    "assert False, letters(secret)",
    "assert not inputs, inputs",
    "torch._assert(False, letters(secret))",
    "{}[letters(secret)]",
    "int(letters(secret))",
    "float(letters(secret))",
    "getattr(query, letters(secret))",
    "getattr(nn.Module(), letters(secret))",
    "getattr(torch, letters(secret))",
    "getattr(type(letters(secret), (), {})(), 'shape')",
    "eval(letters(secret))",
    "compile(letters(secret) + ' = = 1', letters(secret), 'exec')",
    "__import__(letters(secret))",
    "attention_scores(**{letters(secret): 1})",
    "exec('def {0}(): raise NotImplementedError\\n{0}()'.format(letters(secret)))",
    "exec('def {0}(): raise ValueError(\"{0}\")\\n{0}()'.format(letters(secret)))",
    "torch.zeros(2)[int(digits(secret))]",
    "torch.zeros(1, int(digits(secret)[:7])) @ torch.zeros(1, 1)",
    "torch.zeros(3).view([int(c) for c in digits(secret)])",
    "torch.zeros(3).sum(int(digits(secret)[:9]))",
    "sys.exit(digits(secret))",
    "return letters(secret)",
    "return digits(secret)",
    "return float(secret)",
    "return int(digits(secret))",
    "return {letters(secret): 1}",
    "return {digits(secret): 1}",
    "return {c + str(n): 1 for n, c in enumerate(digits(secret))}",
    "return [int(c) for c in digits(secret)]",
    "return [[int(c)] for c in digits(secret)]",
    "return (float(secret), letters(secret))",
    "return type(letters(secret), (), {})()",
    "return torch.empty(0, int(digits(secret)[:9]))",
    "return torch.empty([*(int(c) for c in digits(secret)), 0])",
    "return torch.zeros(int(digits(secret)[:6]), dtype=torch.bool)",
    "return torch.zeros_like(inputs[:, 0]) + secret",
    "forge(**error(text=letters(secret)))",
    "forge(**error(type=letters(secret)))",
    "forge(**error(type=letters(secret), kinds=[letters(secret), 'Exception']))",
    "forge(**error(source=letters(secret)))",
    "forge(**error(line=int(digits(secret)[:6])))",
    "forge(**error(function=letters(secret), type='NotImplementedError', line=4))",
    "forge(**error(missing=letters(secret)))",
    "forge(**error(verb=letters(secret)))",
    "forge(**error(definition=letters(secret)))",
    "forge(**error(signs=[letters(secret)], text=\"name 'x' is not defined\", type='NameError'))",
    "forge(**error(sizes={'query': [int(digits(secret)[:6])]}, text='7', type='ValueError'))",
    "forge(**error(sizes={letters(secret): 7}, text='7', type='ValueError'))",
    "n = int(digits(secret)[:6]); raise ValueError(f'{n} is too large')",
    "query = torch.empty(0, int(digits(secret)[:6])); query.view(7, 7)",
    "forge(values={'result': {'type': letters(secret), 'json': None}})",
    "forge(values={'result': {'type': letters(secret) + ' tensor', 'json': None}})",
    "forge(values={'result': {'type': 'float', 'json': letters(secret)}})",
    "forge(values={letters(secret): {'type': 'float', 'json': 1}})",
    "forge(facts={'result': {'changed': [letters(secret)]}})",
    "forge(facts={letters(secret): {'changed': ['query']}})",
    "forge(facts={'result': {'changed': [[letters(secret)] * 9]}})",
    "forge(facts={'load': {'missing': [letters(secret)]}})",
    "forge(facts={'load': {'misshapen': {'query': [int(digits(secret))]}}})",
    "print(letters(secret)); sys.stderr.write(letters(secret))",
    "warnings.warn(letters(secret))",
]
MODULE = """
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        if SEEN:
            {instruction}

    def forward(self, x):
        SEEN.append(x[0, 0])
        scores = self.W_query(x) @ self.W_key(x).T
        return torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1) @ self.W_value(x)
"""
SAID_BY_MODULE = [
    "setattr(self, letters(SEEN[0]), nn.Parameter(torch.ones(1)))",
    "[setattr(self, letters(x), nn.Parameter(torch.ones(1))) for x in SEEN]",
    "del self.W_query; setattr(self, letters(SEEN[0]), nn.Linear(1, 1))",
    "self.W_query = nn.Linear(1, int(digits(SEEN[0])[:6]))",
    "raise ValueError(letters(SEEN[0]))",
    "self.W_key = letters(SEEN[0])",
]
FIVE = 5  # characters in a row of a number, that say it has come through


def row_of(judged, chapter: str, exercise: str, code: str) -> str:
    """Return everything that grading one exercise of a file reports, as one text."""
    return json.dumps(judged(chapter, exercise, PRELUDE + code).row(), ensure_ascii=False)


def rows_of(grader, chapter: str, code: str) -> str:
    """Return everything that grading a whole file reports, as one text."""
    submitted_files = SubmittedFiles(
        "somebody", chapter, f"{chapter}.py", (PRELUDE + code).encode()
    )
    return json.dumps(
        [verdict.row() for verdict in grader.grade(submitted_files)], ensure_ascii=False
    )


def arrived(grader, chapter: str, exercise: str, said: str) -> set[str]:
    """Return parts of hidden inputs, as digits or letters, in messages."""
    hidden, public = (pieces_of(grader, chapter, exercise, which) for which in (True, False))
    pieces = hidden - public  # what is public may be shown
    sizes = {len(piece) for piece in pieces}
    told = {said[n : n + size] for size in sizes for n in range(len(said))} & pieces
    known = grader.maker.course.public_json()  # five letters of an exercise's name are no leak
    return {piece for piece in told if piece not in known}


@cache
def pieces_of(grader, chapter: str, exercise: str, hidden: bool) -> set[str]:
    """All pieces of an exercise's inputs, however they are written."""
    maker = grader.maker
    references = maker.references(chapter) if hidden else maker.public_references(chapter)
    numbers = {
        abs(float(number))
        for case, _ in references.of(exercise)
        for tensor in case.tensors.values()
        for number in tensor.flatten().tolist()
        if abs(number) < 1e3
    }
    every = (9,) if hidden else (9, 15)  # what is public may be said with all its digits
    written = (f"{number:.{places}f}" for number in numbers for places in every)
    digits = {"".join(filter(str.isdigit, one)) for one in written}
    pieces = {d[n : n + FIVE] for d in digits for n in range(len(d) - FIVE + 1)}
    pieces = {piece for piece in pieces if len(set(piece)) > 2}  # 0.60000 is no secret
    letters = {"".join("abcdefghij"[int(c)] for c in piece) for piece in pieces}
    apart = {mark.join(piece) for piece in pieces for mark in (" ", ", ", "×")}
    return pieces | letters | apart


def scores(instruction: str) -> str:
    return f"{SCORES}    {instruction}\n    return inputs @ query\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "instruction", first_of_each(SAID_BY_SCORES, lambda said: re.split(r"[ (]", said)[0])
)
def test_a_function_cannot_tell_its_hidden_inputs(grader, judged, instruction):
    said = row_of(judged, CH1, "attention_scores", scores(instruction))
    assert arrived(grader, CH1, "attention_scores", said) == set(), said


@pytest.mark.slow
@pytest.mark.parametrize("instruction", first_of_each(SAID_BY_MODULE, type))
def test_a_module_cannot_tell_the_inputs_of_earlier_cases(grader, judged, instruction):
    code = MODULE.replace("{instruction}", instruction)
    said = row_of(judged, CH2, "SelfAttention_v2", code)
    assert arrived(grader, CH2, "SelfAttention_v2", said) == set(), said


@pytest.mark.slow
def test_numbers_in_remarks_are_no_inputs(grader, judged):
    """Sums of rows and a dropout's factor are the learner's to choose."""
    code = "def softmax(x, dim=-1):\n    return torch.zeros_like(x) + x.flatten()[0].abs()\n"
    said = row_of(judged, CH1, "softmax", code)
    assert arrived(grader, CH1, "softmax", said) == set()
    code = "def inverted_dropout(attn_weights, p, training=True):\n"
    code += "    keep = torch.rand_like(attn_weights) >= p\n"
    code += (
        "    return attn_weights * keep * attn_weights[0, 0] * 3 if training else attn_weights\n"
    )
    said = row_of(judged, CH3, "inverted_dropout", code)
    assert arrived(grader, CH3, "inverted_dropout", said) == set()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_attempts_are_real(grader, judged, monkeypatch):
    """Without redaction many of them arrive: it is redaction that stops them."""
    monkeypatch.setattr(pipeline, "for_learner", lambda part, status, checks: checks)
    half, came = len(SAID_BY_SCORES) // 2, []
    for instruction in SAID_BY_SCORES:
        said = row_of(judged, CH1, "attention_scores", scores(instruction))
        if arrived(grader, CH1, "attention_scores", said):
            came.append(instruction)
        if len(came) == half:  # the others would change nothing
            break
    assert len(came) >= half, came


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, said",
    [
        ("return inputs @ quary", "NameError: name 'quary' is not defined (line 1"),
        (
            "return inputs @ query.unsqueeze(0)",
            "mat1 and mat2 shapes cannot be multiplied (",
        ),
        ("return inputs.dott(query)", "'Tensor' object has no attribute 'dott'"),
        ("return torch.doot(query, inputs)", "module 'torch' has no attribute 'doot'"),
        ("return inputs[99] @ query", "index 99 is out of bounds for dimension 0 with size"),
        ("return inputs.view(7, 7, 7)", "shape '[7, 7, 7]' is invalid for input of size"),
        ("return inputs + query[:-1]", "must match the size of tensor b ("),
        ("return query * None", "unsupported operand type(s) for *: 'Tensor' and 'NoneType'"),
        ("scores[0] = 1; scores = 2", "cannot access local variable 'scores' where"),
        ("return {}['scores']", "KeyError: 'scores'"),
        ("raise ValueError('in my own words')", "ValueError: in my own words (line 1"),
        ("raise ValueError(f'it is {query}')", "ValueError: it is tensor("),
        ("raise MyOwnError", "MyOwnError (line 1"),
    ],
)
def test_honest_errors_say_as_much_as_ever(judged, body, said):
    code = "def attention_scores(query, inputs):\n    " + body
    source = f"import torch\nclass MyOwnError(Exception): pass\n{code}\n"
    message = judged(CH1, "attention_scores", source).message.replace("line 4", "line 1")
    assert said in message and "…" not in message.replace("…`", "`"), message


@pytest.mark.slow
def test_another_text_on_public_cases_is_not_enough(grader):
    """The public cases run in a fresh process: what was seen on hidden ones is not there.

    The rows of the chapter's other exercises do not repeat it either.
    """
    road = "SEEN.append(letters(secret)); raise ValueError(SEEN[0])"
    said = rows_of(grader, CH1, scores(road))
    assert "ValueError: k" in said and arrived(grader, CH1, "attention_scores", said) == set()


PACKED = """
def attention_scores(query, inputs):
    import struct
    flat = [x for t in (query, inputs) for x in t.detach().flatten().tolist()]
    bits = "".join(format(b, "08b") for x in flat[:5] for b in struct.pack(">f", x)) + "0" * 22
    n = [int(bits[k:k + 13], 2) for k in range(0, 182, 13)]
    first, second = f"{n[:6]} at entry {n[6]}", f"{n[7:13]} at entry {n[13]}"
    raise RuntimeError(f"stack expects each tensor to be equal size, but got {first} and {second}")
"""


@pytest.mark.slow
def test_numbers_packed_into_a_sentence_of_torch_are_those_of_a_public_case(grader):
    """182 bits of a hidden case once left in a sentence that torch could have said."""
    submitted_files = SubmittedFiles("eve", CH1, f"{CH1}.py", ("import torch" + PACKED).encode())
    message = grader.grade(submitted_files)[0].message
    numbers = [int(n) for n in re.findall(r"\d+", message.partition("(line")[0])]
    bits = "".join(format(n, "013b") for n in numbers)[:160]
    read = struct.unpack(">5f", int(bits, 2).to_bytes(20, "big"))
    hidden, public = (
        torch.cat(
            [t.flatten() for case, _ in one.of("attention_scores") for t in case.tensors.values()]
        )
        for one in (grader.maker.references(CH1), grader.maker.public_references(CH1))
    )
    assert len(numbers) == 14 and all((public - x).abs().min() < 1e-6 for x in read)
    assert not any((hidden - x).abs().min() < 1e-6 for x in read)
