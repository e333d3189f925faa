"""The command that audits attention code of any origin."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from ..course import CourseError
from .shared import ANYONE, app


@app.command(rich_help_panel=ANYONE)
def audit(
    targets: Annotated[list[str], typer.Argument(help="FILE or FILE:NAME.")],
    kind: Annotated[
        str, typer.Option("--as", help="The kind of code, such as causal_attention.")
    ] = "",
    mask: Annotated[
        Literal["true-hides", "true-shows", "additive", "one-shows", "one-hides"] | None,
        typer.Option(help="The meaning of the mask."),
    ] = None,
    arguments: Annotated[
        Path | None, typer.Option(help="A JSON file with values of arguments by name.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Run the code in this process, without a sandbox.")
    ] = False,
    skip_others: Annotated[
        bool,
        typer.Option(
            "--skip-others", help="Pass over files without attention; be brief on errors."
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --skip-others, exit with 2 if code cannot run.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for a GitHub workflow too.")
    ] = False,
) -> None:
    """Check attention code from anywhere, and show the line that is wrong."""
    from ..audit.run import annotations, audits, report, status_of

    states = [0]
    hints = {"kind": kind, "mask": mask or "", "arguments": values_in(arguments)}
    for found in audits(targets, trust, **hints):
        if skip_others and not found["audits"] and not found["problem"]:
            continue
        if len(states) > 1 and not as_json:
            typer.echo()
        status = status_of(found)
        states.append(0 if status == 2 and skip_others and not strict else status)
        typer.echo(json.dumps(found, indent=2) if as_json else report(found, brief=skip_others))
        for line in annotations(found) if github else ():
            typer.echo(line)
    raise typer.Exit(1 if 1 in states else max(states))


def values_in(path: Path | None) -> dict[str, Any]:
    """Return the values of arguments in a JSON file. Raises CourseError."""
    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as error:
        told = 'cannot be read as JSON with values by name, such as {"num_heads": 4}'
        raise CourseError(f"{path} {told}: {error}") from None
