"""Our files on disk."""
