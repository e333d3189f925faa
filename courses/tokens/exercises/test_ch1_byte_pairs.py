"""Checks of chapter 1: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise


@exercise("count_pairs", points=4)
def test_count_pairs_values(attempt):
    """Each pair of neighbours, with its number of occurrences."""
    attempt.count_pairs.agrees("values")


@exercise("count_pairs", points=2)
def test_count_pairs_overlap(attempt):
    """Overlapping pairs are counted separately."""
    attempt.count_pairs.agrees("overlap")


@exercise("count_pairs", points=1)
def test_count_pairs_short(attempt):
    """A list with one id or none has no pairs, and raises no error."""
    attempt.count_pairs.agrees("short")


@exercise("count_pairs", points=1)
def test_count_pairs_order(attempt):
    """Pairs are in the order of their first occurrence."""
    attempt.count_pairs.keeps_order("values")


@exercise("merge_pair", points=4)
def test_merge_pair_values(attempt):
    """The new id replaces each pair, and all other ids stay."""
    attempt.merge_pair.agrees("values")


@exercise("merge_pair", points=2)
def test_merge_pair_runs(attempt):
    """In a run of one id, pairs are merged from the left, and no id is used twice."""
    attempt.merge_pair.agrees("runs")


@exercise("merge_pair", points=1)
def test_merge_pair_short(attempt):
    """Without the pair, nothing changes."""
    attempt.merge_pair.agrees("short")


@exercise("merge_pair", points=1)
def test_merge_pair_inputs(attempt):
    """The list that is passed in stays unchanged."""
    attempt.merge_pair.keeps_inputs("values", "runs")


@exercise("train_bpe", points=6)
def test_train_bpe_values(attempt):
    """The merges of a text, with the id of each one."""
    attempt.train_bpe.agrees("values")


@exercise("train_bpe", points=2)
def test_train_bpe_bytes(attempt):
    """A letter that UTF-8 writes in two bytes begins as two ids."""
    attempt.train_bpe.agrees("bytes")


@exercise("train_bpe", points=2)
def test_train_bpe_ties(attempt):
    """Of equally frequent pairs, the one that occurs first is merged."""
    attempt.train_bpe.agrees("ties")


@exercise("train_bpe", points=2)
def test_train_bpe_early(attempt):
    """It stops early if no pair occurs twice."""
    attempt.train_bpe.agrees("early")


@exercise("encode", points=4)
def test_encode_values(attempt):
    """The bytes of a text, with all merges applied."""
    attempt.encode.agrees("values")


@exercise("encode", points=2)
def test_encode_order(attempt):
    """Merges are applied in the order in which they were learned, each once."""
    attempt.encode.agrees("order")


@exercise("encode", points=1)
def test_encode_bytes(attempt):
    """A letter that UTF-8 writes in two bytes begins as two ids."""
    attempt.encode.agrees("bytes")


@exercise("encode", points=1)
def test_encode_short(attempt):
    """Without merges the ids are the bytes; an empty text has no ids."""
    attempt.encode.agrees("short")


@exercise("encode", points=1, guard=True)
def test_encode_inputs(attempt):
    """The merges that are passed in stay unchanged."""
    attempt.encode.keeps_inputs("values")


@exercise("decode", points=4)
def test_decode_values(attempt):
    """The text of the ids, whatever they were merged from."""
    attempt.decode.agrees("values")


@exercise("decode", points=2)
def test_decode_bytes(attempt):
    """Bytes are joined first and decoded as UTF-8 afterwards."""
    attempt.decode.agrees("bytes")


@exercise("decode", points=1)
def test_decode_halves(attempt):
    """An incomplete letter becomes the replacement character and raises no error."""
    attempt.decode.agrees("halves")


@exercise("decode", points=1)
def test_decode_short(attempt):
    """An empty list gives an empty text."""
    attempt.decode.agrees("short")


@exercise("decode", points=2)
def test_decode_strange(attempt):
    """An unknown id raises an error."""
    attempt.decode.refuses("strange", "an unknown id raises no error")
