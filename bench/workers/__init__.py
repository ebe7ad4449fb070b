"""One subject of measurement per file, each a process of its own."""
