"""The check cells of a notebook, behind the door `tensorgrade.notebook`."""
