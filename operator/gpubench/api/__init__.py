"""What users write and read: models of both resources, the run's spec and its result."""
