"""All that a child is ever sent of a chapter: its cases one by one, and no way to another one."""

import json
import re
import struct

import pytest
import torch

from tensorgrade.author import PUBLIC_SEED, cases_of, seed_for
from tensorgrade.exchange.cases import Case
from tensorgrade.runner.wire import pack, plain, unpack
from tensorgrade.sandbox.processes import Child

from ..support import stored_references

CHAPTERS = (
    "ch1_simplified_attention",
    "ch2_self_attention",
    "ch3_causal_attention",
    "ch4_multi_head_attention",
)
DIGITS = {10: r"[0-9]+", 16: r"[0-9a-f]+"}
SEEDS_IN_STEPS = (0, 1, 2, 123, 789)  # what authors write


def hidden_cases(project, chapter: str) -> list[Case]:
    """Return every hidden case of a chapter, drawn again."""
    exercises = project.course.chapter(chapter).exercises
    return [
        case
        for exercise in exercises
        for case in cases_of(project, chapter, exercise.name, hidden=True)
    ]


def integers_in(value: object) -> set[int]:
    """Return all integers in JSON, including texts of digits or of hex digits."""
    if isinstance(value, dict):
        return {n for part in (*value, *value.values()) for n in integers_in(part)}
    if isinstance(value, list):
        return {n for part in value for n in integers_in(part)}
    if isinstance(value, str):
        return {int(value, base) for base in (10, 16) if re.fullmatch(DIGITS[base], value)}
    return {value} if isinstance(value, int) else set()


def seeds_in(case: Case) -> set[int]:
    """The seeds that a case's steps set in the learner's process; a step may set none."""
    return {seed for step in case.steps if (seed := step.options.get("seed")) is not None}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_number_sent_leads_to_another_case(project, chapter):
    master, cases = project.course.seed, hidden_cases(project, chapter)
    sent = [pack({"steps": [step.encode() for step in case.steps]}, case.tensors) for case in cases]
    low, high = master % 2**64, master >> 64
    spelled = [
        str(master).encode(),
        f"{master:x}".encode(),
        *(struct.pack("<Q", n) for n in (low, high)),
    ]
    numbers = [integers_in(unpack(message)[0]) for message in sent]
    own = [{seed_for(master, c.exercise, c.name), *seeds_in(c)} for c in cases]
    assert any(seeds_in(case) for case in cases)
    for message, seen in zip(sent, numbers, strict=True):
        assert master not in seen and not any(text in message for text in spelled)
        # The numbers of the inputs come from a seed that is not sent at all.
        assert not seen & {seed_for(master, case.exercise, case.name) for case in cases}
    # The sent data, the public functions and the names together do not reveal the seed.
    known = set().union(*numbers, {PUBLIC_SEED})
    secret = set().union(*own)
    for case in cases:
        names = case.exercise, case.name
        for number in known:
            made = {seed_for(number, *names)}
            made |= {seed_for(number, *names, "seed", written) for written in SEEDS_IN_STEPS}
            assert not made & secret


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_two_cases_share_no_seed(project, chapter):
    cases = hidden_cases(project, chapter)
    seeds = [seed for case in cases for seed in seeds_in(case)]
    assert len(seeds) == len(set(seeds)) and min(seeds) > 2**32


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_case_is_sent_at_its_turn_and_without_its_name(judge, project, monkeypatch, chapter):
    wire: list[tuple[str, bytes]] = []
    send, receive = Child.send, Child.receive

    def seen_send(self, message, seconds):
        wire.append(("sent", message))
        return send(self, message, seconds)

    def seen_receive(self, *arguments):
        wire.append(("got", b""))
        return receive(self, *arguments)

    monkeypatch.setattr(Child, "send", seen_send)
    monkeypatch.setattr(Child, "receive", seen_receive)
    verdicts = judge.chapter(chapter, project.solution(chapter).read_text(encoding="utf-8"))
    assert {verdict.status for verdict in verdicts.values()} == {"passed"}
    references = stored_references(project, chapter)
    cases = [case for case, _ in references.entries]
    (look, _), (load, _), *messages = [unpack(message) for way, message in wire if way == "sent"]
    alone = [header["program"] for header, _ in messages if "program" in header]
    sent = [message for message in messages if "program" not in message[0]]
    # The distance from the given code is measured before the file runs.
    assert look["do"] == "look" and load["program"]["alone"] is None
    assert {n: given for n, given in look["exercises"].items() if given} == references.bugs
    # A find-the-bug exercise has a child of its own, which loads that definition alone.
    assert [program["alone"][0] for program in alone] == list(references.bugs)
    assert [way for way, _ in wire] == ["sent", "got"] * (2 + len(cases) + len(alone))
    for case, (header, tensors) in zip(cases, sent, strict=True):
        assert set(header) == {"do", "id", "steps"} and set(tensors) == set(case.tensors)
        assert all(torch.equal(tensors[name], plain(t)) for name, t in case.tensors.items())
        said = json.dumps(header) + " ".join(tensors)
        assert case.name not in said and case.id not in said and f"{case.group}/" not in said
        # The exercise is named where it is called, and nowhere else.
        assert said.count(case.exercise) == sum(s.name == case.exercise for s in case.steps)
    assert len({header["id"] for header, _ in sent}) == len(cases)
