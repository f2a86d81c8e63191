"""Numbers of the papers that gpubench reproduces, and which points of ours stand beside them.

A further paper is one more data file in this folder.
"""
