"""Sources of new tools of folders with a manifest, one file for each language."""
