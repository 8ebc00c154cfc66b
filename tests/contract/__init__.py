"""The same cases against a double and against the real thing."""
