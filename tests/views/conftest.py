"""A learner's kit with the page of its lessons."""

import pytest

from ..kits import FIRST, solved, write
from ..support import cli


@pytest.fixture(scope="session")
def own(kit, tmp_path_factory):
    """A kit in which the first chapter is right but for one exercise, whose error is hostile.

    `tensorgrade read` has written its page.
    """
    made = solved(kit, tmp_path_factory.mktemp("learner") / "kit", FIRST[0])
    error = '    raise ValueError("<b>no</b>")\n    shifted = x - x'
    write(made, FIRST[0], "    shifted = x - x", error)
    done = cli("read", "--no-show", cwd=made)
    assert done.returncode == 0, done.stdout + done.stderr
    return made
