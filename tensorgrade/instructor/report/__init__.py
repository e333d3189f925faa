"""The report on a class on one page, from the results of `tensorgrade grade`."""
