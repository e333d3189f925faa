"""The commands for authors: build, check, and start something new."""

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.console import Console

from ..project import find_project, own_commands
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
    from ..author.building import build as run

    project = find_project()
    ours = audiences()
    print_errors(
        f"{path.relative_to(project.root)}: {name} is a built-in command; give yours another name"
        for name, path in own_commands(project.root).items()
        if name in ours
    )
    with interruptible("Finished exercises are written; the same command builds the rest."):
        if not run(project, names or (), True, Console(highlight=False)):
            raise typer.Exit(1)


@app.command(rich_help_panel=AUTHORS)
def author() -> None:
    """Build each file when you save it, and report errors."""
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

    project, kind = find_project(), "class" if as_class else "values" if values else "function"
    say_written(make(project, chapter, name, kind), project.root)


def say_written(paths: list[Path], root: Path) -> None:
    """Print the files that were written."""
    for path in dict.fromkeys(paths):
        typer.echo(f"wrote {path.resolve().relative_to(root.resolve())}")


def print_errors(errors: Iterable[str]) -> None:
    """Print each error, and exit with 1 if there are any."""
    lines = [f"✗ {error}" for error in errors]
    if lines:
        typer.echo("\n".join(lines))
        raise typer.Exit(1)


@app.command("prove", rich_help_panel=AUTHORS)
def prove() -> None:
    """Run the solutions, show what mistakes cost, and list the gaps in the checks."""
    from ..author.proving import prove as proof_of

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

    files = write_sample_class(find_project(), folder, learners)
    typer.echo(f"{files} files of {learners} invented learners in {folder}")
