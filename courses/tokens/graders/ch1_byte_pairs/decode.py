"""Cases, checks and known mistakes of the exercise decode."""

from tensorgrade.author import call, case, check, it, shown

from ..texts import some_merges, some_text


def cases(draw):
    """Return cases with bytes, merges, merges of merges, partial letters and unknown ids."""
    chance = draw.chance()
    texts = [some_text(chance, n) for n in (14, 40)]
    merges = [some_merges(chance, text, 6) for text in texts]
    known = {(195, 182): 256, (104, 105): 257, (257, 256): 258}
    letter = chance.randrange(97, 123)
    return [
        shown("values/aab!", call(ids=[257, 33], merges={(97, 97): 256, (256, 98): 257})),
        *(
            case(f"values/{len(text)} letters", call(ids=[*merged.values(), 97, 98], merges=merged))
            for text, merged in zip(texts, merges, strict=True)
        ),
        case("bytes/two ids, one letter", call(ids=[98, 195, 182], merges={})),
        case("bytes/merged", call(ids=[258, 32, 256], merges=known)),
        case("halves/first", call(ids=[letter, 195, letter], merges={})),
        case("short/none", call(ids=[], merges=known)),
        case(
            "strange/no merge",
            call(ids=[97, chance.randrange(259, 9999)], merges=known),
            signature="error",
        ),
        case("strange/below zero", call(ids=[-1, 97], merges=known), signature="error"),
    ]


CHECKS = [
    check(4, "The text of the ids, whatever they were merged from.", it.agrees("values")),
    check(2, "Bytes are joined first and decoded as UTF-8 afterwards.", it.agrees("bytes")),
    check(
        1,
        "An incomplete letter becomes the replacement character and raises no error.",
        it.agrees("halves"),
    ),
    check(1, "An empty list gives an empty text.", it.agrees("short")),
    check(
        2, "An unknown id raises an error.", it.refuses("strange", "an unknown id raises no error")
    ),
]

MISTAKES = """
byte_by_byte: Each id is decoded on its own. A letter may consist of several bytes: join them first.
    - b"".join(pieces[number] for number in ids).decode("utf-8", errors="replace")
    + "".join(pieces[number].decode("utf-8", errors="replace") for number in ids)
halves_turned_round: The two halves of a merge are swapped.
    pieces[left] + pieces[right] -> pieces[right] + pieces[left]
errors_raised: An incomplete letter raises an error. How should decoding handle such errors?
    , errors="replace") -> )
errors_ignored: An incomplete letter is left out. It should become the replacement character.
    errors="replace" -> errors="ignore"
strange_ids_skipped: An unknown id is skipped silently.
    - raise ValueError(f"no merge gives the id {number}")
    + ids = [one for one in ids if one in pieces]
bytes_come_back: Bytes are returned instead of a text.
    .decode("utf-8", errors="replace") ->
read_as_latin: Each byte is decoded as one letter. Our texts are UTF-8.
    .decode("utf-8", errors="replace") -> .decode("latin-1")
"""
