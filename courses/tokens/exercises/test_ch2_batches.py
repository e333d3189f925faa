"""Checks of chapter 2: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise


@exercise("Vocabulary", points=4)
def test_vocabulary_ids(attempt):
    """Sorted words from 0 on, followed by the special tokens."""
    attempt.Vocabulary.agrees("ids")


@exercise("Vocabulary", points=2)
def test_vocabulary_encode(attempt):
    """The ids of a text, including its special tokens."""
    attempt.Vocabulary.agrees("encode")


@exercise("Vocabulary", points=2)
def test_vocabulary_unknown(attempt):
    """An unknown word gets the id of `<unk>`."""
    attempt.Vocabulary.agrees("unknown")


@exercise("Vocabulary", points=1)
def test_vocabulary_refused(attempt):
    """Without `<unk>`, an unknown word raises an error."""
    attempt.Vocabulary.refuses("refused", "an unknown word raises no error")


@exercise("Vocabulary", points=2)
def test_vocabulary_decode(attempt):
    """Ids become tokens again, separated by one space."""
    attempt.Vocabulary.agrees("decode")


@exercise("Vocabulary", points=1)
def test_vocabulary_stays(attempt):
    """Encoding does not change the vocabulary."""
    attempt.Vocabulary.agrees("same")
    attempt.Vocabulary.keeps_inputs("same", objects=True)


@exercise("shifted_windows", points=5)
def test_shifted_windows_values(attempt):
    """Windows, and the windows one position later."""
    attempt.shifted_windows.agrees("values")


@exercise("shifted_windows", points=2)
def test_shifted_windows_fit(attempt):
    """A window is included only if its last target exists."""
    attempt.shifted_windows.agrees("fit")


@exercise("shifted_windows", points=1)
def test_shifted_windows_none(attempt):
    """Without any window, the tensors have the shape (0, length)."""
    attempt.shifted_windows.agrees("none")


@exercise("shifted_windows", points=1)
def test_shifted_windows_dtype(attempt):
    """Ids are integers: dtype int64."""
    attempt.shifted_windows.keeps_dtype("dtype")


@exercise("shifted_windows", points=1)
def test_shifted_windows_inputs(attempt):
    """The list that is passed in stays unchanged."""
    attempt.shifted_windows.keeps_inputs("values")
