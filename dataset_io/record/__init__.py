"""What a dataset keeps of its runs: their record, their names, their stored results."""
