"""How many functions may run at once in the account, and what the deployment sets because of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from idea_explorer.domain.errors import ConfigurationError

# "You can reserve up to the Unreserved account concurrency value minus 100" (AWS Lambda Developer Guide,
# Configuring reserved concurrency). An account with a smaller limit can reserve nothing: Lambda then refuses
# with "below its minimum value of [10]", or whatever the whole limit is.
MIN_UNRESERVED = 100
API_RESERVED = (
    50  # people who look at runs hold one each for as long as their browser waits for events
)
STREAMS_AT_FIRST = 20  # of a new stack, where 100 stay for everything that has none reserved
MAX_RUNNING, API, EXPLORE = "MaxRunning", "ApiReservedConcurrency", "ExploreReservedConcurrency"
MAX_STREAMS = "MaxStreams"
RESERVATIONS = frozenset({API, EXPLORE})


@dataclass(frozen=True)
class AccountLimits:
    """`unreserved` counts what this stack has reserved so far as free."""

    total: int
    unreserved: int

    @property
    def reservable(self) -> int:
        return max(0, self.unreserved - MIN_UNRESERVED)


@dataclass(frozen=True)
class ConcurrencyPlan:
    parameters: Mapping[str, str]
    sentences: tuple[str, ...]


def explore_reserve(max_running: int) -> int:
    """Slightly above MaxRunning: runs are also settled, and answered when a person has decided."""
    return max_running + max(2, max_running // 5)


def plan_concurrency(
    limits: AccountLimits,
    wanted: Mapping[str, str],
    named: Mapping[str, str],
    *,
    is_new: bool = False,
) -> ConcurrencyPlan:
    """`wanted` has what would be in force; `named` is the part of it that is to stay as it is. A new stack
    streams events where there is room for it.

    Raises ConfigurationError where more is to be reserved than AWS allows.
    """
    has = f"This account runs {limits.total} functions at once, {limits.unreserved} of them unreserved."
    max_running = int(wanted[MAX_RUNNING])
    if API in named or EXPLORE in named:
        api, explore = int(wanted[API]), int(wanted[EXPLORE])
        if api + explore > limits.reservable:
            raise ConfigurationError(
                f"{has} {API} {api} and {EXPLORE} {explore} are more than the {limits.reservable}"
                f" that can be reserved.",
                hint="Lower them, or ask AWS for a higher limit of concurrent executions.",
            )
    else:
        api, explore = API_RESERVED, explore_reserve(max_running)
        if api + explore > limits.reservable:
            explore = 0
        if api > limits.reservable:
            api = 0
    sentences = [has]
    shared = limits.unreserved - api
    most = max(1, shared // 2)  # the other half is for the API and the other functions
    if explore == 0 and max_running > most:
        if MAX_RUNNING in named:
            sentences.append(
                f"MaxRunning {max_running} leaves little room for the API: more than {most} can"
                " keep it from answering."
            )
        else:
            sentences.append(
                f"MaxRunning is set to {most}, not {max_running}, so that the API can still answer."
            )
            max_running = most
    reserved = [f"{api} for the API"] * bool(api) + [f"{explore} for explorations"] * bool(explore)
    sentences.append(
        f"Reserved: {' and '.join(reserved)}."
        if reserved
        else f"Nothing is reserved: AWS keeps {MIN_UNRESERVED} unreserved, or all of a smaller limit."
    )
    sentences.append(f"Up to {max_running} explorations run at once.")
    streams = int(wanted[MAX_STREAMS])
    if is_new and MAX_STREAMS not in named and explore:
        streams = STREAMS_AT_FIRST
    if streams:
        sentences.append(f"Up to {streams} people can follow them by a stream at once.")
    if streams > (shared - (explore or max_running)) // 2:
        sentences.append(f"{MAX_STREAMS} {streams} leaves little room for the API.")
    parameters = {
        MAX_RUNNING: str(max_running),
        MAX_STREAMS: str(streams),
        API: str(api),
        EXPLORE: str(explore),
    }
    return ConcurrencyPlan(parameters, tuple(sentences))
