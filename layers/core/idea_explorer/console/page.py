"""A report as a web page of its own, to read, print or send. It loads nothing and runs nothing."""

from collections.abc import Sequence
from html import escape

from idea_explorer.console.markdown import render_report
from idea_explorer.domain.claims import ExplainedClaim
from idea_explorer.domain.text import make_printable, one_line

# Reports quote strangers: no script, image, style or form of theirs works, whatever a renderer lets through.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; margin: 2em 0 .5em; }
h1 { margin-top: 0; }
blockquote { margin: 1em 0; padding: 0 1em; border-left: 3px solid #8888; }
pre, code { font: .9em ui-monospace, monospace; }
pre { padding: 1em; background: #8882; overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .3em .7em; border: 1px solid #8886; text-align: left; }
.end { text-align: right; }
.center { text-align: center; }
.scroll { overflow-x: auto; }
.cite, .claim { font-size: .75em; vertical-align: super; margin-left: .15em; }
mark.unverified { background: #fc06; color: inherit; }
@media print { body { margin: 0; max-width: none; } a { color: inherit; } }
"""


def render_page(title: str, markdown: str, claims: Sequence[ExplainedClaim] = ()) -> str:
    """Links to other documents of the team are plain text: they lead nowhere outside of the console."""
    shown = escape(make_printable(one_line(title, 200)))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{shown}</title>
<style>
{STYLE}</style>
</head>
<body>
{render_report(markdown, claims, base=None)}
</body>
</html>
"""
