"""Series over M: published, measured and modelled, side by side and never mixed."""
