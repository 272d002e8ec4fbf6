"""Fields with one label for every object, and what is made of them."""
