"""Puts a conftest.py beside the submission, and a pytest.ini."""
