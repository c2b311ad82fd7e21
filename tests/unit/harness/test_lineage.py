"""How a chain of requests is counted in the trace header."""

from tests.e2e.harness.lineage import MAX_RUNS, count_runs, merge_traces, next_trace


def test_a_chain_counts_each_function_for_itself() -> None:
    trace: str | None = None
    for function in ("dispatch", "notify", "dispatch"):
        trace = next_trace(trace, function)

    assert [count_runs(trace, name) for name in ("dispatch", "notify", "explore")] == [2, 1, 0]


def test_a_chain_keeps_its_root_and_a_call_without_header_starts_a_new_one() -> None:
    first = next_trace(None, "dispatch")
    second = next_trace(first, "dispatch")
    other = next_trace(None, "dispatch")

    root = first.partition(";")[0]
    assert second.startswith(f"{root};")
    assert not other.startswith(f"{root};")
    assert count_runs("Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1", "dispatch") == 0


def test_a_batch_is_as_far_as_its_longest_chain() -> None:
    long: str | None = None
    for _ in range(MAX_RUNS):
        long = next_trace(long, "dispatch")

    merged = merge_traces([None, next_trace(None, "dispatch"), long, next_trace(None, "api")])

    assert count_runs(merged, "dispatch") == MAX_RUNS
    assert count_runs(merged, "api") == 1
    assert merge_traces([None, None]) is None
