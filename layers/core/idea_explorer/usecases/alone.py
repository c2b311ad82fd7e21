"""Work a queue message from its request to its report, with no queue and no workflow around."""

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.message import QUEUE_OWNER, Message, Submission, parse_message
from idea_explorer.usecases.attempt import attempt
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.finish import Outlets, finish
from idea_explorer.usecases.submit import submit
from idea_explorer.usecases.terms import Terms
from idea_explorer.usecases.work import books_of


def work_alone(message: Message, engine: Engine, outlets: Outlets, terms: Terms) -> Exploration:
    """Run the one exploration that a message names or asks for; one that has ended stays as it is."""
    named = parse_message(message)
    if isinstance(named, Submission):
        exploration = submit(
            named.request,
            QUEUE_OWNER,
            engine.explorations,
            engine.clock,
            terms=terms,
            exploration_id=named.id,
        )
    else:
        exploration = engine.explorations.load(named.id)
    if exploration.is_final:
        return exploration
    explored = attempt(exploration.id, exploration.run, lambda: engine, books_of(engine))
    if explored.status == "awaiting_approval":
        return explored
    return finish(
        explored.id,
        explored.run,
        engine,
        outlets,
        lambda sentence: engine.log.warning("publish_waits", reason=sentence),
    )
