"""The rules of ownergate, as pure functions over facts.

What a tool may do, what a request is bound to, who may approve it and when that counts, what a
grant and a receipt say: all of it is decided here and nowhere else. This package does no input or
output, reads no clock and no randomness, and holds no secret: facts, the time and random values
come in as arguments, verdicts with their reasons go out. `bot` and `runner` call the same
functions, each over what it has read itself; that is why neither has to believe the other.

It imports nothing of ours. Whatever is missing here is a no.
"""
