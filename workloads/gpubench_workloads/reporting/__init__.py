"""What a rank tells its supervisor: a report at its end, progress on the way."""
