"""A benchmark's sweep -> points -> runs: expansion, hashing, names, order and cost. Pure."""
