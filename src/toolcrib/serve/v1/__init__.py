"""Generated from proto/toolcrib/v1 by `make proto`."""
