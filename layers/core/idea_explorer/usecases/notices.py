"""See to the webhook of a run that ended where no workflow follows that would send it."""

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Log, Notices


def ask_for_notice(exploration: Exploration, notices: Notices, log: Log) -> None:
    """Have it sent, unless nobody asked for it or it was tried; what fails here holds nothing up."""
    due, delivery = exploration.delivery_due, exploration.delivery
    tried = delivery.rounds > 0 and delivery.run == exploration.run
    if due and not tried:
        ask(exploration, notices, log)


def ask(exploration: Exploration, notices: Notices, log: Log) -> None:
    try:
        notices.ask(exploration.id, exploration.run)
    except ExplorerError as error:
        log.warning("notice_not_sent", explorationId=exploration.id, error=error.sentence)
