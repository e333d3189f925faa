"""The terminal and page views of findings: sentences, and blocks of numbers."""
