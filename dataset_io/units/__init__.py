"""Fields with one label for every object, and views, tags and annotation tasks made from them."""
