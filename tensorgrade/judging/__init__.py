"""Turn observed results into the verdict of one check: compare, describe differences, explain."""
