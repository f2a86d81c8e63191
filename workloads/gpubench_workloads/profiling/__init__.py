"""A profile of a window of the training: Nsight Systems around each rank, or torch.profiler in it.

    supervisor -> torchrun -> keeper -> nsys -> kept_rank -> the training program

The rank itself opens and closes the window between two steps; the keeper stands between it and
whatever becomes of the profiler. When all ranks have ended, the supervisor reduces their reports to
numbers in a process of its own. Nothing that goes wrong with a profile touches the training's
result: it ends as the gate `Profile`, which says what happened.
"""
