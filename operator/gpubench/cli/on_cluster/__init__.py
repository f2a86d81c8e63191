"""What the commands do where a cluster is meant."""
