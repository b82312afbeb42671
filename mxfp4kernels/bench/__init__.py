"""Device time of the kernels, measured so that it is hard to be fooled.

N launches of one kernel are captured in a graph; a replay's event time divided by N is one
observation. Flag settings take turns in shuffled order, a setting is compared with the baseline
only within a round, and every comparison comes with one of the baseline with itself. No time is
written of a kernel whose output was not held against the reference. docs/bench.md has the argument.

Nothing here imports torch or FlyDSL before a device is asked for, so plans, committed tables and
the simulated device need neither.
"""
