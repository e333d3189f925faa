"""Grade a class: from submissions to rows, a report and a gradebook."""
