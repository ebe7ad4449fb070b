"""The nouns and the pipeline. Nothing in here knows a concrete backend, source, sandbox or door."""
