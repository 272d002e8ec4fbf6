"""Settings of the App for a run."""
