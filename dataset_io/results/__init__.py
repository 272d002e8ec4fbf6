"""Results of completed runs: reports on any view, the table of samples, comparisons, exported files."""
