"""The symbols of a source tree: found, kept, brought up to date, and asked for."""
