"""What the GPUs do while a run lasts, by NVML."""
