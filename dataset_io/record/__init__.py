"""Stored state of runs in a dataset: records, field names, results, lease."""
