"""Whether a certificate is good or revoked, asked of the engine's own OCSP responder (RFC 6960).

The answer counts only when it is signed by the issuer and is about this very certificate. An old answer
that says "revoked" is as true as a new one, because a revocation is final; so no nonce is needed.
"""

from __future__ import annotations

from enum import StrEnum

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp

from policy.refusal import Code, Refused, refuse
from runner.lease.vault_calls import VaultCalls


class Standing(StrEnum):
    """What the responder says of a certificate."""

    GOOD = "good"
    REVOKED = "revoked"
    UNKNOWN = "unknown"


def standing(
    calls: VaultCalls, mount: str, certificate: x509.Certificate, issuer: x509.Certificate
) -> Standing:
    """Asks `<mount>/ocsp`.

    Raises:
        Refused: `vault_unreachable`, `vault_sealed`, or `vault_answer_invalid` for an answer that is not
            the issuer's or about another certificate.
    """
    request = ocsp.OCSPRequestBuilder().add_certificate(certificate, issuer, hashes.SHA256()).build()
    body = request.public_bytes(Encoding.DER)
    content = calls.post_bytes(f"{mount}/ocsp", body, content_type="application/ocsp-request")
    try:
        answer = ocsp.load_der_ocsp_response(content)
    except ValueError:
        raise _no(mount, "it is not an OCSP response") from None
    if answer.response_status is ocsp.OCSPResponseStatus.UNAUTHORIZED:
        # RFC 6960 section 2.3: the responder does not answer for this certificate.
        return Standing.UNKNOWN
    if answer.response_status is not ocsp.OCSPResponseStatus.SUCCESSFUL:
        raise _no(mount, f"the responder says {answer.response_status.name.lower()}")
    if answer.serial_number != certificate.serial_number:
        raise _no(mount, "it is about another certificate")
    if (
        answer.issuer_key_hash != request.issuer_key_hash
        or answer.issuer_name_hash != request.issuer_name_hash
    ):
        raise _no(mount, "it is about another issuer's certificate")
    _check_signature(answer, issuer, mount)
    match answer.certificate_status:
        case ocsp.OCSPCertStatus.GOOD:
            return Standing.GOOD
        case ocsp.OCSPCertStatus.REVOKED:
            return Standing.REVOKED
        case _:
            return Standing.UNKNOWN


def _check_signature(answer: ocsp.OCSPResponse, issuer: x509.Certificate, mount: str) -> None:
    key = issuer.public_key()
    algorithm = answer.signature_hash_algorithm
    signature, signed = answer.signature, answer.tbs_response_bytes
    try:
        match key:
            case ec.EllipticCurvePublicKey() if algorithm is not None:
                key.verify(signature, signed, ec.ECDSA(algorithm))
            case rsa.RSAPublicKey() if algorithm is not None:
                key.verify(signature, signed, padding.PKCS1v15(), algorithm)
            case ed25519.Ed25519PublicKey():
                key.verify(signature, signed)
            case _:
                raise _no(mount, "its issuer's key is of an unknown kind")
    except InvalidSignature:
        raise _no(mount, "it is not signed by the certificate's issuer") from None


def _no(mount: str, why: str) -> Refused:
    return refuse(
        Code.VAULT_ANSWER_INVALID,
        f"the answer of {mount}/ocsp: {why}",
        rule="A credential is good or dead only by its issuer's own signed word.",
        remedy="Look at the mount's OCSP settings and at what stands between the runner and OpenBao.",
    )
