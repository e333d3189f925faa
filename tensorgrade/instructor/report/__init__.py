"""The class on one page, from what `tensorgrade grade` wrote."""
