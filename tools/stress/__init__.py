"""Campaigns that try to break the plugin: long and seeded; ``make stress``."""
