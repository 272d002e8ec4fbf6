"""The label types behind one interface, and the comparison of two runs."""
