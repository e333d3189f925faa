"""All that a child is ever sent of a chapter: its cases one by one, and no way to another one."""

import json
import re

import pytest
import torch

from tensorgrade.author import PUBLIC_SEED, cases_of, seed_for
from tensorgrade.exchange.cases import Case
from tensorgrade.runner.wire import plain, unpack
from tensorgrade.sandbox.processes import Child

from ..support import stored_references

pytestmark = pytest.mark.slow
CHAPTERS = (
    "ch1_simplified_attention",
    "ch2_self_attention",
    "ch3_causal_attention",
    "ch4_multi_head_attention",
)
DIGITS = {10: r"[0-9]+", 16: r"[0-9a-f]+"}
SEEDS_IN_STEPS = (0, 1, 2, 123, 789)  # what authors write


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
    """Return the seeds that a case's steps set in the learner's process; a step may set none."""
    return {seed for step in case.steps if (seed := step.options.get("seed")) is not None}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_number_sent_leads_to_another_case(project, chapter):
    """The sent data, the public functions and the names together do not reveal a seed."""
    master = project.course.seed
    cases = [
        case
        for exercise in project.course.chapter(chapter).exercises
        for case in cases_of(project, chapter, exercise.name, hidden=True)
    ]
    seeds = [seed for case in cases for seed in seeds_in(case)]
    assert len(seeds) == len(set(seeds)) and min(seeds) > 2**32, "two cases share none"
    known = integers_in([[step.encode() for step in case.steps] for case in cases])
    drawn = {seed_for(master, case.exercise, case.name) for case in cases}
    assert not known & {master, master % 2**64, master >> 64, *drawn}
    secret = {*seeds, *drawn}
    for names in ((case.exercise, case.name) for case in cases):
        for number in known | {PUBLIC_SEED}:
            made = {seed_for(number, *names)}
            made |= {seed_for(number, *names, "seed", written) for written in SEEDS_IN_STEPS}
            assert not made & secret


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
