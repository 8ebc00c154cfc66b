"""How records look in GitHub's JSON, in answers and in webhooks.

What it is for: one function for each of GitHub's schemas, from a view and a record to plain data. What it
never does: change a record. Operations and events call it.
"""
