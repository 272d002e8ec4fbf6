"""Reading labels: label types, checks, annotators, assignment, and labels as columns."""
