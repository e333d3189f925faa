"""The command that audits attention code of any origin."""

import json
from typing import Annotated

import typer

from .shared import ANYONE, app


@app.command(rich_help_panel=ANYONE)
def audit(
    target: Annotated[str, typer.Argument(help="FILE, FILE:NAME or MODULE:NAME.")],
    kind: Annotated[str, typer.Option("--as", help="What it is, such as causal_attention.")] = "",
    mask: Annotated[
        str,
        typer.Option(help="true-hides, true-shows, additive, one-shows or one-hides."),
    ] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Run the code in this process, without a sandbox.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for a GitHub workflow too.")
    ] = False,
) -> None:
    """Check attention code from anywhere, and show the line that is wrong."""
    from ..audit.report import annotations, report, status_of
    from ..audit.run import audit as run

    found = run(target, {"as": kind, "mask": mask}, trust)
    typer.echo(json.dumps(found, indent=2) if as_json else report(found))
    if github:
        typer.echo("\n".join(annotations(found)))
    raise typer.Exit(status_of(found))
