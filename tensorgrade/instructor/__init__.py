"""Grade a class: from submissions to rows, a report and exports."""
