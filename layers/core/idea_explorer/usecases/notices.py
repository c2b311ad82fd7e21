"""See to the webhook of a run that ended where no workflow follows that would send it."""

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Log, Notices


def ask_for_notice(exploration: Exploration, notices: Notices, log: Log) -> None:
    """Have it sent, unless nobody asked for it or it was tried; what fails here holds nothing up."""
    delivery = exploration.delivery
    tried = delivery.status in {"delivered", "failed"} and delivery.run == exploration.run
    if not exploration.is_final or exploration.request.webhook_url is None or tried:
        return
    try:
        notices.ask(exploration.id, exploration.run)
    except ExplorerError as error:
        log.warning("notice_not_sent", explorationId=exploration.id, error=error.sentence)
