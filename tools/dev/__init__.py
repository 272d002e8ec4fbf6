"""Tools for development: set-up, demo, App."""
