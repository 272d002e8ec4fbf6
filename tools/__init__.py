"""Tools for development: demo, benchmarks, comparison with other programs, set-up and browser."""
