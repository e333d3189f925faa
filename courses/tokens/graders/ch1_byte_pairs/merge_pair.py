"""Cases, checks and known mistakes of the exercise merge_pair."""

from tensorgrade.author import call, case, check, it, shown

from ..texts import some_ids


def cases(draw):
    """Return cases with the pair in the middle, at the end, in runs or missing, and short lists."""
    chance = draw.chance()
    lists = [some_ids(chance, n, 3) for n in (12, 40)]
    new = chance.randrange(256, 900)
    a, b, c = chance.sample(range(20), 3)
    return [
        shown("values/three", call(ids=[5, 6, 6, 5, 6], pair=(5, 6), new_id=256)),
        *(
            case(f"values/{len(ids)} ids", call(ids=ids, pair=(ids[2], ids[3]), new_id=new))
            for ids in lists
        ),
        case("values/at the end", call(ids=[c, a, b, b, a, b], pair=(a, b), new_id=new)),
        case("values/turned round", call(ids=[c, b, a, b, a], pair=(a, b), new_id=new)),
        case("runs/three", call(ids=[a, a, a, c], pair=(a, a), new_id=new)),
        case("runs/five", call(ids=[c, b, b, b, b, b], pair=(b, b), new_id=new)),
        case("short/nowhere", call(ids=[a, c, b], pair=(a, b), new_id=new)),
        case("short/one", call(ids=[a], pair=(a, b), new_id=new)),
        case("short/none", call(ids=[], pair=(a, b), new_id=new)),
    ]


CHECKS = [
    check(4, "The new id replaces each pair, and all other ids stay.", it.agrees("values")),
    check(
        2,
        "In a run of one id, pairs are merged from the left, and no id is used twice.",
        it.agrees("runs"),
    ),
    check(1, "Without the pair, nothing changes.", it.agrees("short")),
    check(1, "The list that is passed in stays unchanged.", it.keeps_inputs("values", "runs")),
]

MISTAKES = """
steps_over_one: After a merge it continues with the pair's second id. Skip both ids.
    place += 2 -> place += 1
last_id_lost: The last id is lost if it does not belong to a pair.
    while place < len(ids) -> while place < len(ids) - 1
pair_either_way_round: The reversed pair is merged too. (5, 6) is not (6, 5).
    == pair -> in (pair, pair[::-1])
first_id_alone: It merges at each first id of the pair, whatever comes next.
    tuple(ids[place : place + 2]) == pair -> ids[place] == pair[0]
only_once: Only the first occurrence is merged. The pair may occur several times.
    place += 2 -> return [*merged, *ids[place + 2 :]]
pair_kept: The new id is inserted, but the pair stays too.
    merged.append(new_id) -> merged += [*pair, new_id]
merged_in_place: The list that is passed in is emptied. The caller still needs it.
    - return merged
    + ids.clear()
    + return merged
"""
