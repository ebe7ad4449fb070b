"""Where tools are described."""
