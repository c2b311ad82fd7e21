"""What every store promises, asked of each in the same words."""

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from idea_explorer.domain.branches import Branch
from idea_explorer.domain.errors import (
    ConflictError,
    InvalidRequestError,
    LeaseLostError,
    MissingError,
    UnreadableRecordError,
)
from idea_explorer.domain.events import StatusChanged, ToolCallEnd
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import branch_id, id_from_key
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.ports import Filter, Spend
from idea_explorer.usecases.deps import Deps
from tests.fakes.explorations import NOW, an_exploration, said, words

LATER = NOW + timedelta(hours=1)
UNKNOWN = id_from_key("nobody", "nothing")


def unchanged(exploration: Exploration) -> Exploration:
    return exploration


def started(exploration: Exploration) -> Exploration:
    return exploration.started(at=LATER)


def stored(stores: Deps, **changes: object) -> Exploration:
    exploration = an_exploration(**changes)  # type: ignore[arg-type]
    assert stores.explorations.create(exploration)
    return exploration


def spend_of(stores: Deps) -> Spend:
    assert stores.policy.spend is not None
    return stores.policy.spend


# Records and leases


def test_what_was_created_is_loaded_whole(stores: Deps) -> None:
    request = ExploreRequest(idea="Grüße 🐝", context="x" * 40_000, callback_secret="whsec_abc")
    exploration = stored(stores, request=request, title="T")

    assert stores.explorations.load(exploration.id) == exploration


def test_a_taken_id_is_not_created_again(stores: Deps) -> None:
    exploration = stored(stores)

    assert not stores.explorations.create(exploration.replace(owner="eve"))
    assert stores.explorations.load(exploration.id).owner == "ada"


def test_what_is_not_there_is_missing(stores: Deps) -> None:
    for ask in (
        lambda: stores.explorations.load(UNKNOWN),
        lambda: stores.explorations.take_over(UNKNOWN, unchanged),
        lambda: stores.explorations.request_cancel(UNKNOWN),
        lambda: stores.events.append(UNKNOWN, None, words("hello")),
        lambda: stores.reports.load_report(UNKNOWN),
    ):
        with pytest.raises(MissingError):
            ask()
    assert stores.explorations.is_cancelled(UNKNOWN) is False
    assert stores.events.read(UNKNOWN) == []


def test_a_take_over_applies_the_change_under_a_new_lease(stores: Deps) -> None:
    exploration = stored(stores)

    taken = stores.explorations.take_over(exploration.id, started)

    assert (taken.lease, taken.status) == (exploration.lease + 1, "running")
    assert stores.explorations.load(exploration.id) == taken


def test_a_change_that_raises_changes_nothing(stores: Deps) -> None:
    exploration = stored(stores)

    def refuse(_: Exploration) -> Exploration:
        raise ConflictError("not now")

    with pytest.raises(ConflictError):
        stores.explorations.take_over(exploration.id, refuse)
    assert stores.explorations.load(exploration.id) == exploration


