"""How processes are started, confined, watched and ended."""
