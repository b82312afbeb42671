"""The numerics study: every variant and flag setting executed, compared, sanitized and mutated.

``mxfp4kernels study`` compiles the kernels, runs them in the emulator and writes the tables of
``data/numerics/``. Reading the tables needs neither FlyDSL nor torch.
"""
