"""The shell for one machine: applies lifecycle's decisions to processes and folders."""
