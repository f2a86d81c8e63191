"""The entry point of a run's process: check, launch, watch, judge, deliver.

    preflight -> launch (torchrun) -> watch -> classify -> assemble -> gates -> deliver

It is the same program in a pod and on one machine, and always leaves a result that says what
happened. It never imports torch, so that it costs the ranks neither memory nor time.
"""
