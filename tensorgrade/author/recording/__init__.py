"""Make references and fingerprints by running cases on the solution and on mistakes."""
