"""The sections of a report on objects."""
