"""Cases, checks and known mistakes of the exercise encode."""

from tensorgrade.author import call, case, check, it, shown

from ..texts import some_merges, some_text


def cases(draw):
    """Return cases with merges that build on each other, for their own text and for others."""
    chance = draw.chance()
    texts = [some_text(chance, n) for n in (14, 60)]
    merges = [some_merges(chance, text, 6) for text in texts]
    first, other = chance.sample(range(97, 123), 2)
    chain = {(first, other): 256, (256, first): 257, (other, first): 258}
    text = chr(first) + chr(other) + chr(first) * 2 + chr(other)
    return [
        shown("values/aab", call(text="aab", merges={(97, 97): 256, (256, 98): 257})),
        *(
            case(f"values/{len(text)} letters", call(text=text, merges=merged))
            for text, merged in zip(texts, merges, strict=True)
        ),
        case("order/chain", call(text=text, merges=chain)),
        case(
            "order/second pair first",
            call(text=text, merges={(other, first): 256, (first, other): 257}),
        ),
        case("bytes/umlauts", call(text=chr(first) + chance.choice("äöüß"), merges=chain)),
        case("short/no merges", call(text=text, merges={})),
        case("short/no text", call(text="", merges=chain)),
    ]


CHECKS = [
    check(4, "The bytes of a text, with all merges applied.", it.agrees("values")),
    check(
        2,
        "Merges are applied in the order in which they were learned, each once.",
        it.agrees("order"),
    ),
    check(1, "A letter that UTF-8 writes in two bytes begins as two ids.", it.agrees("bytes")),
    check(1, "Without merges the ids are the bytes; an empty text has no ids.", it.agrees("short")),
    check(1, "The merges that are passed in stay unchanged.", it.keeps_inputs("values")),
]

MISTAKES = """
merges_backwards: The merges are applied from the last to the first. Later merges are made of
  earlier ones.
    in merges.items() -> in reversed(merges.items())
merges_by_pair: The merges are applied in the order of the pairs' ids instead of the order of
  learning.
    in merges.items() -> in sorted(merges.items())
most_frequent_first: The most frequent pair of the text is merged first. The order of learning
  counts, not the counts in this text.
    - for pair, new_id in merges.items():
    + for _ in ids[1:]:
    +     counts = count_pairs(ids)
    +     pair = max(counts, key=counts.get) if counts else None
    +     if pair not in merges:
    +         break
    merge_pair(ids, pair, new_id) -> merge_pair(ids, pair, merges[pair])
from_left_to_right: Pairs are merged from left to right, whichever comes first in the text. Apply
  one merge to the whole text before the next.
    - for pair, new_id in merges.items():
    -     ids = merge_pair(ids, pair, new_id)
    + place = 0
    + while place < len(ids) - 1:
    +     new_id = merges.get(tuple(ids[place : place + 2]))
    +     ids[place : place + 2] = ids[place : place + 2] if new_id is None else [new_id]
    +     place += new_id is None
first_merge_only: It returns after the first merge.
    ids = merge_pair(ids, pair, new_id) -> return merge_pair(ids, pair, new_id)
bytes_left: The result of each merge is not used, so the plain bytes are returned.
    ids = merge_pair( -> merge_pair(
ids_as_text: The ids are returned as strings; they should be integers.
    return ids -> return [str(number) for number in ids]
"""
