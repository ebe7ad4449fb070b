"""`list_files`: `list_directory`, by the name that others know it by."""

from .list_directory import listing

list_files = listing("list_files")
