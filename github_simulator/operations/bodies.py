"""The limits on texts that people and Apps write."""

from github_simulator.calls import Refusal

LONGEST = 65_536


def checked_body(body: str | None) -> str | None:
    """The body of an issue or pull request. Raises Refusal 422 above 65,536 characters."""
    if body is not None and len(body) > LONGEST:
        message = "body is too long (maximum is 65536 characters)"
        problem = {"resource": "Issue", "code": "custom", "field": "body", "message": message}
        raise Refusal(422, "Validation Failed", [problem])
    return body


def checked_comment(body: str) -> str:
    """The body of a comment. Raises Refusal 422 when it is empty or above 65,536 characters."""
    if not body.strip():
        problem = {"resource": "IssueComment", "code": "missing_field", "field": "body"}
        raise Refusal(422, "Validation Failed", [problem])
    if len(body) > LONGEST:
        message = "Body is too long (maximum is 65536 characters)"
        problem = {"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}
        raise Refusal(422, "Validation Failed", [problem])
    return body
