"""Nothing that a model, a page or a file says runs in the browser of who looks at it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from idea_explorer.domain.diffs import unified_diff
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.json import JsonObject
from tests.browser.driver import Browser
from tests.browser.payloads import PAYLOADS
from tests.browser.stage import TOKEN, Stage, begun, called, failed, proposed, said, step

pytestmark = pytest.mark.slow

# Before anything of the page: count what runs, and what the policy had to stop.
WATCH = """
window.ran = 0; window.stopped = [];
window.alert = window.confirm = window.prompt = () => { window.ran++; };
document.addEventListener("securitypolicyviolation", (e) =>
  window.stopped.push(`${e.violatedDirective} ${e.sample} ${e.blockedURI}`));
"""
# After something was drawn: what waits for somebody to touch it.
TOUCH = """
const root = document.querySelector("main");
for (const details of root.querySelectorAll("details")) details.open = true;
await new Promise((done) => setTimeout(done, 150));
const bad = [];
for (const e of root.querySelectorAll("*")) {
  for (const a of e.attributes) {
    if (/^on|^style$|^srcdoc$|^formaction$/i.test(a.name)) bad.push(e.outerHTML.slice(0, 200));
    if (/^(href|src|action|data|xlink:href)$/i.test(a.name) && !/^(https?:|mailto:|#)/i.test(a.value)) {
      bad.push(e.outerHTML.slice(0, 200));
    }
  }
  const active = /^(script|iframe|object|embed|svg|math|img|style|link|base|meta|template)$/i;
  if (active.test(e.localName)) bad.push(e.localName);
  for (const type of ["mouseover", "focus", "pointerenter", "error", "load", "animationstart"]) {
    e.dispatchEvent(new Event(type));
  }
}
const loaded = performance.getEntriesByType("resource").map((r) => r.name);
const elsewhere = loaded.filter((name) => !name.startsWith(location.origin));
const hidden = /[\\u202a-\\u202e\\u2066-\\u2069]/.test(root.innerText);
const elements = root.querySelectorAll("*").length;
return { ran: window.ran, stopped: window.stopped, bad, elsewhere, hidden, elements };
"""


def touched(tab: Browser) -> dict[str, Any]:
    return dict(tab.run(f"return (async () => {{ {TOUCH} }})()"))


@pytest.fixture
def watched(tab: Browser, stage: Stage) -> Iterator[Browser]:
    script = tab.chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    tab.sign_in(stage.url, TOKEN)
    yield tab
    tab.chrome.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def harmless(found: dict[str, Any]) -> bool:
    return found == {**found, "ran": 0, "stopped": [], "bad": [], "elsewhere": [], "hidden": False}


def test_the_watch_sees_what_runs(watched: Browser) -> None:
    watched.run("alert(1); document.querySelector('main').innerHTML")

    assert watched.run("return window.ran") == 1


def test_ideas(watched: Browser, stage: Stage) -> None:
    for payload in PAYLOADS[:100]:
        stage.api.submitted("ada", idea=payload)
    watched.go("#/new")
    watched.go("#/ideas")
    watched.until(lambda: len(watched.all("tbody tr")) == 100, "all rows")

    found = touched(watched)

    assert harmless(found), found


def test_tool_results_files_and_citations(watched: Browser, stage: Stage) -> None:
    exploration = stage.running(idea=PAYLOADS[0], context=PAYLOADS[1])
    stage.tell(exploration, [begun(exploration)])
    for n, payload in enumerate(PAYLOADS):
        hit = {
            "url": payload,
            "title": payload,
            "path": payload,
            "excerpt": payload,
            "file": payload,
        }
        track = {
            "title": payload,
            "artist": payload,
            "album": payload,
            "reasoning": payload,
            "isrc": payload,
        }
        outputs: list[tuple[str, dict[str, Any]]] = [
            ("web_search", {"results": [hit, payload, {"title": {"onclick": "alert(1)"}}]}),
            ("read_file", {"path": payload, "content": f"1\t{payload}\n2\t{payload}"}),
            ("suggestPlaylist", {"title": payload, "tracks": [track]}),
            ("search_files", {"matches": [{"file": payload, "line": payload, "text": payload}]}),
            ("http_fetch", {"url": payload, "title": payload, "text": payload, "status": payload}),
            ("calculator", {"expression": payload, "result": payload}),
            (payload, {payload: payload, "deep": {"onload": payload}}),
        ]
        name, output = outputs[n % len(outputs)]
        given: JsonObject = {"query": payload, "nested": {"x": payload}}
        events: Sequence[AnyEvent] = called(n, name, given, {"ok": True, **output})
        if n % 10 == 9:
            events = failed(n, name, {"path": payload}, payload)
        stage.tell(exploration, [*events, said(payload)])
    stage.tell(exploration, [step(1)])

    watched.go(f"#/x/{exploration.id}")
    watched.until(lambda: len(watched.all(".card")) == len(PAYLOADS), "all cards")
    found = touched(watched)

    assert harmless(found), found
    assert found["elements"] > 20 * len(PAYLOADS)


def test_proposed_changes(watched: Browser, stage: Stage) -> None:
    exploration = stage.running(idea="Changes")
    proposals = [
        proposed(p, p, f"--- a/{p}\n+++ b/{p}\n@@ -1 +1,2 @@\n-{p}\n+{p}\n {p}\n", p)
        for p in PAYLOADS
    ]
    stage.ask(exploration, proposals)

    watched.go(f"#/x/{exploration.id}")
    watched.until(lambda: len(watched.all(".change")) == len(PAYLOADS), "all changes", seconds=60)
    watched.click(watched.find("#two"))
    found = touched(watched)

    assert harmless(found), json.dumps(found)[:3000]


def test_reports(watched: Browser, stage: Stage) -> None:
    """Each by the page's own code, one after the other, with the payload as text, label and address."""
    ids = []
    for payload in PAYLOADS:
        cited = f"[{payload}]({payload}) and [[1]](https://a.example) ⚠ unverified"
        table = f"| {payload} |\n|---|\n| {payload} |"
        parts = [f"# {payload}", payload, cited, table, f"- {payload}", "## Sources", f"1. {cited}"]
        ids.append(stage.ended(report="\n\n".join(parts), idea=payload).id)

    watched.run(
        """const [ids] = arguments; window.drawn = 0;
        import(new URL("console/report.js", location)).then(async ({ showReport }) => {
          const root = document.querySelector("main .view");
          for (const id of ids) {
            const place = document.createElement("div");
            root.append(place);
            await showReport(place, id, new AbortController().signal);
            window.drawn++;
          }
        }).catch((error) => { window.drawn = String(error); });""",
        ids,
    )
    drawn = "return typeof window.drawn === 'string' || window.drawn === arguments[0]"
    watched.until(lambda: watched.run(drawn, len(ids)), "all reports", seconds=300)
    assert watched.run("return window.drawn") == len(ids)
    found = touched(watched)

    assert harmless(found), json.dumps(found)[:3000]
    print(
        f"\n{len(PAYLOADS)} hostile payloads: {found['ran']} ran, {len(found['stopped'])} had to be stopped"
    )


HIDING = ["\u2028", "\u2029", "\u0085", "\f", "\v", "\r", "\u202e", "\u2066", "\u200b", "\u200d"]


def test_no_character_hides_a_line_of_a_change(watched: Browser, stage: Stage) -> None:
    """The attack: what follows a separator would look like context, or like nothing at all."""
    attacks = "".join(f"safe({n}){char} run_attack({n})\n" for n, char in enumerate(HIDING))
    diff = unified_diff("a.py", "safe()\n", f"safe()\n{attacks}")
    exploration = stage.running(toolset="code")
    stage.ask(exploration, [proposed("a.py", f"safe()\n{attacks}", diff, "Harmless")])
    watched.go(f"#/x/{exploration.id}")
    watched.sees("1 change needs your approval")
    assert "You edited" not in watched.text()
    assert not [b for b in watched.all(".change button") if b.text == "Edit"]
    for side_by_side in (False, True):
        if side_by_side:
            watched.click(watched.find("#two"))
            watched.find("table.two")
        added = [cell.text for cell in watched.all(".change td.added")]
        assert [line.split("⟦")[0].strip("+ ") for line in added] == [
            f"safe({n})" for n in range(len(HIDING))
        ]
        for n, (char, line) in enumerate(zip(HIDING, added, strict=True)):
            assert f"⟦U+{ord(char):04X}⟧ run_attack({n})" in line
        heights = {cell.size["height"] for cell in watched.all(".change td.added")}
        assert len(heights) == 1  # each is one line on the screen
        watched.shot(f"hidden-lines-{'two' if side_by_side else 'one'}")
