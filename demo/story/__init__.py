"""The story's chapters, in order: a read-only call, a change, the break-ins, the trail."""
