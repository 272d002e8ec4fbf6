"""The App in a real browser. A package, so that its App and its browser end with the last of its tests."""
