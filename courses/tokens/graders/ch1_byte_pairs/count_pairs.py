"""Cases, checks and known mistakes of the exercise count_pairs."""

from tensorgrade.author import call, case, check, it, shown

from ..texts import some_ids


def cases(draw):
    """Return cases with lists of several lengths, runs of one id, and lists without any pair."""
    chance = draw.chance()
    lists = [some_ids(chance, n) for n in (9, 40)]
    return [
        shown("values/twice", call(ids=[5, 6, 5, 6])),
        *(case(f"values/{len(ids)} ids", call(ids=ids)) for ids in lists),
        case("overlap/a run", call(ids=[*some_ids(chance, 4, 1), 8])),
        case("short/one", call(ids=[chance.randrange(9)])),
        case("short/none", call(ids=[])),
    ]


CHECKS = [
    check(4, "Each pair of neighbours, with its number of occurrences.", it.agrees("values")),
    check(2, "Overlapping pairs are counted separately.", it.agrees("overlap")),
    check(1, "A list with one id or none has no pairs, and raises no error.", it.agrees("short")),
    check(1, "Pairs are in the order of their first occurrence.", it.keeps_order("values")),
]

MISTAKES = """
last_pair_lost: The last pair is not counted: n ids have n − 1 pairs.
    zip(ids, ids[1:]) -> zip(ids[:-1], ids[1:-1])
pairs_side_by_side: Only every second pair is counted. Each id except the last starts a pair.
    zip(ids, ids[1:]) -> zip(ids[::2], ids[1::2])
only_seen: Each pair is counted once, however often it occurs.
    counts.get(pair, 0) + 1 -> 1
counted_from_zero: A pair that occurs once is counted as 0: the count starts one too low.
    counts.get(pair, 0) + 1 -> counts.get(pair, -1) + 1
order_ignored_in_pairs: (5, 6) and (6, 5) are treated as the same pair. The order of the two ids
  matters.
    for pair in zip(ids, ids[1:]) -> for pair in map(tuple, map(sorted, zip(ids, ids[1:])))
single_ids_counted: Single ids are counted instead of pairs of neighbours.
    zip(ids, ids[1:]) -> zip(ids, ids)
sorted_by_count: The pairs are sorted. They should stay in the order of their first occurrence.
    return counts -> return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
"""
