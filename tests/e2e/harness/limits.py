"""The sizes and times beyond which AWS refuses, each with the page that says so. SQS's 1 MiB for a
message and the 256 KiB for the data of a workflow's state are enforced by moto itself."""

KIB, MIB = 1_024, 1_024 * 1_024
SYNC_REQUEST_BYTES = (
    6 * MIB
)  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
RESPONSE_BYTES = 6 * MIB + 100  # as the error itself says: 6291556
ASYNC_REQUEST_BYTES = 1 * MIB  # https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
STATE_BYTES = 256 * KIB  # https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
API_BYTES = 10 * MIB  # https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
API_SECONDS = 29.0
