"""Texts and ids that cases are drawn from; those of hidden cases follow from the course's seed."""

from random import Random

LETTERS = "abcdeö "


def some_ids(chance: Random, length: int, kinds: int = 4) -> list[int]:
    """Ids with so few kinds that many pairs come up again and again."""
    first = chance.randrange(20, 200)
    return [first + chance.randrange(kinds) for _ in range(length)]


def some_text(chance: Random, length: int) -> str:
    """Letters at random, one of them of two bytes, the first ones oftener than the last."""
    return "".join(LETTERS[min(chance.randrange(9), chance.randrange(7))] for _ in range(length))


def some_words(chance: Random, count: int) -> str:
    """Words of a few letters."""
    return " ".join("".join(chance.choices("aehlt", k=chance.randint(2, 3))) for _ in range(count))


def some_merges(chance: Random, text: str, count: int) -> dict[tuple[int, int], int]:
    """Merges as training might have learned them: pairs of bytes of a text, then pairs of these."""
    ids, merges = list(text.encode("utf-8")), {}
    for number in range(256, 256 + count):
        pair = tuple(ids[(place := chance.randrange(len(ids) - 1)) : place + 2])
        if pair not in merges:
            merges[pair] = number
            ids[place : place + 2] = [number]
    return merges
