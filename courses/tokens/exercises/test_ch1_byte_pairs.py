"""Checks of chapter 1: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise


@exercise("count_pairs", points=4)
def test_count_pairs_values(attempt):
    """Each pair of neighbours with how often it occurs."""
    attempt.count_pairs.agrees("values")


@exercise("count_pairs", points=2)
def test_count_pairs_overlap(attempt):
    """Pairs that overlap count each for itself."""
    attempt.count_pairs.agrees("overlap")


@exercise("count_pairs", points=1)
def test_count_pairs_short(attempt):
    """One id or none at all: no pairs, and no error."""
    attempt.count_pairs.agrees("short")


@exercise("count_pairs", points=1)
def test_count_pairs_order(attempt):
    """Pairs stand in the order in which they come up first."""
    attempt.count_pairs.keeps_order("values")


@exercise("merge_pair", points=4)
def test_merge_pair_values(attempt):
    """The new id stands wherever the pair stood; all other ids stay."""
    attempt.merge_pair.agrees("values")


@exercise("merge_pair", points=2)
def test_merge_pair_runs(attempt):
    """In a run of one id, pairs are taken from the left, and none twice."""
    attempt.merge_pair.agrees("runs")


@exercise("merge_pair", points=1)
def test_merge_pair_short(attempt):
    """Where the pair is not there, nothing changes."""
    attempt.merge_pair.agrees("short")


@exercise("merge_pair", points=1)
def test_merge_pair_inputs(attempt):
    """The list that is passed in stays as it was."""
    attempt.merge_pair.keeps_inputs("values", "runs")


@exercise("train_bpe", points=6)
def test_train_bpe_values(attempt):
    """The merges of a text, and the id that each of them gets."""
    attempt.train_bpe.agrees("values")


@exercise("train_bpe", points=2)
def test_train_bpe_bytes(attempt):
    """Letters of two bytes enter as these two bytes."""
    attempt.train_bpe.agrees("bytes")


@exercise("train_bpe", points=2)
def test_train_bpe_ties(attempt):
    """Of equally frequent pairs the one that comes up first is merged."""
    attempt.train_bpe.agrees("ties")


@exercise("train_bpe", points=2)
def test_train_bpe_early(attempt):
    """It ends early where no pair occurs twice."""
    attempt.train_bpe.agrees("early")


@exercise("encode", points=4)
def test_encode_values(attempt):
    """The bytes of a text with all merges applied."""
    attempt.encode.agrees("values")


@exercise("encode", points=2)
def test_encode_order(attempt):
    """Merges are applied in the order of learning, each of them once."""
    attempt.encode.agrees("order")


@exercise("encode", points=1)
def test_encode_bytes(attempt):
    """Letters of two bytes enter as these two bytes."""
    attempt.encode.agrees("bytes")


@exercise("encode", points=1)
def test_encode_short(attempt):
    """No merges leave the bytes; no text has no ids."""
    attempt.encode.agrees("short")


@exercise("encode", points=1, guard=True)
def test_encode_inputs(attempt):
    """The merges that are passed in stay as they were."""
    attempt.encode.keeps_inputs("values")


@exercise("decode", points=4)
def test_decode_values(attempt):
    """The text that ids stand for, whatever they were merged from."""
    attempt.decode.agrees("values")


@exercise("decode", points=2)
def test_decode_bytes(attempt):
    """Bytes are joined first and read as UTF-8 then."""
    attempt.decode.agrees("bytes")


@exercise("decode", points=1)
def test_decode_halves(attempt):
    """Half a letter becomes the replacement character, and no error."""
    attempt.decode.agrees("halves")


@exercise("decode", points=1)
def test_decode_short(attempt):
    """No ids are no text."""
    attempt.decode.agrees("short")


@exercise("decode", points=2)
def test_decode_strange(attempt):
    """An id that stands for nothing is refused with a ValueError."""
    attempt.decode.refuses(
        "strange", "an id that stands for nothing is decoded all the same", errors=["ValueError"]
    )
