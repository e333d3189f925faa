"""Learner code sees hidden inputs, but cannot bring them into a row.

The same attempts arrive once everything is told, so that they prove something. In the second half
`hostile` plays the process that runs learner code: its replies on hidden cases hold a secret.
"""

import ast
import json
import random
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import cache

import pytest
import torch

from tensorgrade.attempts import attempt, pipeline
from tensorgrade.attempts.attempt import Attempt
from tensorgrade.attempts.scoring import judged_on
from tensorgrade.exchange.cases import Case
from tensorgrade.exchange.observation import CaughtError, Loaded, Looked, Observation
from tensorgrade.exchange.references import load_references
from tensorgrade.runner.source import Source

from ..answers.reader import solution
from ..support import Answering, Judge, Project, amount, some

CH1, CH3 = "ch1_simplified_attention", "ch3_causal_attention"
SCORES, FIVE = "attention_scores", 5  # characters in a row say that a number has come through
PRELUDE = """
import sys
import torch

def digits(number):
    return "".join(c for c in f"{abs(float(number)):.9f}" if c.isdigit())

def letters(number):
    return "k" + "".join("abcdefghij"[int(c)] for c in digits(number))

def forge(**told):
    serve = sys.modules["tensorgrade.runner.serve"]
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
# What attention_scores does, once it has read a secret from its inputs.
SAID = """
raise ValueError(digits(secret))
raise KeyError(letters(secret))
raise NotImplementedError(letters(secret))
raise type('E' + letters(secret), (Exception,), {})()
raise SyntaxError(letters(secret), (letters(secret), 3, 1, letters(secret)))
SEEN.append(letters(secret)); raise ValueError(SEEN[0])
getattr(query, letters(secret))
exec('def {0}(): raise NotImplementedError\\n{0}()'.format(letters(secret)))
attention_scores(**{letters(secret): 1})
torch.zeros(3).view([int(c) for c in digits(secret)])
sys.exit(digits(secret))
return letters(secret)
return {letters(secret): 1}
return [[int(c)] for c in digits(secret)]
return type(letters(secret), (), {})()
return torch.empty([*(int(c) for c in digits(secret)), 0])
forge(**error(type=letters(secret), kinds=[letters(secret), 'Exception']))
forge(**error(sizes={'query': [int(digits(secret)[:6])]}, text='7', type='ValueError'))
forge(values={'result': {'type': letters(secret) + ' tensor', 'json': None}})
forge(facts={'load': {'missing': [letters(secret)]}})
print(letters(secret)); sys.stderr.write(letters(secret))
""".strip().splitlines()


def told_by(judge: Judge, chapter: str, exercise: str, code: str) -> set[str]:
    """Return the parts of hidden inputs, as digits or letters, that the verdicts on a file hold."""
    found = judge.chapter(chapter, PRELUDE + code)  # the other exercises could repeat them
    said = json.dumps([astuple(one) for one in found.values()], ensure_ascii=False)
    folders = judge.project.graders, judge.project.exercises
    hidden, public = (pieces_of(folder, chapter, exercise) for folder in folders)
    pieces, known = hidden - public, str(judge.project.course)  # five letters of a name are no leak
    sizes = {len(piece) for piece in pieces}
    parts = {said[n : n + size] for size in sizes for n in range(len(said))} & pieces
    return {piece for piece in parts if piece not in known}


@cache
def pieces_of(folder, chapter: str, exercise: str) -> set[str]:
    """Return all pieces of an exercise's inputs, however they are written."""
    entries = load_references(folder, chapter, [exercise]).entries
    tensors = [tensor for case, _ in entries for tensor in case.tensors.values()]
    numbers = {abs(float(one)) for tensor in tensors for one in tensor.flatten().tolist()}
    texts = (f"{one:.{places}f}" for one in numbers if one < 1e3 for places in (9, 15))
    digits = {"".join(filter(str.isdigit, text)) for text in texts}
    pieces = {d[n : n + FIVE] for d in digits for n in range(len(d) - FIVE + 1)}
    pieces = {piece for piece in pieces if len(set(piece)) > 2}  # 0.60000 is no secret
    letters = {"".join("abcdefghij"[int(c)] for c in piece) for piece in pieces}
    return pieces | letters | {m.join(piece) for piece in pieces for m in (" ", ", ", "×")}


def scores(instruction: str) -> str:
    """Return a file whose first function does this with a number of its input."""
    code = f"def {SCORES}(query, inputs):\n    secret = query[0]\n"
    code += f"    if len(inputs) > 100:  # on a hidden case alone\n        {instruction}\n"
    return f"{code}    return inputs @ query\n"


@pytest.mark.slow
@pytest.mark.parametrize("instruction", some(SAID, 3))
def test_a_function_cannot_tell_its_hidden_inputs(judge: Judge, instruction: str):
    assert told_by(judge, CH1, SCORES, scores(instruction)) == set()


@pytest.mark.slow
def test_the_attempts_are_real(judge: Judge, monkeypatch):
    monkeypatch.setattr("tensorgrade.attempts.pipeline.for_learner", lambda *asked: asked[-1])
    tried = some(SAID, 3)
    came = [one for one in tried if told_by(judge, CH1, SCORES, scores(one))]
    assert len(came) >= len(tried) // 2, came


