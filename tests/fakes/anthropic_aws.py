"""The door of Claude Platform on AWS: requests signed by SigV4 for one workspace, and let in by IAM."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.fakes.anthropic_faults import ApiError

SERVICE = "aws-external-anthropic"
ACTIONS = {"/v1/messages": "CreateInference", "/v1/models": "ListModels"}


@dataclass(frozen=True)
class AwsAccount:
    """Whose signatures are taken, for which workspace, and what its role may do there."""

    access_key: str = "AKIDEXAMPLE"
    secret_key: str = "not-a-secret"
    region: str = "us-east-1"
    workspace: str = "wrkspc_team"
    allowed: tuple[str, ...] = ("CreateInference", "ListModels")

    def refusal_of(
        self, method: str, url: str, headers: dict[str, str], body: bytes
    ) -> ApiError | None:
        signed = headers.get("authorization", "")
        scope = f"/{self.region}/{SERVICE}/aws4_request"
        if not signed.startswith("AWS4-HMAC-SHA256") or scope not in signed:
            return ApiError(
                401, "authentication_error", "The request is not signed for this service."
            )
        if signed != self._signature(method, url, headers, body, signed):
            return ApiError(401, "authentication_error", "The signature does not match.")
        if headers.get("anthropic-workspace-id") != self.workspace:
            return ApiError(403, "permission_error", "The workspace is not known to this account.")
        action = ACTIONS[urlsplit(url).path]
        if action not in self.allowed:
            message = f"The role is not authorized to perform: {SERVICE}:{action}"
            return ApiError(403, "permission_error", message)
        return None

    def _signature(
        self, method: str, url: str, headers: dict[str, str], body: bytes, signed: str
    ) -> str:
        """What AWS computes from the same request: it signs those headers that the client names."""
        names = signed.partition("SignedHeaders=")[2].partition(",")[0].split(";")
        sent = {name: headers[name] for name in names if name in headers}
        request = AWSRequest(method=method, url=url, data=body, headers=sent)
        request.context["timestamp"] = headers["x-amz-date"]
        signer = SigV4Auth(Credentials(self.access_key, self.secret_key), SERVICE, self.region)
        canonical = signer.canonical_request(request)
        return f"{signed.partition('Signature=')[0]}Signature=" + signer.signature(
            signer.string_to_sign(request, canonical), request
        )
