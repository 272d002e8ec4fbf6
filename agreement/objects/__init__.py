"""Agreement on objects: labels of any geometry that are matched across annotators."""
