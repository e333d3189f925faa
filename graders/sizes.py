"""Unpredictable sizes and pairs of options, drawn from the course's seed."""

from itertools import combinations, product

# Sizes far larger than usual: (from, up to).
TOKENS, FEATURES, HEADS, BATCH, WIDTH = (129, 150), (17, 29), (13, 17), (5, 7), (18, 27)
LONG = (257, 320)  # more positions than a byte can count, or than a table of 256 has
SMALL = (2, 7)  # for learners, who should be able to follow their own cases by eye


class Sizes:
    """Draws of sizes for one exercise. pick: the argument of its grader file."""

    def __init__(self, pick, exercise: str):
        self.hidden, self.chance = pick.hidden, pick.chance(exercise)

    def __call__(self, *ranges: tuple[int, int]) -> list[int]:
        """Return a size from each range, all different."""
        while True:
            sizes = [self.chance.randint(*(r if self.hidden else SMALL)) for r in ranges]
            if len(set(sizes)) == len(sizes):
                return sizes

    def pairs(self, **options: tuple) -> list[dict]:
        """Return rows of options in which every pair of values of two options occurs."""
        rows, open_pairs = [], all_pairs(options)
        while open_pairs:
            tried = [{k: self.chance.choice(v) for k, v in options.items()} for _ in range(60)]
            best = max(tried, key=lambda row: len(open_pairs & pairs_of(row)))
            if open_pairs & pairs_of(best):
                rows.append(best)
                open_pairs -= pairs_of(best)
        return rows

    def uneven(self, count: int) -> list[tuple[int, int]]:
        """Return pairs (d_out, num_heads) that do not divide, with different remainders."""
        found: list[tuple[int, int]] = [(4, 6)]  # fewer features than heads
        while len(found) < count:
            heads = self.chance.randint(2, 9)
            d_out = self.chance.randint(heads + 1, 24)
            unlike = all(
                d_out - heads != d - h and d_out % heads != d % h and heads != h for d, h in found
            )
            if d_out % heads and unlike:
                found.append((d_out, heads))
        return found


def all_pairs(options: dict) -> set:
    """Return every pair of values of two different options."""
    return {
        ((one, a), (other, b))
        for one, other in combinations(sorted(options), 2)
        for a, b in product(options[one], options[other])
    }


def pairs_of(row: dict) -> set:
    """Return the pairs of values in a row."""
    return set(combinations(sorted(row.items()), 2))
