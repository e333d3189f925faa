"""`python -m tensorgrade.cli`."""

from .program import main

if __name__ == "__main__":
    main()
