"""However learner code tries to carry hidden inputs into its row: at most 12 bits arrive.

The process that runs learner code is played here by `Hostile`, which answers hidden cases as its
secret says. The secret varies; the rows that come out are counted.
"""

import ast
import inspect
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch

from tensorgrade.attempts import pipeline
from tensorgrade.attempts.pipeline import verdict
from tensorgrade.attempts.redaction import BITS, FIXED, possible_points, sentences
from tensorgrade.exchange.cases import Case
from tensorgrade.exchange.observation import CaughtError, Loaded, Observation, Outcome
from tensorgrade.exchange.references import Seen
from tensorgrade.exchange.text_facts import TextFacts
from tensorgrade.judging.submitted_text import SubmittedText
from tensorgrade.runner.source import Source

from ..sampling import first_of_each

CH1, CH3, CH4 = "ch1_simplified_attention", "ch3_causal_attention", "ch4_multi_head_attention"
SECRETS = 40  # for one carrier


class Hostile:
    """A backend that is right on public cases and says anything on hidden ones."""

    device, isolation, definitions_only = "cpu", "none", False
    warned, weights = (), {}

    def __init__(self, text: str, run: Callable[[list[Case]], list[Observation]]):
        self.source, self.run = Source(text, "file.py"), run
        self.assigned: dict[str, dict[str, str]] = {}
        self.parameters: dict[str, dict[str, inspect.Parameter]] = {}

    def load(self) -> Loaded:
        return Loaded(names=tuple(name for names, _, _ in self.facts({}).spans for name in names))

    def facts(self, bugs) -> TextFacts:
        return TextFacts(dict.fromkeys(bugs, 1), spans_of(self.source.text))

    def own_parameters(self) -> dict[str, dict[str, inspect.Parameter]]:
        return self.parameters

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        self.assigned = assigned

    def close(self) -> None: ...

    def fresh(self, stand_ins=None) -> "Hostile":
        return self


@cache
def spans_of(text: str) -> list[tuple[list[str], int, int]]:
    """Return (names, first line, last line) of each definition. Thousands of rows ask for them."""
    nodes = [node for node in ast.parse(text).body if hasattr(node, "name")]
    return [([node.name], node.lineno, node.end_lineno) for node in nodes]


@pytest.fixture
def rows(project, grader, monkeypatch):
    """A function: the row of one exercise, given what is said on its hidden cases."""
    # All rows of a chapter come from the same text.
    monkeypatch.setattr("tensorgrade.attempts.attempt.SubmittedText", cache(SubmittedText))

    def rows(chapter: str, exercise: str, say: Callable, public_wrong: bool = False) -> tuple:
        maker = grader.maker
        hidden, public = maker.references(chapter), maker.public_references(chapter)
        answers = [{case.id: right for case, right in one.entries} for one in (hidden, public)]
        # Cases have the same names in both folders: the objects tell them apart.
        text = project.solution(chapter).read_text(encoding="utf-8")
        objects = {id(case) for case, _ in hidden.entries}

        def run(cases):
            return [
                say(case, answers[0][case.id])
                if id(case) in objects
                else (FAILS if public_wrong else answers[1][case.id])
                for case in cases
            ]

        return row_of(grader, chapter, exercise, Hostile(text, run))

    return rows


def row_of(grader, chapter: str, exercise: str, backend: Hostile) -> tuple:
    attempt = grader.maker.attempt_from(chapter, backend)
    results = grader.collected.results(attempt, exercise)
    asked = attempt.chapter.exercise(exercise)
    found = verdict("eve", asked, attempt.exercises[exercise], results)
    told = found.points, found.status, found.message, found.line, found.stage, found.sure
    return *told, tuple(found.mistakes)


FAILS = Observation(error=CaughtError("RuntimeError", "the text of a public case", 5, "x"))


def word(secret: random.Random) -> str:
    return "k" + "".join(secret.choices("abcdefghij", k=12))


def raises(**told) -> Observation:
    return Observation(error=CaughtError(**({"type": "RuntimeError"} | told)))


def gives(value: object, kind: str) -> Observation:
    return Observation(values={"result": {"type": kind, "json": value}})


def shaped(secret: random.Random, *more: int) -> Observation:
    return Observation(tensors={"result": torch.zeros(secret.randrange(999), *more)})


def claims(right: Observation, **facts: dict) -> Observation:
    return replace(right, facts=right.facts | facts)


