"""The doors a program comes in by. Each one speaks a protocol and hands calls to the runtime."""
