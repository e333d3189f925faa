"""The commands for authors: build, check, and start something new."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from .shared import AUTHORS, app, audiences, interruptible

new = typer.Typer(no_args_is_help=True, help="Create a course, a chapter or an exercise.")
app.add_typer(new, name="new", rich_help_panel=AUTHORS)


@app.command(rich_help_panel=AUTHORS)
def build(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Chapters to build, or exercises of them; without names, all."),
    ] = None,
) -> None:
    """Build stubs, references, fingerprints and notebooks."""
    from rich.console import Console

    from ..author.building import build as run
    from ..project import find_project

    project = find_project()
    print_errors(commands_in_the_way(project.root))
    again = "Finished exercises are written; the same command builds the rest."
    with interruptible(again):
        is_built = run(project, names or (), True, Console(highlight=False))
    if not is_built:
        raise typer.Exit(1)


@app.command(rich_help_panel=AUTHORS)
def author() -> None:
    """Build each file when you save it, and report errors."""
    from ..project import find_project

    root = find_project().root
    typer.echo("Building everything, then each file that you save. Press Ctrl-C to stop.")
    from ..author.building import author as run  # this import is slow

    with interruptible("Files that you saved before are built."):
        run(root)


@new.command("course")
def new_course(
    folder: Annotated[Path, typer.Argument(help="The new folder; it must not exist yet.")],
    title: Annotated[str, typer.Option(help="The course's title.")] = "",
) -> None:
    """Create a course with one chapter and all necessary files."""
    from ..author.scaffolds import new_course as make

    say_written(make(folder, title), folder)
    then = "and keep `tensorgrade author` open: it builds the files that you save"
    typer.echo(f"Next: cd {quote(str(folder))}, {then}.")


@new.command("chapter")
def new_chapter(name: Annotated[str, typer.Argument(help="Its name, such as ch2_trees.")]) -> None:
    """Create a chapter with one exercise."""
    from ..author.scaffolds import new_chapter as make
    from ..project import find_project

    project = find_project()
    written = make(project, name)
    say_written(written, project.root)
    sample = next(path.stem for path in written if path.parent == project.graders / name)
    typer.echo(
        f"{sample} is a sample: replace it with your own exercise, under another name "
        f"(in solutions/{name}.py, and graders/{name}/{sample}.py)."
    )


@new.command("exercise")
def new_exercise(
    chapter: Annotated[str, typer.Argument(help="The chapter for the exercise.")],
    name: Annotated[str, typer.Argument(help="The name that learners define.")],
    as_class: Annotated[bool, typer.Option("--class", help="A class with weights.")] = False,
    values: Annotated[
        bool, typer.Option("--values", help="A function of plain values instead of tensors.")
    ] = False,
) -> None:
    """Add an exercise to a chapter; by default, a function of tensors."""
    from ..author.scaffolds import new_exercise as make
    from ..project import find_project

    project, kind = find_project(), "class" if as_class else "values" if values else "function"
    say_written(make(project, chapter, name, kind), project.root)


def commands_in_the_way(root: Path) -> list[str]:
    """Return a sentence for each command of the course whose name is taken by a built-in one."""
    from ..project import own_commands

    ours = audiences()
    return [
        f"{path.relative_to(root)}: {name} is a built-in command; give yours another name"
        for name, path in own_commands(root).items()
        if name in ours
    ]


def say_written(paths: list[Path], root: Path) -> None:
    """Print the files that were written."""
    for path in dict.fromkeys(paths):
        typer.echo(f"wrote {path.resolve().relative_to(root.resolve())}")


def print_errors(errors: list[str]) -> None:
    """Print each error, and exit with 1 if there are any."""
    for error in errors:
        typer.echo(f"✗ {error}")
    if errors:
        raise typer.Exit(1)


@app.command("prove", rich_help_panel=AUTHORS)
def prove() -> None:
    """Run the solutions, show what mistakes cost, and list the gaps in the checks."""
    from ..author.proving import prove as proof_of
    from ..project import find_project

    report, gaps = proof_of(find_project())
    typer.echo("\n".join(report))
    print_errors(gaps)
    typer.echo("The solutions pass. Every mistake is noticed.")


@app.command(rich_help_panel=AUTHORS)
def sample(
    folder: Annotated[Path, typer.Argument(help="Folder for the invented learners' files.")],
    learners: Annotated[int, typer.Option(help="Number of learners.")] = 30,
) -> None:
    """Write a sample class, made of the solutions and known mistakes."""
    from ..author.scaffolds import write_sample_class
    from ..project import find_project

    files = write_sample_class(find_project(), folder, learners, seed=1)
    typer.echo(f"{files} files of {learners} invented learners in {folder}")
