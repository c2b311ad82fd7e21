"""Our engine as a runner of the benchmark against other loops, with all that production has switched on.

    python -m tests.performance.peer_runner --base URL --mode cold|warm|conc …

It speaks the protocol of the other runners (peers/runners/protocol.py). The journal, events, the record and
the report go to SQLite, log lines to stderr, metrics to stdout. Nothing is published: no other loop does.
"""

import atexit
import json
import os
import sys

from tests.performance.peers.runners.protocol import (
    MODEL,
    REPORT_LENGTH,
    Explore,
    Explored,
    prompt,
    run,
)


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def prepare(base: str) -> Explore:
    folder = f"{os.environ.get('TMPDIR') or '/tmp'}/idea-peers-{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)  # noqa: PTH102  what makes such folders takes time to load, as pathlib does
    atexit.register(_remove, folder)
    os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "IdeaExplorer")
    os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "idea-explorer")
    from idea_explorer.domain.request import ExploreRequest
    from idea_explorer.observability.metrics import MetricSink
    from idea_explorer.settings import Settings
    from idea_explorer.usecases.explore import explore
    from idea_explorer.usecases.submit import submit
    from idea_explorer.wiring import local
    from idea_explorer.wiring.deps import local_deps

    prices = {"input": 2, "output": 10, "cache_write": 2.5, "cache_read": 0.2}
    settings = Settings.from_environment(
        {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": base,
            "GITHUB_TOKEN": "t",
            "GITHUB_REPOSITORY": "acme/lab",
            "GITHUB_BRANCH": "main",
            "GITHUB_API_URL": base,
            "IDEA_MODELS": json.dumps({"sonnet": MODEL}),
            "IDEA_PRICES": json.dumps({MODEL: prices}),
            "IDEA_RESEARCH_DIR": folder,
        }
    )
    from dataclasses import replace

    made = local_deps(settings, local.cli_log(sys.stderr))
    # the scripted answer has no headings of ours, and would be asked for again
    engine = replace(made.engine(), framework_for=lambda *_: None)
    deps = replace(
        made,
        engine=lambda: engine,
        sinks_for=lambda e: [*made.sinks_for(e), MetricSink(e, made.clock)],
    )

    def explore_one(name: str) -> Explored:
        request = ExploreRequest(idea=prompt(name), deadline_seconds=840)
        asked = submit(request, local.LOCAL_OWNER, deps, by_command=True)
        ended = explore(asked.id, asked.run.number, deps)
        assert ended.run.outcome == "completed", ended.run
        stats = ended.run.stats
        # what is added to the answer, such as its list of sources, comes after it
        text = deps.reports.load_report(ended.id)[:REPORT_LENGTH]
        return Explored(text, stats.usage.input_tokens, stats.usage.output_tokens, stats.steps)

    return explore_one


if __name__ == "__main__":
    run(prepare)
