"""All that judges train_bpe: its cases, its tests with their points, its own mistakes."""

from tensorgrade import exercise
from tensorgrade.author import call, case, mistake, shown

from ..texts import some_text


def cases(pick):
    """Texts with letters of one byte and of two; too short ones; ties."""
    chance = pick.chance("train_bpe")
    sizes = pick(public=[(30, 4)], hidden=[(40, 5), (90, 12)])
    texts = [(some_text(chance, length), merges) for length, merges in sizes]
    word = pick(public="ab", hidden="".join(chance.sample("fghijk", 2)))
    return [
        shown("values/aaabdaaabac", call(text="aaabdaaabac", num_merges=2)),
        *(case(f"values/{len(t)} letters", call(text=t, num_merges=n)) for t, n in texts),
        case("bytes/umlauts", call(text=pick(public="öö ö", hidden="ßä ßäß"), num_merges=2)),
        case("ties/first", call(text=f"{word}-{word[::-1]}-{word}{word[::-1]}", num_merges=1)),
        case("early/too many", call(text=word * 3, num_merges=50)),
        case("early/no pair twice", call(text=word, num_merges=3)),
        case("early/no text", call(text="", num_merges=3)),
        case("early/none asked for", call(text=word * 3, num_merges=0)),
    ]


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


MISTAKES = [
    mistake(
        "ids_from_257",
        "The first new id is 257. The bytes take 0 to 255, so it should be 256.",
        ("merges[best] = 256 + number", "merges[best] = 257 + number"),
        ("best, 256 + number)", "best, 257 + number)"),
    ),
    mistake(
        "never_written_anew",
        "The ids are never written anew, so the same pair is the most frequent one for ever.",
        ("ids = merge_pair(ids, best, 256 + number)", "pass"),
    ),
    mistake(
        "last_of_equals",
        "Of equally frequent pairs it takes the one that comes up last.",
        ("max(counts, key=counts.get)", "max(reversed(counts), key=counts.get)"),
    ),
    mistake(
        "largest_of_equals",
        "Of equally frequent pairs it takes the largest ids, not the one that comes up first.",
        ("max(counts, key=counts.get)", "max(counts, key=lambda pair: (counts[pair], pair))"),
    ),
    mistake(
        "least_frequent",
        "It merges the pair that occurs least often.",
        ("max(counts, key=counts.get)", "min(counts, key=counts.get)"),
    ),
    mistake(
        "largest_pair",
        "It merges the pair with the largest ids, however often that occurs.",
        ("max(counts, key=counts.get)", "max(counts)"),
    ),
    mistake(
        "single_pairs_merged",
        "Pairs that occur only once are merged, too. There is nothing to gain from that.",
        ("if not counts or max(counts.values()) < 2", "if not counts"),
    ),
    mistake(
        "one_merge_too_many",
        "It learns one merge more than it is asked for.",
        ("range(num_merges)", "range(num_merges + 1)"),
    ),
    mistake(
        "keyed_by_id",
        "The dict is the wrong way round: the pair is the key, and its id the value.",
        ("return merges", "return {number: pair for pair, number in merges.items()}"),
    ),
]
