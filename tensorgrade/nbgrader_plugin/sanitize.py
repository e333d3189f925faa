"""Sanitize a submitted notebook, so that nothing in it can stop nbgrader.

nbgrader and nbformat trust a file's metadata: one value of a wrong type stops the grading of a
class. This module rebuilds each cell from its kind, its text, its name and nbgrader's marks, and
drops everything else. It reads the file in a separate process with limits on time and memory.
"""

import json
import multiprocessing
import re
from multiprocessing.connection import Connection
from pathlib import Path

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode, from_dict
from nbgrader.nbgraderformat import SCHEMA_VERSION, MetadataValidator

from ..course import Limits
from ..sandbox.lockdown import own_bytes, set_limits

KINDS = ("code", "markdown", "raw")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
FLAGS = ("grade", "solution", "locked", "task")
MOST_CELLS = 5000
MOST_CHARACTERS = 1 << 20  # in all cells together
MOST_POINTS = 1e6
LONGEST_REASON = 300
MOST_BYTES = Limits().notebook_bytes
SECONDS = 60.0
MEMORY = 2 << 30  # bytes; parsed JSON is larger than its text
PICTURES = ("image/png", "image/jpeg", "image/gif")


class InvalidNotebook(Exception):
    """The file contains no notebook; the message gives the learner the reason."""


def read_notebook(path: Path, with_outputs: bool = False) -> NotebookNode:
    """Read the notebook in a file; return one with the reason if it cannot be read."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return told_of(path, with_outputs)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    reader = context.Process(target=tell, args=(path, with_outputs, sender), daemon=True)
    reader.start()
    sender.close()
    try:
        if receiver.poll(SECONDS):
            return from_dict(json.loads(receiver.recv_bytes()))
    except EOFError:
        pass  # the reader exceeded its limits
    finally:
        reader.kill()
        reader.join()
    return unreadable(f"{path.name} takes more time or memory to read than a notebook may.")


def tell(path: Path, with_outputs: bool, sender: Connection) -> None:
    """Read a notebook in the separate process, and send it back."""
    set_limits({"RLIMIT_AS": MEMORY + own_bytes(), "RLIMIT_CPU": int(SECONDS)})
    sender.send_bytes(json.dumps(told_of(path, with_outputs)).encode())


def told_of(path: Path, with_outputs: bool) -> NotebookNode:
    """Read the notebook in a file in this process; return one with the reason if that fails."""
    try:
        return sanitized(parsed(path), with_outputs)
    except InvalidNotebook as error:
        return unreadable(str(error))
    except MemoryError:
        return unreadable(f"{path.name} takes more memory to read than a notebook may.")
    except OSError as error:
        return unreadable(f"{path.name} cannot be read: {error.strerror}.")


def resources_of(path: Path, resources: dict | None) -> ResourcesDict:
    """Return the resources that nbconvert's exporters give to preprocessors and templates."""
    own = ResourcesDict(**(resources or {}))
    own["metadata"] = ResourcesDict(name=path.stem, path=str(path.parent))
    return own


def parsed(path: Path) -> object:
    """Parse the JSON in a file. Raises InvalidNotebook or OSError."""
    if path.is_symlink() or path.parent.is_symlink() or path.parent.parent.is_symlink():
        raise InvalidNotebook(f"{path.name} is a link, or is in a linked folder.")
    if not path.is_file():
        raise InvalidNotebook(f"{path.name} is not a file.")
    if path.stat().st_size > MOST_BYTES:
        raise InvalidNotebook(f"{path.name} is larger than {MOST_BYTES >> 20} MiB.")
    content = path.read_bytes()
    if not content.strip():
        raise InvalidNotebook(f"{path.name} is empty.")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        why = f"is damaged: line {error.lineno} is not valid JSON"
    except UnicodeDecodeError:
        why = "is damaged: it is not UTF-8 text"
    except (ValueError, RecursionError):
        why = "is not a notebook: it cannot be read as one"
    raise InvalidNotebook(f"{path.name} {why}.")


def sanitized(notebook: object, with_outputs: bool = False) -> NotebookNode:
    """Return the sanitized notebook. Raises InvalidNotebook, e.g. if there are no cells."""
    told = cells_of(notebook)
    if len(told) > MOST_CELLS:
        raise InvalidNotebook(f"The notebook has more than {MOST_CELLS} cells.")
    cells = [sanitized_cell(cell, with_outputs) for cell in told if kind_of(cell)]
    if sum(len(cell.source) for cell in cells) > MOST_CHARACTERS:
        raise InvalidNotebook(
            f"The notebook has more than {MOST_CHARACTERS} characters in its cells."
        )
    name_cells(cells)
    drop_false_marks(cells)
    return notebook_of(cells, reason_in(notebook))


