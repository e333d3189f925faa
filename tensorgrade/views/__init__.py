"""How verdicts and diagnoses are shown: plain text here, colours and pages on top of it."""
