"""Runs that are shared out among processes, on this machine or on many."""
