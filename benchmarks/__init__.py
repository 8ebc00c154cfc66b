"""The numbers that this project promises, each measured beside its floor in the same run.

A floor is the least that the same work could cost: a bare `runsc`, a bare web server, a bare import.
Only the ratio of the two says something on a machine that others use as well. A benchmark measures the
shipped product from outside and changes nothing in it; it is not a test, and a missed bound is shown,
never hidden and never an error. `python -m benchmarks --help` says how to run them.

Each benchmark is one module with a docstring whose first line is its title and one function:

    def measure(run: Run) -> Sequence[Row]

It tells its progress with `run.say`, takes the running product from `run.stage()` if it needs it, and
returns its rows (`benchmarks.figures`). `benchmarks.catalogue` names the modules.
"""
