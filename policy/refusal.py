"""A refusal: what was refused, by which rule, and what would make it pass.

Every "no" that a person or an agent can meet is one of these. The code is stable: agents and scripts
branch on it, people read the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """Stable names of refusals. A code is never renamed or reused; tests list the ones that exist."""

    APPROVALS_REQUIRED_DIFFER = "approvals_required_differ"
    APPROVAL_MISSING = "approval_missing"
    ARGUMENTS_DIFFER = "arguments_differ"
    ARGUMENTS_INVALID = "arguments_invalid"
    ARGV_INVALID = "argv_invalid"
    AUDIT_BROKEN = "audit_broken"
    AUDIT_INVALID = "audit_invalid"
    AUDIT_WENT_BACK = "audit_went_back"
    BACKEND_DIFFERS = "backend_differs"
    BASE_DIFFERS = "base_differs"
    BODY_TOO_LARGE = "body_too_large"
    BOT_ANSWER_INVALID = "bot_answer_invalid"
    BOT_UNREACHABLE = "bot_unreachable"
    CANNOT_BE_SHOWN_WHOLE = "cannot_be_shown_whole"
    CHANNEL_UNAVAILABLE = "channel_unavailable"
    CLAIM_REFUSED = "claim_refused"
    CLOCK_DIFFERS = "clock_differs"
    CONDITION_FAILED = "condition_failed"
    CREDENTIAL_LITERAL = "credential_literal"
    CREDENTIAL_STILL_POWERFUL = "credential_still_powerful"
    DATABASE_RESTORED = "database_restored"
    DATABASE_UNAVAILABLE = "database_unavailable"
    DATABASE_VERSION = "database_version"
    EVENT_MISPLACED = "event_misplaced"
    EVIDENCE_DIFFERS = "evidence_differs"
    EXPECTATION_EXCEEDED = "expectation_exceeded"
    EXPECTATION_INVALID = "expectation_invalid"
    FORBIDDEN = "forbidden"
    GITHUB_UNAVAILABLE = "github_unavailable"
    GRANT_EXPIRED = "grant_expired"
    GRANT_INVALID = "grant_invalid"
    GRANT_NOT_RECORDED = "grant_not_recorded"
    GRANT_OTHER_REQUEST = "grant_other_request"
    GRANT_REVOKED = "grant_revoked"
    GRANT_SIGNATURE = "grant_signature"
    GRANT_SPENT = "grant_spent"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IMAGE_CHANGED = "image_changed"
    IMAGE_DIFFERS = "image_differs"
    IMAGE_INVALID = "image_invalid"
    INTERNAL_ERROR = "internal_error"
    JOB_NOT_YOURS = "job_not_yours"
    JOURNAL_INVALID = "journal_invalid"
    JSON_INVALID = "json_invalid"
    KEY_FILE = "key_file"
    LEASE_NOT_RECORDED = "lease_not_recorded"
    LEASE_NOT_REVOKED = "lease_not_revoked"
    LEASE_TOO_SHORT = "lease_too_short"
    LIMITS_DIFFER = "limits_differ"
    LOCK_FILE_DIFFERS = "lock_file_differs"
    MANIFEST_INVALID = "manifest_invalid"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_FOUND = "not_found"
    OVERLOADED = "overloaded"
    OWNED_DIFFERS = "owned_differs"
    OWNERS_MISSING = "owners_missing"
    PATH_INVALID = "path_invalid"
    PLAN_CHANGED = "plan_changed"
    PLAN_INCOMPLETE = "plan_incomplete"
    PLAN_INVALID = "plan_invalid"
    PLAN_JSON_DIFFERS = "plan_json_differs"
    PLAN_MISSING = "plan_missing"
    PLAN_PROVIDER = "plan_provider"
    PLAN_SUMMARY_DIFFERS = "plan_summary_differs"
    PLAN_UNSEEN = "plan_unseen"
    POLICY_DIFFERS = "policy_differs"
    PROGRAM_MISSING = "program_missing"
    PULL_REQUEST_IMPOSSIBLE = "pull_request_impossible"
    RECEIPT_INVALID = "receipt_invalid"
    RECEIPT_SIGNATURE = "receipt_signature"
    REPOSITORY_DIFFERS = "repository_differs"
    REQUEST_CANCELLED = "request_cancelled"
    REQUEST_DIFFERS = "request_differs"
    REQUEST_EXPIRED = "request_expired"
    REQUEST_OVER = "request_over"
    RESULT_INVALID = "result_invalid"
    SANDBOX_CALL_INVALID = "sandbox_call_invalid"
    SANDBOX_NOT_ISOLATED = "sandbox_not_isolated"
    SANDBOX_STILL_RUNNING = "sandbox_still_running"
    SEALED_PLAN = "sealed_plan"
    SEALING_KEY = "sealing_key"
    SECRET_FILE_INVALID = "secret_file_invalid"
    SETTINGS_INVALID = "settings_invalid"
    SOURCE_DIFFERS = "source_differs"
    SOURCE_INVALID = "source_invalid"
    SOURCE_TOO_LARGE = "source_too_large"
    STATE_BUSY = "state_busy"
    STATE_CHANGED = "state_changed"
    STATE_INVALID = "state_invalid"
    STEPS_DIFFER = "steps_differ"
    TARGET_DIFFERS = "target_differs"
    TERRAFORM_SOURCE = "terraform_source"
    TOKEN_FILE = "token_file"
    TOKEN_INVALID = "token_invalid"
    TOOL_DIFFERS = "tool_differs"
    TOOL_UNKNOWN = "tool_unknown"
    TOO_MANY_OPEN = "too_many_open"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    VAULT_ANSWER_INVALID = "vault_answer_invalid"
    VAULT_LAYOUT = "vault_layout"
    VAULT_REFUSED = "vault_refused"
    VAULT_SEALED = "vault_sealed"
    VAULT_UNREACHABLE = "vault_unreachable"
    WEBHOOK_CONFLICT = "webhook_conflict"
    WEBHOOK_INVALID = "webhook_invalid"
    WEBHOOK_SIGNATURE = "webhook_signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason to refuse.

    Attributes:
        code: the stable name.
        what: what was refused, as the reader would name it.
        rule: the rule that refuses it, as a sentence.
        remedy: what would make it pass, as an instruction.
    """

    code: Code
    what: str
    rule: str
    remedy: str

    def text(self) -> str:
        """The refusal as one paragraph for people."""
        return f"Refused: {self.what}. {self.rule} {self.remedy}"

    def as_json(self) -> dict[str, str]:
        """The refusal for programs: `code`, `what`, `rule`, `remedy`."""
        return {"code": self.code.value, "what": self.what, "rule": self.rule, "remedy": self.remedy}


class Refused(Exception):  # noqa: N818  A refusal is an answer, not a fault of the program.
    """Raised where a rule says no; carries the `Refusal`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text())
        self.refusal = refusal


def refuse(code: Code, what: str, *, rule: str, remedy: str) -> Refused:
    """Builds the exception for one refusal: `raise refuse(Code.X, "…", rule="…", remedy="…")`."""
    return Refused(Refusal(code=code, what=what, rule=rule, remedy=remedy))