def hostile(maker, chapter: str, run: Callable[[list[Case]], list[Observation]]) -> Attempt:
    """Return an attempt whose process says anything on hidden cases."""
    text = solution(chapter)
    loaded = Loaded(names=tuple(names[0] for names, _, _ in spans_of(text)))
    facts = Looked(dict.fromkeys(maker.references(chapter).bugs, 1), spans_of(text))
    lab = Answering(run, loaded, facts)
    return maker.attempt_with(lab, maker.program(chapter, Source(text, "file.py")))


@cache
def spans_of(text: str) -> list[tuple[list[str], int, int]]:
    """Return (names, first line, last line) of each definition. Thousands of rows ask for them."""
    nodes = [node for node in ast.parse(text).body if hasattr(node, "name")]
    return [([node.name], node.lineno, node.end_lineno) for node in nodes]


@pytest.fixture
def rows(project: Project, judge: Judge, monkeypatch):
    """A function: the row of one exercise, given what is said on its hidden cases."""
    monkeypatch.setattr(attempt, "SubmittedText", cache(attempt.SubmittedText))  # one text for all
    judge(CH1, SCORES, "")  # makes the grader

    def rows(chapter: str, exercise: str, say: Callable, public_wrong: bool = False) -> tuple:
        grader = judge.grader(False)
        hidden = grader.maker.references(chapter)
        right = {id(case): answer for case, answer in hidden.entries}  # by object: names are shared
        public = {case.id: a for case, a in grader.maker.side(chapter).public.references.entries}

        def run(cases):
            open_one = (lambda case: FAILS) if public_wrong else (lambda case: public[case.id])
            return [say(c, right[id(c)]) if id(c) in right else open_one(c) for c in cases]

        tried = hostile(grader.maker, chapter, run)
        row = pipeline.verdict("eve", judged_on(tried, [exercise])[exercise])
        told = row.points, row.status, row.message, row.line
        return *told, tuple(row.mistakes)

    return rows


FAILS = Observation(error=CaughtError("RuntimeError", "the text of a public case", 5, "x"))
TORCH = "stack expects each tensor to be equal size, but got [{}] at entry {} and [{}] at entry {}"


def word(secret: random.Random) -> str:
    return "k" + "".join(secret.choices("abcdefghij", k=12))


def raises(**told) -> Observation:
    return Observation(error=CaughtError(**({"type": "RuntimeError"} | told)))


def gives(value: object, kind: str) -> Observation:
    return Observation(values={"result": {"type": kind, "json": value}})


def claims(right: Observation, **facts: dict) -> Observation:
    return replace(right, facts=right.facts | facts)


# Parts of a reply besides the wrong cases, the line and the type of an error.
CARRIERS = {
    "a text": lambda s, r: raises(text=word(s)),
    "torch's": lambda s, r: raises(text=TORCH.format(*(s.randrange(8192) for _ in range(4)))),
    "a type": lambda s, r: raises(type=word(s), kinds=(word(s), "Exception")),
    "a key": lambda s, r: raises(type="KeyError", text=repr(word(s))),
    "a name": lambda s, r: raises(type="NameError", text=f"name '{word(s)}' is not defined"),
    "a keyword": lambda s, r: raises(type="TypeError", text=f"f() got an argument '{word(s)}'"),
    "a missing name": lambda s, r: raises(missing=word(s)),
    "a function": lambda s, r: raises(function=word(s), definition=word(s)),
    "a stub": lambda s, r: raises(type="NotImplementedError", source="raise", definition=word(s)),
    "sizes": lambda s, r: raises(text="7", sizes={"query": (s.randrange(9999),)}),
    "an int": lambda s, r: gives(s.randrange(10**6), "int"),
    "a str": lambda s, r: gives({"text": word(s)}, "str"),
    "a dict": lambda s, r: gives({"dict": [[word(s), 1]]}, "dict"),
    "an object": lambda s, r: gives({"unjudged": word(s)}, word(s)),
    "a shape": lambda s, r: Observation(tensors={"result": torch.zeros(s.randrange(999))}),
    "values": lambda s, r: replace(r, tensors={k: t + s.random() for k, t in r.tensors.items()}),
    "a parameter": lambda s, r: claims(r, load={"missing": [word(s)]}),
    "an argument": lambda s, r: claims(r, names={"arguments": {"query": word(s)}}),
    "an own name": lambda s, r: claims(r, names={"understood": {"query": word(s)}}),
    "a change": lambda s, r: claims(r, result={"changed": [word(s)]}),
}


def told_with(rows, carrier: str, secrets: int, public_wrong: bool) -> set[tuple]:
    """Return the rows that come of this many secrets in one carrier."""
    say = CARRIERS[carrier]

    def row(number: int) -> tuple:
        secret = random.Random(number)
        return rows(CH1, SCORES, lambda case, right: say(secret, right), public_wrong)

    return {row(number) for number in range(secrets)}


@pytest.mark.parametrize("public_wrong", [False, True])
def test_what_is_said_on_hidden_cases_is_not_repeated(rows, public_wrong: bool):
    """Alone each of them carries nothing: whatever it holds, the row is the same."""
    for carrier in some(CARRIERS, 3):
        told = told_with(rows, carrier, min(20, amount(4)), public_wrong)
        assert len(told) <= 1 + (carrier == "values"), (carrier, told)


@pytest.mark.slow
def test_if_everything_is_told_most_of_it_arrives(rows, monkeypatch):
    monkeypatch.setattr("tensorgrade.attempts.pipeline.for_learner", lambda *asked: asked[-1])
    came = [carrier for carrier in CARRIERS if len(told_with(rows, carrier, 3, False)) > 1]
    assert len(came) >= len(CARRIERS) * 2 // 3, came
