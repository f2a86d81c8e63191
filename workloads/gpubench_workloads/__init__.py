"""What runs inside a benchmark's pod: the training programs and the supervisor that measures them.
"""