TORCH = "stack expects each tensor to be equal size, but got [{}] at entry {} and [{}] at entry {}"
# Parts of an answer besides the wrong cases, the line and the type of an error.
CARRIERS = {
    "an error's text": lambda s, r: raises(text=word(s)),
    "a sentence of torch": lambda s, r: raises(
        text=TORCH.format(*(s.randrange(8192) for _ in range(4)))
    ),
    "an error's type": lambda s, r: raises(type=word(s), kinds=(word(s), "Exception")),
    "a KeyError": lambda s, r: raises(type="KeyError", text=repr(word(s))),
    "a NameError": lambda s, r: raises(type="NameError", text=f"name '{word(s)}' is not defined"),
    "an AttributeError": lambda s, r: raises(
        type="AttributeError", text=f"'Tensor' object has no attribute '{word(s)}'"
    ),
    "a keyword": lambda s, r: raises(
        type="TypeError", text=f"f() got an unexpected keyword argument '{word(s)}'"
    ),
    "a name that is missing": lambda s, r: raises(missing=word(s)),
    "a function": lambda s, r: raises(function=word(s), definition=word(s)),
    "a stub": lambda s, r: raises(
        type="NotImplementedError", source="raise NotImplementedError", definition=word(s)
    ),
    "sizes": lambda s, r: raises(text="7", sizes={"query": (s.randrange(9999),)}),
    "an int": lambda s, r: gives(s.randrange(10**6), "int"),
    "a float": lambda s, r: gives(s.random(), "float"),
    "a text": lambda s, r: gives({"text": word(s)}, "str"),
    "a list": lambda s, r: gives([0] * s.randrange(99), "list"),
    "a dict": lambda s, r: gives({"dict": [[word(s), 1]]}, "dict"),
    "a type": lambda s, r: gives({"unjudged": word(s)}, word(s)),
    "a shape": lambda s, r: shaped(s, s.randrange(1, 99)),
    "many dimensions": lambda s, r: shaped(s, *[1] * s.randrange(9)),
    "parts": lambda s, r: Observation(
        tensors={f"result.{n}": torch.zeros(1) for n in range(s.randrange(1, 40))}
    ),
    "values": lambda s, r: replace(
        r, tensors={k: torch.rand_like(t.double()) + s.random() for k, t in r.tensors.items()}
    ),
    "places": lambda s, r: replace(
        r, tensors={k: t + (torch.rand(t.shape) < s.random()) for k, t in r.tensors.items()}
    ),
    "a parameter": lambda s, r: claims(r, load={"missing": [word(s)]}),
    "a parameter's shape": lambda s, r: claims(
        r, load={"misshapen": {"weight": [s.randrange(999)]}}
    ),
    "an argument's name": lambda s, r: claims(r, names={"arguments": {"query": word(s)}}),
    "another name": lambda s, r: claims(r, names={"understood": {"query": word(s)}}),
    "what is changed": lambda s, r: claims(r, result={"changed": [word(s)]}),
    "an endless loop": lambda s, r: Observation(
        Outcome.TIMEOUT, error=CaughtError("OutOfTime", "5 seconds", 10**6 + s.randrange(999))
    ),
}


# These carry a text, a number, a type and a length; the others are variants of them.


@pytest.mark.parametrize("public_wrong", first_of_each([False, True], type))
@pytest.mark.parametrize("carrier", first_of_each(CARRIERS, type))
def test_what_is_said_on_hidden_cases_is_not_repeated(rows, carrier, public_wrong):
    """Alone each of them carries nothing: whatever it holds, the row is the same."""
    say = CARRIERS[carrier]
    told = set()
    for number in range(SECRETS):
        secret = random.Random(number)
        torch.default_generator.manual_seed(number)
        said = rows(CH1, "attention_scores", lambda c, r, s=secret: say(s, r), public_wrong)
        told.add(said)
    assert len(told) <= (2 if carrier in ("places", "values") else 1), told


def test_no_order_of_arguments_that_hidden_cases_choose_is_reported(grader, project):
    """Each of the orders that are tried could be the one in which hidden cases have an answer."""
    both = grader.maker.references(CH4), grader.maker.public_references(CH4)
    hidden = {id(case) for case, _ in both[0].entries}
    right, public = ({case.id: answer for case, answer in one.entries} for one in both)
    orders: list[dict[str, str]] = []
    text = project.solution(CH4).read_text(encoding="utf-8")

    def row(chosen: int) -> tuple:
        def run(cases: list[Case]) -> list[Observation]:
            order = backend.assigned.get("trace_shapes")
            if order and order not in orders:
                orders.append(order)
            is_chosen = bool(order) and orders.index(order) == chosen
            answers = {True: right if is_chosen else {}, False: public}
            return [answers[id(case) in hidden].get(case.id, raises()) for case in cases]

        backend = Hostile(text, run)
        taken = inspect.signature(lambda p, q, r, s, t: 0).parameters
        backend.parameters = {"trace_shapes": dict(taken)}
        return row_of(grader, CH4, "trace_shapes", backend)

    told = {row(number) for number in range(10)}
    assert len(orders) >= 10 and len(told) == 1, told


