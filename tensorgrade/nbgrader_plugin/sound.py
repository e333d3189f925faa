"""A submitted notebook made anew from what is sound in it, so that nothing in it stops nbgrader.

nbgrader and nbformat believe a file's metadata: one wrong type in it ends the grading of a class.
Here every cell is put together afresh from its kind, its text, its name and nbgrader's marks;
whatever else a file holds is left behind. That is done in a process of its own, with bounds on
time and memory.
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
from ..runner.bounds import set_bounds, with_own_memory

KINDS = {"code": "code", "markdown": "markdown", "raw": "raw", "heading": "markdown"}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
FLAGS = ("grade", "solution", "locked", "task")
MOST_CELLS = 5000
MOST_CHARACTERS = 1 << 20  # of text in all cells
MOST_POINTS = 1e6
LONGEST_REASON = 300
MOST_BYTES = Limits().notebook_bytes
SECONDS = 60.0
BOUNDS = {"RLIMIT_AS": 2 << 30, "RLIMIT_CPU": int(SECONDS)}  # JSON takes more room as objects
PICTURES = ("image/png", "image/jpeg", "image/gif")


class Unsound(Exception):
    """There is no notebook in the file; the message says so to the learner."""


def read_notebook(path: Path, with_outputs: bool = False) -> NotebookNode:
    """The notebook in a file, or one that says why there is none."""
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
        pass  # it met its bounds
    finally:
        reader.kill()
        reader.join()
    return unreadable(f"{path.name} takes more time or memory to read than a notebook may.")


def tell(path: Path, with_outputs: bool, sender: Connection) -> None:
    """In a process of its own: send the notebook in a file."""
    set_bounds({"bounds": with_own_memory(BOUNDS)})
    sender.send_bytes(json.dumps(told_of(path, with_outputs)).encode())


def told_of(path: Path, with_outputs: bool) -> NotebookNode:
    """The notebook in a file, or one that says why there is none, read here."""
    try:
        return sound(parsed(path), with_outputs)
    except Unsound as error:
        return unreadable(str(error))
    except MemoryError:
        return unreadable(f"{path.name} takes more memory to read than a notebook may.")
    except OSError as error:
        return unreadable(f"{path.name} cannot be read: {error.strerror}.")


def resources_of(path: Path, resources: dict | None) -> ResourcesDict:
    """What nbconvert's exporters tell preprocessors and templates of a file."""
    own = ResourcesDict(**(resources or {}))
    own["metadata"] = ResourcesDict(name=path.stem, path=str(path.parent))
    return own


def parsed(path: Path) -> object:
    """What a file's JSON says. Raises Unsound or OSError."""
    if path.is_symlink() or path.parent.is_symlink() or path.parent.parent.is_symlink():
        raise Unsound(f"{path.name} is a link, or lies in one.")
    if not path.is_file():
        raise Unsound(f"{path.name} is no file.")
    if path.stat().st_size > MOST_BYTES:
        raise Unsound(f"{path.name} is larger than {MOST_BYTES >> 20} MiB.")
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Unsound(f"{path.name} is no notebook: it cannot be read as one.") from None


def sound(notebook: object, with_outputs: bool = False) -> NotebookNode:
    """What is sound in a notebook. Raises Unsound where there are no cells."""
    told = cells_of(notebook)
    if len(told) > MOST_CELLS:
        raise Unsound(f"The notebook has more than {MOST_CELLS} cells.")
    cells = [sound_cell(cell, with_outputs) for cell in told if kind_of(cell)]
    if sum(len(cell.source) for cell in cells) > MOST_CHARACTERS:
        raise Unsound(f"The notebook has more than {MOST_CHARACTERS} characters in its cells.")
    name_cells(cells)
    drop_false_marks(cells)
    return notebook_of(cells, reason_in(notebook))


def notebook_of(cells: list[NotebookNode], why: str | None) -> NotebookNode:
    """A notebook of these cells. why: a reason that is to be found in it later."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    if why is not None:
        metadata.tensorgrade = NotebookNode(unreadable=why)
    return NotebookNode(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=5)


def unreadable(why: str) -> NotebookNode:
    """A notebook in place of one that cannot be read."""
    text = NotebookNode(cell_type="markdown", id="unreadable", metadata=NotebookNode(), source=why)
    return notebook_of([text], why)


def reason_in(notebook: object) -> str | None:
    """Why a notebook could not be read, of one that stands in the place of another."""
    told = member(member(member(notebook, "metadata"), "tensorgrade"), "unreadable")
    return text_of(told)[:LONGEST_REASON] if isinstance(told, str) else None


def cells_of(notebook: object) -> list:
    """The cells, on sheets in the oldest notebooks. Raises Unsound."""
    sheets = member(notebook, "worksheets")
    told = [member(s, "cells") for s in (sheets if isinstance(sheets, list) else [notebook])]
    lists = [cells for cells in told if isinstance(cells, list)]
    if not lists:
        raise Unsound("The notebook cannot be read: it has no list of cells.")
    return [cell for cells in lists for cell in cells]


def member(told: object, name: str) -> object:
    """What an object has under a name; None for all that is no object."""
    return told.get(name) if isinstance(told, dict) else None


def kind_of(cell: object) -> str | None:
    """A cell's kind, if it has one."""
    kind = member(cell, "cell_type")
    return KINDS.get(kind) if isinstance(kind, str) else None


def sound_cell(cell: dict, with_outputs: bool) -> NotebookNode:
    """A cell put together anew."""
    kind, name = kind_of(cell), member(cell, "id")
    source = text_of(cell.get("source", cell.get("input", "")))
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
    """Text, or its lines, as text that can be written to a file."""
    lines = told if isinstance(told, list) else [told]
    whole = "".join(line for line in lines if isinstance(line, str))
    return whole.encode("utf-8", "replace").decode()


def pictures_in(attachments: object) -> NotebookNode:
    """Pictures that were pasted into a cell, by name and kind."""
    named = attachments.items() if isinstance(attachments, dict) else ()
    found = {
        text_of(name): {k: v for k in PICTURES if is_picture(v := member(data, k))}
        for name, data in named
    }
    return NotebookNode({name: NotebookNode(data) for name, data in found.items() if data})


def is_picture(data: object) -> bool:
    """Whether something has the letters of a picture written as base64."""
    return isinstance(data, str) and re.fullmatch(r"[A-Za-z0-9+/=\s]*", data) is not None


def marks_of(cell: dict) -> NotebookNode | None:
    """nbgrader's marks, each with the type that it should have; None where they name no cell."""
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
    """What a cell says that it is worth; the gradebook knows better."""
    points = told if isinstance(told, int | float) else -1.0
    return float(points) if 0 <= points <= MOST_POINTS else 0.0


def name_cells(cells: list[NotebookNode]) -> None:
    """Give every cell a name of its own, in the place of names that are none or stand twice."""
    taken: set[str] = set()
    for number, cell in enumerate(cells):
        if not isinstance(cell.id, str) or not NAME.fullmatch(cell.id) or cell.id in taken:
            cell.id = next(n for n in (f"cell-{number}", f"cell-{number}-again") if n not in taken)
        taken.add(cell.id)


def drop_false_marks(cells: list[NotebookNode]) -> None:
    """Take marks away that nbgrader would refuse."""
    validator = MetadataValidator()
    for cell in cells:
        try:
            validator.validate_cell(cell)
        except Exception:  # its checks fail in many ways
            del cell.metadata["nbgrader"]
