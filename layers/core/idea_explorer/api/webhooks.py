"""The routes that send a webhook's message: a test, and the message of an exploration again."""

from pydantic import BaseModel, ConfigDict

from idea_explorer.api.http import ApiCall, ApiResponse
from idea_explorer.domain.request import CallbackSecret, WebhookUrl
from idea_explorer.usecases.find import find
from idea_explorer.usecases.notify import resend, send_test
from idea_explorer.usecases.service import Service


class WebhookTest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    webhook_url: WebhookUrl
    callback_secret: CallbackSecret | None = None


def try_webhook(call: ApiCall, service: Service) -> ApiResponse:
    asked = call.parse_body(WebhookTest)
    return ApiResponse(
        200,
        send_test(
            asked.webhook_url,
            asked.callback_secret,
            webhooks=service.webhooks(),
            clock=service.clock,
        ),
    )


def resend_webhook(call: ApiCall, service: Service) -> ApiResponse:
    exploration = find(call.path["exploration_id"], call.owner, service.explorations)
    return ApiResponse(200, resend(exploration.id, service.sender()).delivery)
