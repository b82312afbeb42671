"""The ISA ablation: counts by variant, flags and region, and what they say of the pull request.

Making the tables needs FlyDSL; reading them needs neither FlyDSL nor torch.
"""
