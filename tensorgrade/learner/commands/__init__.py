"""Commands for learners with more than a few lines, one module each; cli/learners.py lists them."""