def notebook_of(cells: list[NotebookNode], why: str | None) -> NotebookNode:
    """Return a notebook of these cells. why: the reason to store in it, for `reason_in`."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    if why is not None:
        metadata.tensorgrade = NotebookNode(unreadable=why)
    return NotebookNode(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=5)


def unreadable(why: str) -> NotebookNode:
    """Return a notebook that replaces one that cannot be read."""
    text = NotebookNode(cell_type="markdown", id="unreadable", metadata=NotebookNode(), source=why)
    return notebook_of([text], why)


def reason_in(notebook: object) -> str | None:
    """Return the stored reason why the original notebook could not be read, if there is one."""
    told = member(member(member(notebook, "metadata"), "tensorgrade"), "unreadable")
    return text_of(told)[:LONGEST_REASON] if isinstance(told, str) else None


def cells_of(notebook: object) -> list:
    """Return all cells. Raises InvalidNotebook."""
    cells = member(notebook, "cells")
    if not isinstance(cells, list):
        raise InvalidNotebook("The notebook cannot be read: it has no list of cells.")
    return cells


def member(told: object, name: str) -> object:
    """Return an object's member; None if it has none, or if the value is not an object."""
    return told.get(name) if isinstance(told, dict) else None


def kind_of(cell: object) -> str | None:
    """Return a cell's kind; None if it has no known one."""
    kind = member(cell, "cell_type")
    return kind if isinstance(kind, str) and kind in KINDS else None


def sanitized_cell(cell: dict, with_outputs: bool) -> NotebookNode:
    """Rebuild a cell from its sanitized parts."""
    kind, name = kind_of(cell), member(cell, "id")
    source = text_of(cell.get("source", ""))
    made = NotebookNode(cell_type=kind, id=name, metadata=NotebookNode(), source=source)
    if kind == "code":
        count, outputs = cell.get("execution_count"), cell.get("outputs")
        made.execution_count = count if type(count) is int and 0 <= count < 1 << 31 else None
        made.outputs = outputs if with_outputs and isinstance(outputs, list) else []
    elif attached := pictures_in(cell.get("attachments")):
        made.attachments = attached
    if marks := marks_of(cell):
        made.metadata.nbgrader = marks
    return made


def text_of(told: object) -> str:
    """Join a text or a list of lines to a text that can be encoded as UTF-8."""
    lines = told if isinstance(told, list) else [told]
    whole = "".join(line for line in lines if isinstance(line, str))
    return whole.encode("utf-8", "replace").decode()


def pictures_in(attachments: object) -> NotebookNode:
    """Return the pictures that were pasted into a cell, by name and kind."""
    named = attachments.items() if isinstance(attachments, dict) else ()
    found = {
        text_of(name): {k: v for k in PICTURES if is_picture(v := member(data, k))}
        for name, data in named
    }
    return NotebookNode({name: NotebookNode(data) for name, data in found.items() if data})


def is_picture(data: object) -> bool:
    """Return True if a value is a string of base64 characters, as pictures are."""
    return isinstance(data, str) and re.fullmatch(r"[A-Za-z0-9+/=\s]*", data) is not None


def marks_of(cell: dict) -> NotebookNode | None:
    """Return nbgrader's marks, each with the right type; None if they name no cell."""
    told = member(cell.get("metadata"), "nbgrader")
    name = member(told, "grade_id")
    if not isinstance(told, dict) or not isinstance(name, str) or not NAME.fullmatch(name):
        return None
    marks = NotebookNode({flag: told.get(flag) is True for flag in FLAGS})
    marks |= {"grade_id": name, "schema_version": SCHEMA_VERSION}
    if marks["grade"] or marks["task"]:
        marks["points"] = points_of(told.get("points"))
    return NotebookNode(marks)


def points_of(told: object) -> float:
    """Return a cell's claimed points within bounds; the gradebook has the real ones."""
    points = told if isinstance(told, int | float) else -1.0
    return float(points) if 0 <= points <= MOST_POINTS else 0.0


def name_cells(cells: list[NotebookNode]) -> None:
    """Give every cell a unique name, replacing invalid and duplicate ones."""
    taken: set[str] = set()
    for number, cell in enumerate(cells):
        if not isinstance(cell.id, str) or not NAME.fullmatch(cell.id) or cell.id in taken:
            cell.id = next(n for n in (f"cell-{number}", f"cell-{number}-again") if n not in taken)
        taken.add(cell.id)


def drop_false_marks(cells: list[NotebookNode]) -> None:
    """Remove marks that nbgrader would reject."""
    validator = MetadataValidator()
    for cell in cells:
        try:
            validator.validate_cell(cell)
        except Exception:  # the validator raises many kinds of errors
            del cell.metadata["nbgrader"]
