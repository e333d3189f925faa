"""Messages are data: each has an id of its own, and only views turn them into words."""

import ast
import re
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from string import Formatter

from tensorgrade import messages
from tensorgrade.messages.message import Message, Plain, sentence

from .imports import MODULES

for found in iter_modules(messages.__path__):
    import_module(f"tensorgrade.messages.{found.name}")
# Views, the module that makes rows, and the catalogue itself.
MAY_RENDER = ("views.", "learner.", "instructor.", "messages.", "attempts.pipeline")


def all_messages(base: type[Message] = Message) -> set[type[Message]]:
    """Return every class of the catalogue."""
    below = [all_messages(child) for child in base.__subclasses__()]
    return set(base.__subclasses__()).union(*below)


def test_ids_are_unique_and_written_out():
    counted = Counter(one.id for one in all_messages())
    assert counted and [name for name, count in counted.items() if count > 1] == []
    assert [one for one in all_messages() if "id" not in vars(one)] == []


def test_a_template_uses_only_fields_of_its_message():
    for message in all_messages():
        used = {name for _, name, _, _ in Formatter().parse(message.template) if name}
        names = {field.name for field in fields(message)}
        assert {re.split(r"[.\[!]", name)[0] for name in used} <= names, message


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


def test_braces_in_a_learners_text_stay_as_they_are():
    assert sentence(Plain("{x} is {0}")) == "{x} is {0}."
