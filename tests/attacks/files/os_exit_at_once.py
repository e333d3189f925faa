"""Ends the process with exit code 0 while the file is being loaded."""

import os

os._exit(0)
