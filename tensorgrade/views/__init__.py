"""How findings are shown on a terminal: words, and blocks of numbers."""