def anything(secret: random.Random, lines: int, cases: dict, case, right) -> Observation:
    """How a secret changes one case: right, wrong in some way, or unchanged."""
    if case.group not in cases or secret.random() < 0.1:
        cases[case.group] = secret.choice(["right", "right", "line", *CARRIERS])
    carrier = cases[case.group]
    if carrier == "right":
        return right
    if carrier == "line":
        types = ["ValueError", "TypeError", "KeyError", "IndexError", "NameError", word(secret)]
        line = secret.randrange(1, lines)
        return raises(type=secret.choice(types), text=word(secret), line=line, source="x")
    return CARRIERS[carrier](secret, right)


@pytest.mark.slow
def test_without_redaction_most_carriers_carry_something(rows, monkeypatch):
    """So the test above proves something."""
    monkeypatch.setattr(pipeline, "for_learner", lambda part, status, checks: checks)
    told = {
        carrier: {
            rows(CH1, "attention_scores", lambda c, r, n=n, say=say: say(random.Random(n), r))
            for n in range(3)
        }
        for carrier, say in CARRIERS.items()
    }
    assert sum(len(some) > 1 for some in told.values()) >= len(CARRIERS) * 2 // 3


@pytest.mark.slow
def test_lines_and_types_are_reported_as_far_as_there_are_few(project, rows):
    """All ways in which an exercise that is right in public can end in an error on hidden cases."""
    lines = len(project.solution(CH1).read_text(encoding="utf-8").splitlines())
    told = {
        rows(CH1, "attention_scores", lambda c, r, e=error: Observation(error=e))
        for line in range(1, lines)
        for error in [CaughtError("KeyError", line=line, source="x")]
    }
    assert 2 <= len(told) <= 10  # its few lines of code, and all others alike
    types = [("KeyError",), ("IndexError",), ("MyOwnError",), ("AnotherOne",)]
    named = {rows(CH1, "attention_scores", lambda c, r, t=t: raises(type=t[0])) for t in types}
    assert len(named) == 3, named


@pytest.mark.parametrize("chapter, exercise", [(CH1, "softmax"), (CH3, "CausalAttention")])
def test_points_mistakes_and_sentences_stay_within_the_bits(grader, project, chapter, exercise):
    """What `sentences` gives away is counted once more."""
    maker = grader.maker
    text = project.solution(chapter).read_text(encoding="utf-8")
    attempt = maker.attempt_from(chapter, Hostile(text, list))
    part = attempt.exercises[exercise]
    part.seen = [Seen(case, right, right) for case, right in maker.references(chapter).of(exercise)]
    worth = [check.points for check in grader.collected.call(attempt, exercise)[exercise]]
    prints = attempt.fingerprints.by_exercise[exercise]
    singles = {one.mistakes for one in prints if len(one.mistakes) == 1}
    assert len(singles) > 10 and sentences(part, worth) > FIXED
    rows = len(possible_points(worth)) * sentences(part, worth) + len(singles)
    assert rows <= 2**BITS


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "chapter, exercise, count",
    [
        (CH1, "attention_scores", 5000),
        (CH1, "softmax", 400),
        (CH3, "CausalAttention", 100),
        (CH4, "MultiHeadAttention", 50),
    ],
)
def test_everything_together_carries_no_more_than_twelve_bits(
    project, rows, chapter, exercise, count
):
    lines = len(project.solution(chapter).read_text(encoding="utf-8").splitlines())
    told = set()
    for number in range(count):  # of more secrets than 4,096 in the first exercise alone
        secret, cases = random.Random(number), {}
        torch.default_generator.manual_seed(number)
        told.add(
            rows(
                chapter,
                exercise,
                lambda c, r, s=secret, known=cases: anything(s, lines, known, c, r),
                public_wrong=number % 2 == 1,
            )
        )
    print(f"{exercise}: {len(told)} rows for {count} secrets")
    assert len(told) <= 2**BITS
