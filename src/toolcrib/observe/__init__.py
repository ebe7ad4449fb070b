"""What is kept of every call: the record and the counters."""
