"""The figures of `figures.py`, in lines that can stand in a README."""

from ..mistakes import Mistake
from .figures import Figures, Trial, named_rightly

SIDES = {True: "hidden cases", False: "public cases"}


def report(figures: Figures, known: list[Mistake]) -> str:
    """All figures, and below them what was not named."""
    lines = []
    for hidden, side in SIDES.items():
        singles = [trial for trial in figures.singles if trial.hidden is hidden]
        pairs = [trial for trial in figures.pairs if trial.hidden is hidden]
        lines += [side, share("single mistakes caught", [t.caught for t in singles]),
                  share("single mistakes named rightly", rightly(singles, known)),
                  share("pairs caught", [t.caught for t in pairs]),
                  share("pairs named as both", rightly(pairs, known)),
                  share("pairs given a wrong name", wrongly(pairs, known)), ""]
    lines += ["right answers", f"  names given to {figures.right} of them: {len(figures.misnamed)}"]
    return "\n".join(lines + figures.misnamed + ["", *unnamed(figures, known)])


def rightly(trials: list[Trial], known: list[Mistake]) -> list[bool]:
    return [named_rightly(trial, known) for trial in trials]


def wrongly(trials: list[Trial], known: list[Mistake]) -> list[bool]:
    """Trials that were given a name of a mistake that is not in them."""
    alike = {m.name: m.same_as for m in known}
    return [bool(set(t.named) - set(t.mistakes) - {alike[m] for m in t.mistakes}) for t in trials]


def share(what: str, hits: list[bool]) -> str:
    """`  pairs caught   200 of 200  100.0 %`."""
    percent = 100 * sum(hits) / max(1, len(hits))
    return f"  {what:<30} {sum(hits):>4} of {len(hits):>4}  {percent:5.1f} %"


def unnamed(figures: Figures, known: list[Mistake]) -> list[str]:
    """One line for each trial that was not caught or not named rightly."""
    lost = [t for t in figures.singles + figures.pairs if not (t.caught and named_rightly(t, known))]
    return [
        f"  {SIDES[t.hidden].split()[0]:<6} {t.exercise}: {' + '.join(t.mistakes)} → "
        f"{' + '.join(t.named) or 'no name'}" + ("" if t.caught else " (not caught)")
        for t in lost
    ]
