"""Settings of FiftyOne's App for a run: sidebar group, colours, indexes."""
