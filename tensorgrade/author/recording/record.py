"""Record an exercise and a side: run the solution and all wrong versions, and store the results."""

from contextlib import suppress

from ...course import CourseError
from ...exchange.references import stored_form as stored_references
from ...exchange.stored import read_part, store
from ...exchange.stored_key import key_in
from ...recognition.fingerprints import Fingerprint
from ...recognition.fingerprints import stored_form as stored_fingerprints
from .keys import key_of, texts_of
from .pairs_files import pairs_path, read_pairs, write_pairs
from .references import Recording, Rows, pairs_of, tell_apart

FEW_RUNS_OF_PAIRS = 1000  # of one exercise; this many take a second or two, and need no `pairs`


def is_due(recording: Recording, pairs: bool) -> bool:
    """Return True if a recording is missing, damaged or outdated, or lacks the requested pairs."""
    if key_in(recording.path) != key_of(recording):
        return True
    return pairs and not recording.hidden and not has_pairs(recording)


def has_pairs(recording: Recording) -> bool:
    """Return True if the stored fingerprints of an exercise include its pairs of mistakes."""
    with suppress(CourseError):
        return bool(read_part(recording.path, "has_pairs"))
    return False


def record(recording: Recording, pairs: bool) -> list[str]:
    """Record an exercise and a side into its file. Return the errors, one sentence each.

    pairs: make pairs of mistakes even if they are many.
    """
    try:
        texts_of(recording)  # before it runs
        rows = recording.rows(recording.singles)
        prints, has_all = tell_apart(recording, rows), True
        if not recording.hidden:  # grading makes the pair that it needs
            prints, has_all = with_pairs(recording, rows, prints, pairs)
        parts, tensors = stored_references(recording.with_unfixed)
        parts |= {"fingerprints": stored_fingerprints(prints), "has_pairs": has_all}
        if recording.hidden:
            parts["sources"] = sources_of(recording)
        store(recording.path, key_of(recording), parts, tensors)
    except CourseError as error:
        return str(error).splitlines()
    except Exception as error:  # raised by the course's own code, such as a signature
        said = f"recording it ends in {type(error).__name__}: {error}"
        return [f"{recording.exercise}: {said}"]
    return []


def with_pairs(
    recording: Recording, rows: Rows, singles: list[Fingerprint], asked: bool
) -> tuple[list[Fingerprint], bool]:
    """Return the fingerprints of single mistakes and of pairs, and True if pairs are included.

    Stored pairs are reused if the single mistakes still give the same results. Otherwise pairs are
    made and stored if they are few or asked for.
    """
    path, pairs = pairs_path(recording.project, recording.exercise), pairs_of(recording, singles)
    if not pairs:
        return singles, True
    found = read_pairs(path, singles)
    if found is None:
        if not asked and len(pairs) * len(recording.cases) > FEW_RUNS_OF_PAIRS:
            return singles, False
        both = recording.rows(filter(recording.fits, pairs))
        found = [one for one in tell_apart(recording, rows | both) if len(one.mistakes) == 2]
        write_pairs(path, singles, found)
    return [*singles, *found], True


def sources_of(recording: Recording) -> dict:
    """Return the solution with the edits of its mistakes, for grading."""
    edits = {name: one.edits for name, one in recording.mistakes.items()}
    return {"text": recording.source, "edits": edits}
