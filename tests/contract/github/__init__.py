"""What GitHub does, as probes: the same ones run against the simulator and, on request, against GitHub."""
