"""Settings of a run and their checks: options, annotators, messages."""
