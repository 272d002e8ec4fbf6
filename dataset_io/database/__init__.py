"""The door to FiftyOne's inside and to MongoDB, and the arrays that it stores."""
