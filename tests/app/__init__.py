"""The plugin in the real App, in a real browser."""
