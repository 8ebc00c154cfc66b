"""What holds a sandbox to its limits on this host.

Control groups hold memory, CPU and processes when this user may make them (version 1 or 2); otherwise
the runner watches and kills. The work folder is a tmpfs of the right size when this user may mount;
otherwise its size is watched. Inside, resource limits hold in any case. `check` of the sandbox tries
the limits, and its proof says which of these is in force.
"""
