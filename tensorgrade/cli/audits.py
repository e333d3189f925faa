"""The command that audits attention code of any origin."""

import json
from typing import Annotated

import typer

from .shared import ANYONE, app


@app.command(rich_help_panel=ANYONE)
def audit(
    targets: Annotated[list[str], typer.Argument(help="FILE, FILE:NAME or MODULE:NAME.")],
    kind: Annotated[
        str, typer.Option("--as", help="The kind of code, such as causal_attention.")
    ] = "",
    mask: Annotated[
        str,
        typer.Option(help="The mask: true-hides, true-shows, additive, one-shows or one-hides."),
    ] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Run the code in this process, without a sandbox.")
    ] = False,
    skip_others: Annotated[
        bool,
        typer.Option(
            "--skip-others", help="Skip files without attention, and code that cannot run."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for a GitHub workflow too.")
    ] = False,
) -> None:
    """Check attention code from anywhere, and show the line that is wrong."""
    from ..audit.report import annotations, report, status_of
    from ..audit.run import audits

    states = [0]
    for found in audits(targets, {"as": kind, "mask": mask}, trust):
        if skip_others:
            ran = [one for one in found["audits"] if one["status"] != "not run"]
            if not ran:
                continue
            found |= {"audits": ran, "problem": ""}
        if len(states) > 1 and not as_json:
            typer.echo()
        states.append(status_of(found))
        typer.echo(json.dumps(found, indent=2) if as_json else report(found))
        if github:
            typer.echo("\n".join(annotations(found)))
    raise typer.Exit(1 if 1 in states else max(states))
