"""What a dataset stores of its runs: records, field names, results."""
