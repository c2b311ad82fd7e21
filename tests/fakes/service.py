"""Queue and workflow of a service in memory: what was sent and started stands in plain lists."""

from dataclasses import dataclass, field

from idea_explorer.domain.ids import ExplorationId


@dataclass
class FakeQueue:
    sent: list[tuple[ExplorationId, int, int]] = field(default_factory=list)
    dead: list[tuple[str, str]] = field(default_factory=list)

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        self.sent.append((exploration_id, run, delay_seconds))

    def dead_letter(self, body: str, reason: str) -> None:
        self.dead.append((body, reason))


@dataclass
class FakeWorkflow:
    """Starts each name once, as Step Functions does. `failure` is raised while it is set."""

    started: list[tuple[ExplorationId, int, int]] = field(default_factory=list)
    failure: Exception | None = None
    ended: set[ExplorationId] = field(default_factory=set)

    def is_running(self, exploration_id: ExplorationId, run: int) -> bool:
        return exploration_id not in self.ended

    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        if self.failure:
            raise self.failure
        if (exploration_id, run) in {(known, r) for known, r, _ in self.started}:
            return False
        self.started.append((exploration_id, run, deadline_seconds))
        return True
