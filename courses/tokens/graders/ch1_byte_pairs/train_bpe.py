"""Cases, checks and known mistakes of the exercise train_bpe."""

from tensorgrade.author import call, case, check, it, shown

from ..texts import some_text


def cases(draw):
    """Return cases with letters of one byte and of two, texts that are too short, and ties."""
    chance = draw.chance()
    texts = [(some_text(chance, length), merges) for length, merges in ((30, 4), (90, 12))]
    word = "".join(chance.sample("fghijk", 2))
    one, other = chance.sample("äöüß", 2)
    return [
        shown("values/aaabdaaabac", call(text="aaabdaaabac", num_merges=2)),
        *(case(f"values/{len(t)} letters", call(text=t, num_merges=n)) for t, n in texts),
        case("bytes/umlauts", call(text=f"{one}{other} {one}{other}{one}", num_merges=2)),
        case("ties/first", call(text=f"{word}-{word[::-1]}-{word}{word[::-1]}", num_merges=1)),
        case("early/too many", call(text=word * 3, num_merges=50)),
        case("early/no pair twice", call(text=word, num_merges=3)),
        case("early/no text", call(text="", num_merges=3)),
        case("early/none asked for", call(text=word * 3, num_merges=0)),
    ]


CHECKS = [
    check(6, "The merges of a text, with the id of each one.", it.agrees("values")),
    check(2, "A letter that UTF-8 writes in two bytes begins as two ids.", it.agrees("bytes")),
    check(2, "Of equally frequent pairs, the one that occurs first is merged.", it.agrees("ties")),
    check(2, "It stops early if no pair occurs twice.", it.agrees("early")),
]

MISTAKES = """
ids_from_257: The first new id is 257. Bytes use 0 to 255, so it should be 256.
    merges[best] = 256 + number -> merges[best] = 257 + number
    best, 256 + number) -> best, 257 + number)
never_written_anew: The ids are not updated after a merge, so the same pair stays the most frequent
  one.
    ids = merge_pair(ids, best, 256 + number) -> pass
last_of_equals: Of equally frequent pairs, the last one is used instead of the first.
    max(counts, key=counts.get) -> max(reversed(counts), key=counts.get)
largest_of_equals: Of equally frequent pairs, the one with the largest ids is used instead of the
  first.
    max(counts, key=counts.get) -> max(counts, key=lambda pair: (counts[pair], pair))
least_frequent: The rarest pair is merged instead of the most frequent one.
    max(counts, key=counts.get) -> min(counts, key=counts.get)
largest_pair: The pair with the largest ids is merged, however often it occurs.
    max(counts, key=counts.get) -> max(counts)
single_pairs_merged: Pairs that occur only once are merged too, which saves nothing.
    if not counts or max(counts.values()) < 2 -> if not counts
one_merge_too_many: There is one merge too many.
    range(num_merges) -> range(num_merges + 1)
keyed_by_id: Keys and values of the dict are swapped: the pair should be the key, and its id the
  value.
    return merges -> return {number: pair for pair, number in merges.items()}
"""
