"""The tools for learners: `tensorgrade watch`, a notebook's check cells, and pictures."""
