"""The command that audits attention code of any origin."""

import json
from typing import Annotated

import typer

from .shared import ANYONE, app


@app.command(rich_help_panel=ANYONE)
def audit(
    targets: Annotated[list[str], typer.Argument(help="FILE or FILE:NAME.")],
    kind: Annotated[
        str, typer.Option("--as", help="The kind of code, such as causal_attention.")
    ] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Run the code in this process, without a sandbox.")
    ] = False,
    skip_others: Annotated[
        bool,
        typer.Option(
            "--skip-others", help="Pass over files without attention; be brief on errors."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Annotate a GitHub workflow; fail if code cannot run.")
    ] = False,
) -> None:
    """Check attention code from anywhere, and show the line that is wrong."""
    from ..audit.run import annotations, audits, report, status_of

    states = [0]
    for found in audits(targets, kind, trust):
        if skip_others and not found["audits"] and not found["problem"]:
            continue
        if len(states) > 1 and not as_json:
            typer.echo()
        status = status_of(found)
        states.append(0 if status == 2 and skip_others and not github else status)
        typer.echo(json.dumps(found, indent=2) if as_json else report(found, brief=skip_others))
        for line in annotations(found) if github else ():
            typer.echo(line)
    raise typer.Exit(1 if 1 in states else max(states))
