"""Messages are data: each has an id of its own, and only views turn them into words."""

import ast
import re
from collections import Counter
from dataclasses import MISSING, fields
from importlib import import_module
from pkgutil import iter_modules
from string import Formatter
from typing import get_type_hints

import pytest

from tensorgrade import messages
from tensorgrade.messages.message import Message, Plain, marked_fields, render, sentence

from .imports import MODULES

for found in iter_modules(messages.__path__):
    import_module(f"tensorgrade.messages.{found.name}")
# Views, the module that makes rows, and the catalogue itself.
MAY_RENDER = ("views.", "learner.", "instructor.", "messages.", "attempts.pipeline")


def all_messages(base: type[Message] = Message) -> list[type[Message]]:
    """Return every class of the catalogue."""
    below = [one for child in base.__subclasses__() for one in all_messages(child)]
    return [*base.__subclasses__(), *below]


def hidden_messages() -> list[type[Message]]:
    """Return the messages that learners read if only hidden cases are wrong."""
    return [one for one in all_messages() if one.__module__ == "tensorgrade.messages.hidden"]


MESSAGES = sorted(set(all_messages()), key=lambda one: one.__qualname__)


def test_the_catalogue_has_many_messages():
    assert len(MESSAGES) > 150


def test_ids_are_unique_and_written_out():
    counted = Counter(one.id for one in MESSAGES)
    assert [name for name, count in counted.items() if count > 1] == []
    assert [one for one in MESSAGES if "id" not in vars(one)] == []


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: one.id)
def test_a_template_uses_only_fields_of_its_message(message):
    used = {name for _, name, _, _ in Formatter().parse(message.template) if name}
    names = {field.name for field in fields(message)}
    assert {re.split(r"[.\[!]", name)[0] for name in used} <= names


def test_only_views_turn_messages_into_words():
    words = {"render", "sentence", "words_of"}
    users = {
        module.removeprefix("tensorgrade.")
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("messages.message")
        if words & {name.name for name in node.names}
    }
    assert users and [name for name in users if not name.startswith(MAY_RENDER)] == []


def test_no_message_becomes_text_by_accident():
    assert [one for one in MESSAGES if "__str__" in vars(one) or "__format__" in vars(one)] == []


@pytest.mark.parametrize("message", hidden_messages(), ids=lambda one: one.id)
def test_what_only_hidden_cases_show_repeats_nothing_of_the_learner(message):
    assert marked_fields(message) == {}


def test_parameters_are_stored_with_their_messages():
    nested = next(one for one in MESSAGES if one.id == "gradient_of")
    weight = get_type_hints(nested)["weight"](name="W")
    assert nested(weight).params() == {
        "weight": {"message_id": "weight_name", "params": {"name": "W", "inside": ""}}
    }
    assert render(nested(weight)) == "the gradient for `W`"


def test_braces_in_a_learners_text_stay_as_they_are():
    assert sentence(Plain("{x} is {0}")) == "{x} is {0}."


def test_fields_without_a_default_come_first():
    for message in MESSAGES:
        defaults = [field.default is not MISSING for field in fields(message)]
        assert defaults == sorted(defaults), message
