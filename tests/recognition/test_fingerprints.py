"""Fingerprints on disk are read back, and damaged ones count as missing."""

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.author import call
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import CaughtError, Observation
from tensorgrade.exchange.references import Seen
from tensorgrade.exchange.stored import key_in, store
from tensorgrade.recognition.fingerprints import (
    Fingerprint,
    Known,
    digest_of,
    imprints_of,
    recognize,
    stored_form,
    with_facts,
)
from tensorgrade.recognition.imprints import Imprint

IMPRINTS = {"a/1": Imprint("x", (1.0, 2.0)), "a/2": Imprint("y", facts=("grows=True",))}
PRINTS = [Fingerprint(("wrong",), IMPRINTS, 0.5, ("It is right.",))]


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_damaged_file_has_no_key(tmp_path_factory, place, byte):
    path = tmp_path_factory.mktemp("stored") / "f.safetensors"
    store(path, "key", {"fingerprints": stored_form(PRINTS)}, {"f:a|in|x": torch.ones(3)})
    content = path.read_bytes()
    assert key_in(path) == "key"
    at = place % len(content)
    path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
    assert key_in(path) == ("key" if content[at] == byte else "")
    path.write_bytes(content[:at])
    assert key_in(path) == ""


RIGHT = torch.tensor([1.0, 2.0, 3.0])
SIZES = "too large (7)"


def seen(*results: object) -> list[Seen]:
    """Cases on which `RIGHT` is right and these results came back: tensors, or texts of errors."""
    entries = []
    for number, result in enumerate(results):
        case = record("f", f"a/{number}", [call("f", x=torch.ones(2))])
        told = {"tensors": {"result": result}} if isinstance(result, torch.Tensor) else {}
        if isinstance(result, str):
            told = {"error": CaughtError("ValueError", result, verb="call")}
        entries.append(Seen(case, Observation(tensors={"result": RIGHT}), Observation(**told)))
    return entries


def known(**mistakes: list) -> Known:
    """What is known if these mistakes give these results."""
    prints = [Fingerprint((n,), imprints_of(seen(*r), {})) for n, r in mistakes.items()]
    return Known(imprints_of(seen(*[RIGHT] * 4), {}), prints)


def named_in(attempt: list[Seen], prints: Known) -> tuple:
    """The sets of mistakes that are recognized."""
    return recognize(prints, imprints_of(attempt, {}), attempt)


DOUBLED, TURNED = 2 * RIGHT, RIGHT.flip(0)


def test_a_mistake_is_known_by_all_cases_or_by_all_but_another_error():
    prints = known(doubled=[DOUBLED, DOUBLED, DOUBLED, SIZES])
    for last, named in [
        (SIZES, (("doubled",),)),  # the very same
        ("my own assert", (("doubled",),)),  # an error of another kind
        (DOUBLED, (("doubled",),)),  # a value where the other form raises
        (RIGHT, ()),  # right where the mistake is wrong
    ]:
        assert named_in(seen(DOUBLED, DOUBLED, DOUBLED, last), prints) == named


def test_errors_alone_and_two_wrong_cases_are_not_enough():
    prints = known(doubled=[DOUBLED, DOUBLED, SIZES, SIZES], fails=[SIZES] * 4)
    assert named_in(seen(DOUBLED, DOUBLED, SIZES, "another"), prints) == ()
    assert named_in(seen(*["another"] * 4), prints) == ()
    assert named_in(seen(*["too large (8)"] * 4), prints) == ()  # other sizes


CHANGED = {"result": {"changed": ["x"]}}


def changing(attempt: list[Seen]) -> list[Seen]:
    """The same results of calls that change their input."""
    return [
        one._replace(observed=replace(one.observed, facts=CHANGED | one.observed.facts))
        for one in attempt
    ]


def test_a_fact_beside_a_mistake_is_named_by_itself_and_hides_nothing():
    right, doubled = seen(RIGHT, RIGHT), seen(DOUBLED, DOUBLED)
    doubled_only = Fingerprint(("doubled",), imprints_of(doubled, {}))
    overwritten = Fingerprint(("overwritten",), imprints_of(changing(right), {}))
    both_at_once = Fingerprint(("doubled_in_place",), imprints_of(changing(doubled), {}))
    for prints, attempt, named in [
        ([doubled_only, overwritten], doubled, ("doubled",)),
        ([doubled_only, overwritten], changing(doubled), ("doubled", "overwritten")),
        ([doubled_only], changing(doubled), ("doubled",)),
        ([doubled_only, overwritten], changing(right), ("overwritten",)),
        ([both_at_once, overwritten], doubled, ()),  # its own fact is not there
        ([doubled_only, both_at_once, overwritten], changing(doubled), ("doubled_in_place",)),
    ]:
        both, imprints = Known(imprints_of(right, {}), prints), imprints_of(attempt, {})
        sets = recognize(both, imprints, attempt)
        found = with_facts(sets, both, imprints) if sets or both.is_right(imprints) else ()
        assert found == ((named,) if named else ())


def test_equal_answers_share_a_group_and_no_other_course_can_tell_it():
    one, close, other = (imprints_of(seen(r), {}) for r in (DOUBLED, DOUBLED + 1e-9, TURNED))
    assert digest_of("f", one, b"1") == digest_of("f", close, b"1")
    names = {digest_of("f", one, b"1"), digest_of("f", other, b"1"), digest_of("g", one, b"1")}
    assert len(names | {digest_of("f", one, b"2")}) == 4 and "".join(names).isalpha()
