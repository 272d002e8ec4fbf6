"""Arrays and tests of rates: what all kernels use."""
