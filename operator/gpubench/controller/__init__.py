"""The shell for Kubernetes: watches, wakes, observes, applies lifecycle's decisions.

The only room with kopf. kopf's share is small on purpose: it watches and keeps one daemon per
benchmark alive. The daemon reconciles by level (`reconciler`), from what the API server holds;
nothing here remembers what a restart would lose.
"""
