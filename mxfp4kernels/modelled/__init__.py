"""Device times of this package's kernels from the timing model. Modelled, not measured."""