def test_the_holder_of_the_lease_saves(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    ended = taken.finished("completed", at=LATER, path="ideas/a/research.md")

    stores.explorations.save(ended)

    assert stores.explorations.load(taken.id) == ended


def test_who_lost_the_lease_saves_nothing(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    second = stores.explorations.take_over(first.id, unchanged)

    with pytest.raises(LeaseLostError):
        stores.explorations.save(first.finished("failed", at=LATER))
    assert stores.explorations.load(first.id) == second


def test_take_overs_at_once_each_get_a_lease_of_their_own(stores: Deps) -> None:
    exploration = stored(stores)

    def one_more_run(before: Exploration) -> Exploration:
        return before.replace(number=before.run.number + 1)

    with ThreadPoolExecutor(8) as pool:
        taken = list(
            pool.map(
                lambda _: stores.explorations.take_over(exploration.id, one_more_run), range(16)
            )
        )

    assert sorted(one.lease for one in taken) == list(range(1, 17))
    assert stores.explorations.load(exploration.id).run.number == 17


# Cancelling


def test_a_cancel_request_is_seen_and_survives_a_save(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    assert not stores.explorations.is_cancelled(taken.id)

    stores.explorations.request_cancel(taken.id)
    stores.explorations.save(taken.replace(title="T"))

    assert stores.explorations.is_cancelled(taken.id)
    assert stores.explorations.load(taken.id).cancel_requested


def test_a_take_over_can_withdraw_a_cancel_request(stores: Deps) -> None:
    exploration = stored(stores)
    stores.explorations.request_cancel(exploration.id)

    stores.explorations.take_over(exploration.id, lambda e: e.replace(cancel_requested=False))

    assert not stores.explorations.is_cancelled(exploration.id)


# Lists


def test_pages_are_newest_first_whatever_the_ids_say(stores: Deps) -> None:
    made = [
        an_exploration(id=id_from_key("ada", str(n)), minutes=n / 1_000, conversation_id=UNKNOWN)
        for n in range(7)
    ]
    for exploration in made:
        stores.explorations.create(exploration)
    stored(stores, owner="eve")

    seen: list[str] = []
    cursor: str | None = None
    for size in (3, 3, 1):
        page = stores.explorations.page("ada", Filter(), limit=3, cursor=cursor)
        seen += [exploration.id for exploration in page.explorations]
        cursor = page.cursor
        assert len(page.explorations) == size

    assert seen == [exploration.id for exploration in reversed(made)]
    assert cursor is None


def test_a_branch_is_on_no_list_and_waits_for_no_slot(stores: Deps) -> None:
    parent = stored(stores)
    waiting = stores.admission.count_waiting()
    branch = Branch(parent=parent.id, number=1, question="Why?", model_id="m", until=LATER)
    child = stored(stores, id=branch_id(parent.id, 1), minutes=1, branch_of=branch)

    page = stores.explorations.page("ada", Filter(), limit=10, cursor=None)
    assert [listed.id for listed in page.explorations] == [parent.id]
    assert stores.admission.count_waiting() == waiting
    assert stores.explorations.load(child.id) == child


def test_what_only_another_version_can_read_is_on_no_list_and_told_when_asked_for(
    stores: Deps,
) -> None:
    kept, theirs = stored(stores), an_exploration(minutes=1)
    request = theirs.request.model_copy(update={"toolset": "shop"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic's, about a toolset that it does not know
        assert stores.explorations.create(theirs.replace(request=request))

    page = stores.explorations.page("ada", Filter(), limit=10, cursor=None)
    assert ([listed.id for listed in page.explorations], page.left_out) == ([kept.id], 1)
    found = stores.explorations.unchanged_since("queued", LATER)
    assert [exploration.id for exploration in found] == [kept.id]
    with pytest.raises(UnreadableRecordError, match=r"another version .* its request\.toolset"):
        stores.explorations.load(theirs.id)


def test_explorations_of_the_same_moment_are_all_listed_once(stores: Deps) -> None:
    made = {stored(stores).id for _ in range(5)}

    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = stores.explorations.page("ada", Filter(), limit=2, cursor=cursor)
        seen += [exploration.id for exploration in page.explorations]
        if (cursor := page.cursor) is None:
            break

    assert sorted(seen) == sorted(made)


def test_a_page_that_is_just_full_has_no_cursor(stores: Deps) -> None:
    stored(stores)
    stored(stores)

    assert stores.explorations.page("ada", Filter(), limit=2, cursor=None).cursor is None


def test_pages_hold_only_what_is_wanted(stores: Deps) -> None:
    running = stores.explorations.take_over(stored(stores).id, started)
    code = stored(stores, request=ExploreRequest(idea="x", toolset="code"))
    wide = stored(stores, request=ExploreRequest(idea="x", mode="exploration"))

    def found(wanted: Filter) -> list[str]:
        page = stores.explorations.page("ada", wanted, limit=10, cursor=None)
        return [exploration.id for exploration in page.explorations]

    assert found(Filter(status="running")) == [running.id]
    assert found(Filter(toolset="code")) == [code.id]
    assert found(Filter(mode="exploration")) == [wide.id]
    assert found(Filter(status="queued", mode="business")) == [code.id]
    assert found(Filter(status="failed")) == []


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "bm90IG91cnM", "ä", "2026#" * 9, UNKNOWN])
def test_a_cursor_that_is_not_ours_is_refused(stores: Deps, cursor: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        stores.explorations.page("ada", Filter(), limit=2, cursor=cursor)
    assert refused.value.fields == {"cursor": "not one of ours"}


def test_what_has_not_changed_for_long_is_found_oldest_first(stores: Deps) -> None:
    young = stored(stores, minutes=10)
    old = [stored(stores, minutes=2), stored(stores, minutes=1)]
    running = stores.explorations.take_over(stored(stores).id, started)

    def since(status: str, minutes: int) -> list[str]:
        moment = NOW + timedelta(minutes=minutes)
        found = stores.explorations.unchanged_since(status, moment)  # type: ignore[arg-type]
        return [exploration.id for exploration in found]

    assert since("queued", 5) == [old[1].id, old[0].id]
    assert since("queued", 11) == [old[1].id, old[0].id, young.id]
    assert since("running", 5) == []
    assert since("running", 61) == [running.id]


# Events


def test_events_are_numbered_from_one_and_read_in_order(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    stores.events.append(taken.id, taken.lease, StatusChanged(from_="queued", to="running"))
    stores.events.append(taken.id, taken.lease, words("é"))

    first, second = stores.events.read(taken.id)

    assert (first.number, first.type) == (1, "status_changed")
    assert json.loads(first.data) == {"type": "status_changed", "from": "queued", "to": "running"}
    assert (second.number, json.loads(second.data)["content"]) == (2, "é")
    assert stores.events.read(taken.id, after=1) == [second]
    assert stores.events.read(taken.id, limit=1) == [first]
    assert stores.events.read(taken.id, after=2) == []
    assert stores.events.read_last(taken.id, limit=1) == [second]
    assert stores.events.read_last(taken.id, limit=5) == [first, second]


def test_events_without_a_lease_stand_among_those_with_one(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    stores.events.append(taken.id, taken.lease, words("1"))
    stores.events.append(taken.id, None, words("2"))
    stores.events.append(taken.id, taken.lease, words("3"))

    assert [(e.number, json.loads(e.data)["content"]) for e in stores.events.read(taken.id)] == [
        (1, "1"),
        (2, "2"),
        (3, "3"),
    ]


def test_who_lost_the_lease_appends_no_event(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    stores.explorations.take_over(first.id, unchanged)

    with pytest.raises(LeaseLostError):
        stores.events.append(first.id, first.lease, words("zombie"))
    assert stores.events.read(first.id) == []


def test_many_writers_leave_no_gap_and_no_repeat(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)

    def write(n: int) -> None:
        stores.events.append(taken.id, taken.lease if n % 3 else None, words(str(n)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(60)))

    events = stores.events.read(taken.id)
    assert [event.number for event in events] == list(range(1, 61))
    assert sorted(int(json.loads(event.data)["content"]) for event in events) == list(range(60))


def test_an_event_that_is_too_large_is_cut_and_says_so(stores: Deps) -> None:
    exploration = stored(stores)
    event = ToolCallEnd(
        tool_call_id="toolu_1",
        summary="Read a book",
        output={"ok": True, "content": "🐝" * 200_000},
        record=ToolRecord(name="read_file", duration_ms=1, ok=True),
    )
    stores.events.append(exploration.id, None, event)
    stores.events.append(exploration.id, None, words("\x01" * 200_000))

    ended, text = (json.loads(e.data) for e in stores.events.read(exploration.id))

    assert ended["summary"] == "Read a book"
    assert (ended["output"]["ok"], ended["output"]["truncated"]) == (True, True)
    assert ended["output"]["bytes"] > 800_000
    assert ended["output"]["content"].startswith("🐝")
    assert ended["output"]["content"].endswith("[cut]")
    assert text["content"].startswith("\x01\x01")
    assert text["content"].endswith("[cut]")


# Transcripts and reports


def test_a_transcript_is_there_for_whoever_opens_it_next(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    transcript = stores.transcripts.open(first.id, first.lease)
    assert transcript.entries == ()
    transcript.append(said("one"))
    transcript.append(said("two" * 100_000))

    second = stores.explorations.take_over(first.id, unchanged)
    resumed = stores.transcripts.open(second.id, second.lease)
    resumed.append(said("three"))

    entries = [said("one"), said("two" * 100_000), said("three")]
    assert list(resumed.entries) == entries
    assert list(stores.transcripts.open(second.id, second.lease).entries) == entries


def test_who_lost_the_lease_adds_nothing_to_the_transcript(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    zombie = stores.transcripts.open(first.id, first.lease)
    zombie.append(said("one"))
    second = stores.explorations.take_over(first.id, unchanged)

    with pytest.raises(LeaseLostError):
        zombie.append(said("late"))
    assert list(zombie.entries) == [said("one")]
    assert list(stores.transcripts.open(second.id, second.lease).entries) == [said("one")]


def test_entries_events_and_the_record_of_a_step_are_stored_together(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    transcript = stores.transcripts.open(taken.id, taken.lease)
    transcript.add(said("one"))
    transcript.add_event(words("1"))
    transcript.set_record(taken.replace(title="T"))
    assert stores.events.read(taken.id) == []

    transcript.append(said("two" * 100_000))

    assert stores.explorations.load(taken.id).run.title == "T"
    assert [event.type for event in stores.events.read(taken.id)] == ["text_delta"]
    reopened = stores.transcripts.open(taken.id, taken.lease).entries
    assert list(reopened) == [said("one"), said("two" * 100_000)]


def test_who_lost_the_lease_stores_no_part_of_a_step(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    zombies = [stores.transcripts.open(first.id, first.lease) for _ in range(3)]
    second = stores.explorations.take_over(first.id, unchanged)
    zombies[0].add(said("late"))
    zombies[1].add_event(words("late"))
    zombies[2].set_record(first.replace(title="late"))

    for zombie in zombies:
        with pytest.raises(LeaseLostError):
            zombie.flush()

    assert stores.explorations.load(first.id) == second
    assert stores.events.read(first.id) == []
    assert stores.transcripts.open(second.id, second.lease).entries == ()


def test_a_step_with_more_events_than_a_transaction_holds_is_stored_in_order(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    transcript = stores.transcripts.open(taken.id, taken.lease)
    for number in range(50):
        transcript.add_event(StatusChanged(from_="queued", to="running"))
        transcript.add_event(words(str(number)))
    for _ in range(11):
        transcript.add_event(StatusChanged(from_="queued", to="running"))
        transcript.add_event(words("x" * 290_000))
    transcript.append(said("one"))

    seen: list[str] = []
    numbers = [0]
    while events := stores.events.read(taken.id, after=numbers[-1]):
        numbers += [event.number for event in events]
        seen += [json.loads(e.data)["content"] for e in events if e.type == "text_delta"]
    assert numbers == list(range(123))
    assert seen[:50] == [str(number) for number in range(50)]
    assert stores.transcripts.open(taken.id, taken.lease).entries == (said("one"),)


def test_the_last_report_is_the_one_that_is_read(stores: Deps) -> None:
    taken = stores.explorations.take_over(stored(stores).id, started)
    with pytest.raises(MissingError):
        stores.reports.load_report(taken.id)

    stores.reports.save_report(taken.id, taken.lease, "# Draft")
    stores.reports.save_report(taken.id, taken.lease, "# Grüße\r\n")

    assert stores.reports.load_report(taken.id) == "# Grüße\r\n"


def test_who_lost_the_lease_replaces_no_report(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    stores.reports.save_report(first.id, first.lease, "# First")
    stores.explorations.take_over(first.id, unchanged)

    with pytest.raises(LeaseLostError):
        stores.reports.save_report(first.id, first.lease, "# Zombie")
    assert stores.reports.load_report(first.id) == "# First"


def test_a_report_outlives_later_changes_of_its_record(stores: Deps) -> None:
    first = stores.explorations.take_over(stored(stores).id, started)
    stores.reports.save_report(first.id, first.lease, "# First")
    second = stores.explorations.take_over(first.id, unchanged)
    stores.explorations.save(second.finished("completed", at=LATER))

    assert stores.reports.load_report(first.id) == "# First"


# Spend


def test_what_an_owner_spent_is_summed_by_day(stores: Deps) -> None:
    today, yesterday = NOW.date(), NOW.date() - timedelta(days=1)
    assert spend_of(stores).spent("ada", today) == 0

    spend_of(stores).record("ada", today, "a-1", 0.1)
    spend_of(stores).record("ada", today, "a-2", 0.2)
    spend_of(stores).record("ada", yesterday, "a-1", 5)
    spend_of(stores).record("eve", today, "b-1", 0.0000001)

    assert spend_of(stores).spent("ada", today) == pytest.approx(0.3)
    assert spend_of(stores).spent("ada", yesterday) == 5
    assert spend_of(stores).spent("eve", today) == 0.0000001


def test_what_a_run_spent_counts_once_and_is_never_lowered(stores: Deps) -> None:
    for usd in (0.1, 0.4, 0.4, 0.2):
        spend_of(stores).record("ada", NOW.date(), "a-1", usd)

    assert spend_of(stores).spent("ada", NOW.date()) == pytest.approx(0.4)


def hold(stores: Deps, run: str, usd: float, owner: str = "ada") -> float:
    return spend_of(stores).reserve(owner, NOW.date(), run, usd, limit=1.0)


def test_what_is_held_back_counts_until_the_cost_is_known(stores: Deps) -> None:
    assert hold(stores, "a-1", 0.75) == 0.75
    assert spend_of(stores).spent("ada", NOW.date()) == 0.75

    spend_of(stores).record("ada", NOW.date(), "a-1", 0.25)

    assert spend_of(stores).spent("ada", NOW.date()) == 0.25


def test_no_more_is_held_back_than_the_day_has_left(stores: Deps) -> None:
    spend_of(stores).record("ada", NOW.date(), "a-1", 0.25)

    assert hold(stores, "a-2", 0.5) == 0.5
    assert hold(stores, "a-3", 0.5) == 0.25
    assert hold(stores, "a-4", 0.5) == 0
    assert hold(stores, "b-1", 0.5, owner="eve") == 0.5


def test_who_holds_back_again_after_a_crash_holds_it_once(stores: Deps) -> None:
    assert hold(stores, "a-1", 0.75) == hold(stores, "a-1", 0.75) == 0.75
    assert spend_of(stores).spent("ada", NOW.date()) == 0.75


def test_a_run_that_cost_more_than_it_held_counts_in_full(stores: Deps) -> None:
    hold(stores, "a-1", 0.5)
    spend_of(stores).record("ada", NOW.date(), "a-1", 1.25)

    assert spend_of(stores).spent("ada", NOW.date()) == 1.25
    assert hold(stores, "a-2", 0.5) == 0


def test_runs_that_begin_at_once_do_not_hold_more_than_the_day_together(stores: Deps) -> None:
    with ThreadPoolExecutor(6) as threads:
        held = list(threads.map(lambda n: hold(stores, f"a-{n}", 0.25), range(6)))

    assert sorted(held) == [0, 0, 0.25, 0.25, 0.25, 0.25]
    assert spend_of(stores).spent("ada", NOW.date()) == 1.0
