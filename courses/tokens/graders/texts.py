"""Random texts and ids for cases; those of hidden cases depend on the course's seed."""

from random import Random

LETTERS = "abcdeö "


def some_ids(chance: Random, length: int, kinds: int = 4) -> list[int]:
    """Return random ids of `kinds` neighbouring numbers. With few kinds, many pairs repeat."""
    first = chance.randrange(20, 200)
    return [first + chance.randrange(kinds) for _ in range(length)]


def some_text(chance: Random, length: int) -> str:
    """Return random letters, the earlier ones of LETTERS more often. `ö` is two bytes in UTF-8."""
    return "".join(LETTERS[min(chance.randrange(9), chance.randrange(7))] for _ in range(length))


def some_words(chance: Random, count: int) -> str:
    """Return words of a few letters."""
    return " ".join("".join(chance.choices("aehlt", k=chance.randint(2, 3))) for _ in range(count))


def some_merges(chance: Random, text: str, count: int) -> dict[tuple[int, int], int]:
    """Return merges as training might learn them: pairs of bytes of a text, then pairs of these."""
    ids, merges = list(text.encode("utf-8")), {}
    for number in range(256, 256 + count):
        pair = tuple(ids[(place := chance.randrange(len(ids) - 1)) : place + 2])
        if pair not in merges:
            merges[pair] = number
            ids[place : place + 2] = [number]
    return merges
