"""Pages for people: repositories, pull requests and files, with buttons that act as any persona.

What it is for: reading a pull request as its reviewers would, and approving it by hand. What it never
does: change anything by itself; a button is a REST call with the persona's token. application.py calls it.
"""

from github_simulator.pages.site import Pages

__all__ = ["Pages"]
