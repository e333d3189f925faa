"""Check observed results: compare them with the reference, and describe and explain differences."""
