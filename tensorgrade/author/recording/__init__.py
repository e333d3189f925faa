"""What references and fingerprints are made from: cases, mistakes, and both run."""
