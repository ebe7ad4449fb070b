"""Toolcrib beside its floors and its peers, as ratios measured in one run: `python -m bench`."""
