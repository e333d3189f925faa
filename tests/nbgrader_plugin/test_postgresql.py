"""A gradebook on a PostgreSQL server."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import sqlalchemy

from ..support import postgresql, require
from .scratch import CH1, EXERCISES, MOST, WRONG, Scratch, changed, read

pytestmark = pytest.mark.slow


@pytest.fixture
def postgres():
    """The address of an empty database on a server of our own, on this machine only."""
    require("PostgreSQL")
    tools, folder, port = postgresql(), Path("/tmp") / f"pg-{os.getpid()}", free_port()
    folder.mkdir()
    prefix = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]

    def tool(name: str, *arguments: str) -> None:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        subprocess.run([*prefix, str(tools / name), *arguments], check=True, cwd="/tmp", **quiet)

    listen = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    try:
        tool("initdb", "-D", f"{folder}/data", "-U", "teacher", "--auth=trust")
        tool("pg_ctl", "-D", f"{folder}/data", "-o", listen, "-l", f"{folder}/log", "-w", "start")
        tool("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "teacher", "attention")
        yield f"postgresql+psycopg2://teacher@127.0.0.1:{port}/attention"
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            tool("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_the_gradebook_can_be_a_postgresql_server(tmp_path, postgres):
    scratch = Scratch(tmp_path, f'c.CourseDirectory.db_url = "{postgres}"')
    scratch.run("generate_assignment", CH1)
    scratch.hand_in("ada", read("source"))
    scratch.hand_in("plain", changed(WRONG))
    scratch.run("autograde", CH1)
    scores = scratch.scores()
    assert scores["ada"] == MOST[CH1] and scores["plain"] < 5
    assert not (scratch.root / "gradebook.db").exists()
    with sqlalchemy.create_engine(postgres).connect() as connection:
        rows = connection.execute(sqlalchemy.text("select count(*) from grade")).scalar()
    assert rows == 2 * len(EXERCISES)
