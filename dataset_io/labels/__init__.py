"""What can be read: label fields, annotators, assignment, and labels as columns."""
