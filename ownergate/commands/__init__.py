"""The commands of `ownergate`, one module each."""
