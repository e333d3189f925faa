"""Checks of chapter 2: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise


@exercise("Vocabulary", points=4)
def test_vocabulary_ids(attempt):
    """Sorted words from 0 on, then the special tokens."""
    attempt.Vocabulary.agrees("ids")


@exercise("Vocabulary", points=2)
def test_vocabulary_encode(attempt):
    """The ids of a text, special tokens in it too."""
    attempt.Vocabulary.agrees("encode")


@exercise("Vocabulary", points=2)
def test_vocabulary_unknown(attempt):
    """An unknown word gets the id of `<unk>`."""
    attempt.Vocabulary.agrees("unknown")


@exercise("Vocabulary", points=1)
def test_vocabulary_refused(attempt):
    """Where there is no `<unk>`, an unknown word is refused with a KeyError."""
    attempt.Vocabulary.refuses(
        "refused", "an unknown word gets an id that is none", errors=["KeyError"]
    )


@exercise("Vocabulary", points=2)
def test_vocabulary_decode(attempt):
    """Ids become tokens again, with one space between them."""
    attempt.Vocabulary.agrees("decode")


@exercise("Vocabulary", points=1)
def test_vocabulary_stays(attempt):
    """Encoding changes nothing in the vocabulary."""
    attempt.Vocabulary.agrees("same")
    attempt.Vocabulary.keeps_inputs("same", objects=True)


@exercise("shifted_windows", points=5)
def test_shifted_windows_values(attempt):
    """Windows, and the same ones moved one place on."""
    attempt.shifted_windows.agrees("values")


@exercise("shifted_windows", points=2)
def test_shifted_windows_fit(attempt):
    """A window is there only if its last target is."""
    attempt.shifted_windows.agrees("fit")


@exercise("shifted_windows", points=1)
def test_shifted_windows_none(attempt):
    """No window at all gives tensors of shape (0, length)."""
    attempt.shifted_windows.agrees("none")


@exercise("shifted_windows", points=1)
def test_shifted_windows_dtype(attempt):
    """Ids are whole numbers: dtype int64."""
    attempt.shifted_windows.keeps_dtype("dtype")


@exercise("shifted_windows", points=1)
def test_shifted_windows_inputs(attempt):
    """The list that is passed in stays as it was."""
    attempt.shifted_windows.keeps_inputs("values")
