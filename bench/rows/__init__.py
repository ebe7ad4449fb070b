"""One question per file; each has `NAME`, `TITLE` and `ask(scratch)`."""
