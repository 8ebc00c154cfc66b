"""`python -m ownergate`: the same as `ownergate`."""

from ownergate.cli import main

main()
