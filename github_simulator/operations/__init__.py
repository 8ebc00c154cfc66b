"""The operations of the REST API, one module for each of GitHub's subjects.

What it is for: each function carries out one operation and returns a Reply or raises a Refusal. What it
never does: check credentials, rights or schemas (dispatch.py has done so). Only dispatch.py calls them.
"""

from github_simulator.operations import (
    apps,
    branches,
    checks,
    comments,
    commits,
    contents,
    git_data,
    hooks,
    issues,
    labels,
    merges,
    organizations,
    pull_requests,
    repositories,
    reviewers,
    reviews,
    statuses,
    timelines,
    users,
)

__all__ = [
    "apps",
    "branches",
    "checks",
    "comments",
    "commits",
    "contents",
    "git_data",
    "hooks",
    "issues",
    "labels",
    "merges",
    "organizations",
    "pull_requests",
    "repositories",
    "reviewers",
    "reviews",
    "statuses",
    "timelines",
    "users",
]
