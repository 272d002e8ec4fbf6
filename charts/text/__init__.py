"""Words, tables and sections: the parts of every text."""
