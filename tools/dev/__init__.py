"""Tools of the project itself: set-up, demo, App."""
