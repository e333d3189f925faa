"""A MkDocs hook that generates the page of commands from the command line interface itself."""

import html
from collections import defaultdict
from pathlib import Path

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from typer.core import TyperCommand, TyperGroup

from tensorgrade.cli.program import THIS_COURSE
from tensorgrade.cli.shared import ANYONE, AUTHORS, INSTRUCTORS, LEARNERS, app
from tensorgrade.project import load_command, own_commands

PAGE = "reference/commands.md"
AUDIENCES = (LEARNERS, THIS_COURSE, INSTRUCTORS, AUTHORS, ANYONE)
INTRODUCTION = """# Commands

*This page is generated from the commands, for looking things up. You do not have to read it.*
`tensorgrade COMMAND --help` shows the same in a terminal.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to the site."""
    course = Path(config.config_file_path).parent
    files.append(File.generated(config, PAGE, content=commands_page(course)))
    return files


def commands_page(course: Path) -> str:
    """Return the page: a section for each audience, with its commands."""
    sections: defaultdict[str, str] = defaultdict(str)
    for name, command in program(course).commands.items():
        audience = command.rich_help_panel
        subcommands = command.commands if isinstance(command, TyperGroup) else {}
        for subname, subcommand in subcommands.items():
            sections[audience] += command_section(f"{name} {subname}", subcommand)
        if not subcommands:
            sections[audience] += command_section(name, command)
    if unknown := sections.keys() - set(AUDIENCES):
        raise PluginError(f"commands for {unknown} would be missing from {PAGE}: see AUDIENCES")
    return INTRODUCTION + "".join(f"\n## {who}\n{sections[who]}" for who in AUDIENCES)


def program(course: Path) -> TyperGroup:
    """Return the engine's commands together with the course's own."""
    everything = typer.Typer()
    everything.add_typer(app)
    for name, path in own_commands(course).items():
        everything.command(name, rich_help_panel=THIS_COURSE)(load_command(path))
    return typer.main.get_group(everything)


def command_section(name: str, command: TyperCommand) -> str:
    """Return a command's heading, its help, its usage and a table of its parameters."""
    context = typer.Context(command, info_name=f"tensorgrade {name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    section = f"\n### {name}\n\n{html.escape(command.help)}\n\n```\n{usage}\n```\n"
    if command.params:
        rows = (parameter.get_help_record(context) for parameter in command.params)
        shown = filter(None, rows)  # a hidden option has no record
        lines = (f"| `{parameter}` | {cell(meaning)} |\n" for parameter, meaning in shown)
        section += "\n| parameter | meaning |\n|---|---|\n" + "".join(lines)
    return section


def cell(text: str) -> str:
    """Return a text as a cell of a Markdown table."""
    return html.escape(text, quote=False).replace("|", r"\|")
