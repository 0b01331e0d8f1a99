"""The job file: its parts, how it is read and checked."""
