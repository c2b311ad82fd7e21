"""The routes around explorations: what is similar, files to send along, and being told."""

from dataclasses import asdict
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Call
from idea_explorer.api.views import Announced, SimilarList
from idea_explorer.domain.request import CallbackSecret, Idea, Text, WebhookUrl
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find
from idea_explorer.usecases.notify import API_TIMEOUT_SECONDS, resend, send_test
from idea_explorer.usecases.reuse import similar


class SimilarQuestion(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    idea: Idea


class FileAnnouncement(BaseModel):
    """A file that is going to be sent: its name, and its size in bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[Text, Field(min_length=1)]
    size: Annotated[int, Field(ge=0)]


class WebhookTest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    webhook_url: WebhookUrl
    callback_secret: CallbackSecret | None = None


def find_similar(call: Call, deps: Deps) -> Answer:
    question = call.parsed(SimilarQuestion)
    return Answer(200, SimilarList(similar=similar(question.idea, deps)))


def announce_file(call: Call, deps: Deps) -> Answer:
    file = call.parsed(FileAnnouncement)
    file_id, upload = deps.uploads.presign(call.owner, file.name, file.size)
    return Answer(201, Announced(file_id=file_id, upload=asdict(upload)))


def try_webhook(call: Call, deps: Deps) -> Answer:
    asked = call.parsed(WebhookTest)
    return Answer(200, send_test(asked.webhook_url, asked.callback_secret, deps))


def resend_webhook(call: Call, deps: Deps) -> Answer:
    exploration = find(call.path["exploration_id"], call.owner, deps)
    return Answer(200, resend(exploration.id, deps, timeout=API_TIMEOUT_SECONDS).delivery)
