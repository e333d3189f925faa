"""Find, choose and read a learner's file, notebooks included, as Python text."""
