"""What compiled kernels compute, on seeded problems, against the float64 reference; with torch."""
