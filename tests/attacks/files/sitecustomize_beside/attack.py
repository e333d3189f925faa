"""Puts a sitecustomize.py, a usercustomize.py and a .pth file beside the submission."""
