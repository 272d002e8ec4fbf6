"""What a report on objects says."""
