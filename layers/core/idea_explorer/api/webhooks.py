"""The routes that send a webhook's message: a test, and the message of an exploration again."""

from pydantic import BaseModel, ConfigDict

from idea_explorer.api.http import ApiCall, ApiResponse
from idea_explorer.domain.request import CallbackSecret, WebhookUrl
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find
from idea_explorer.usecases.notify import API_TIMEOUT_SECONDS, resend, send_test


class WebhookTest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    webhook_url: WebhookUrl
    callback_secret: CallbackSecret | None = None


def try_webhook(call: ApiCall, deps: Deps) -> ApiResponse:
    asked = call.parse_body(WebhookTest)
    return ApiResponse(200, send_test(asked.webhook_url, asked.callback_secret, deps))


def resend_webhook(call: ApiCall, deps: Deps) -> ApiResponse:
    exploration = find(call.path["exploration_id"], call.owner, deps)
    resent = resend(exploration.id, deps, timeout=API_TIMEOUT_SECONDS)
    return ApiResponse(200, resent.delivery)
