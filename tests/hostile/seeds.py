"""What strangers may write, by subject: the strings that the corpora are made from."""

from tests.browser.payloads import BASES as MARKUP

CONTROLS = [chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))]
UNSEEN = list("\u200b\u200c\u200d\u200e\u200f\u061c\u2028\u2029\u202a\u202b\u202c\u202d\u202e")
UNSEEN += list("\u2060\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff\U000e0001\U000e0041\U0001f3fb")
SURROGATES = ["\ud800", "\udfff", "\udc80"]
WIDE = [
    "Ａ",
    "ﬀ",
    "İ",
    "ı",
    "ß",
    "Ǆ",
    "e\u0301",
    "a" + "\u0300" * 50,
    "𝐀",
    "👩‍👩‍👧",
    "한",
    "ا",
    "ต่ำ",
]

PATHS = """
../secret.txt
../../etc/passwd
/etc/passwd
//etc/passwd
./../secret.txt
a/../../secret.txt
ideas/../secret.txt
....//secret.txt
..././secret.txt
..\\secret.txt
..%2fsecret.txt
%2e%2e/secret.txt
%252e%252e%252fsecret.txt
..%c0%afsecret.txt
..%00/secret.txt
secret.txt\x00.md
link
link/secret.txt
folder-link/secret.txt
good.md
good.md/
good.md/../good.md
.git/config
.GIT/config
.git\u200c/config
git~1/config
.git./config
sub/.git/hooks/pre-commit
C:/Windows/win.ini
C:\\Windows\\win.ini
\\\\server\\share
~/.ssh/id_rsa
$HOME/.ssh/id_rsa
file:///etc/passwd
/proc/self/environ
/dev/zero
/dev/stdin
fifo
CON
NUL.md
aux.md
-rf
--help
a
.
..
...
/

good.md\n../secret.txt
good\u2024md
good．md
ideas/good.md
""".split("\n")

URLS = """
http://127.0.0.1/
http://localhost/
http://localhost.localdomain/
http://0/
http://0.0.0.0/
http://127.1/
http://2130706433/
http://0x7f000001/
http://0177.0.0.1/
http://017700000001/
http://127.0.0.1.nip.io/
http://[::1]/
http://[::]/
http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/
http://[0:0:0:0:0:ffff:a9fe:a9fe]/
http://[64:ff9b::a9fe:a9fe]/
http://[2002:7f00:1::]/
http://[fe80::1%25eth0]/
http://[fd00::1]/
http://169.254.169.254/latest/meta-data/
http://metadata.google.internal/
http://100.100.100.200/
http://10.0.0.1/
http://172.16.0.1/
http://192.168.1.1/
http://198.18.0.1/
http://224.0.0.1/
http://255.255.255.255/
http://public.example@127.0.0.1/
http://127.0.0.1#@public.example/
http://127.0.0.1\\@public.example/
http://public.example:80@127.0.0.1:22/
http://public.example:22/
http://public.example:0/
http://public.example:99999/
http://public.example:-1/
http://public.example\t.evil.example/
http://public.example%00.evil.example/
http://public.example。/
http://①②⑦.⓪.⓪.①/
http://ⓛocalhost/
http://xn--/
http://xn--a/
http://a..b/
http://.public.example/
http://public.example./
http:///public.example
http:/public.example
http:public.example
https://public.example/%zz
https://public.example/\r\nHost: evil.example
https://public.example/?q=\u2028
ftp://public.example/
file:///etc/passwd
gopher://127.0.0.1:25/
data:text/html,x
javascript:alert(1)
jar:http://public.example!/
unix:///var/run/docker.sock
http+unix://%2Fvar%2Frun%2Fdocker.sock/
https://private.example/
https://rebind.example/
https://mixed.example/
https://public.example/
https://
http://[
http://]
http://[::1
http://user:pass@public.example/
https://public.example:443:443/
""".strip().split("\n")

REFS = """
main
../../private/commits/main
..
.
refs/heads/../../../private
heads/main
a..b
a.lock
a.lock/b
.a
a/.b
/a
a/
a//b
a b
a~1
a^
a:b
a?b
a*b
a[b
a\\b
a@{1}
@
@{u}
-rf
--upload-pack=touch
HEAD
FETCH_HEAD
a\x7fb
a\nb
a%2f..%2fb
%2e%2e%2f
main?per_page=1
main#x
main;x
acme/../private
acme/app/../../private/repo
acme/app.git
acme/.
acme/..
./app
acme
acme/app/extra
-acme/app
acme-/app
acme/app\n
acme/app%2f..
ａcme/app
0123456789012345678901234567890123456789
""".strip("\n").split("\n")

FRONT_MATTER = """
idea: !!bool x
idea: !!python/object/apply:os.system ["id"]
idea: !!binary "x"
idea: !!timestamp x
idea: !!int x
idea: !!float x
idea: !!set {a, b}
idea: !!omap [a: b]
!!map {idea: x}
idea: &a [*a]
a: &a [x,x,x,x]\\nb: &b [*a,*a,*a,*a]\\nc: &c [*b,*b,*b,*b]\\nd: [*c,*c,*c,*c]
<<: *unknown
<<: {idea: x}
a: &a {b: c}\\nd:\\n  <<: *a
? [a, b]\\n: c
? {a: b}\\n: c
- a\\n- b
just text
idea: [[[[[[[[[[x]]]]]]]]]]
idea: {{{{{{{{{{x: y}: z}
idea: "unterminated
idea: 'unterminated
idea: |\\n  text\\n more
idea: >-\\n\\t tab
\\tidea: tab
idea: x: y: z
idea: x #comment
date: 2026-13-45
date: 2026-11-16T99:99:99Z
date: 0000-00-00
cost_usd: .inf
cost_usd: -.nan
cost_usd: 1_000e999999999
cost_usd: 0x_
cost_usd: 190:20:30
yes: no
null: ~
~: ~
idea: \x00
idea: "\\\\ud800"
idea: "\\\\x1b]0;x\\\\x07"
%YAML 9.9\\n---\\nidea: x
%TAG ! tag:x,2026:\\n---\\nidea: !a x
---\\n---\\nidea: x
...
idea: x\\n...\\nmore
exploration_id: ../../x
status: running
idea: <script>alert(1)</script>
idea: *
idea: &
idea: !
idea: @x
idea: `x`
""".strip("\n").split("\n")

PATTERNS = r"""
a{1,1000}
(a{1,1000}){1,1000}
((a{1,30}){1,30}){1,30}
(a+)+$
(a|a)*$
(a|aa)+$
(.*)*x
(.*a){20}
(?:(?:a{0,100}){0,100}){0,100}
[a-z]{1000}
\pL{1000}
(\pL|\pN){500}
.{1000}
(?i)(ſ|k){1000}
[^\x00-\x{10FFFF}]
[[:alpha:]
[z-a]
(
)
(?P<n>a)(?P<n>b)
(?<=a)b
(?=a)
\1
\Q
\Qa\Eb
\C
\x{110000}
\x
\
a**
a{2,1}
a{99999999999}
*
+
?
^*
$*
(?s).*
(?-s)
(?z)
\b{1000}
\B
$^
^$
\A\z
||||
(||)*
[]
[^]
[]]
\p{Greek}{1000}
\p{Nope}
\R
(?#x)
x*y*z*
(x+x+)+y
([a-zA-Z]+)*$
^(([a-z])+.)+[A-Z]([a-z])+$
""".strip("\n").split("\n")

MARKDOWN = r"""
<!--
-->
<![CDATA[
<?php
[
]
\[
](
![
[^1]
[^1]: x
[a]: <
[a](<
[a](b "
**
__
***a*
~~
`
```
~~~
    code
> > > >
1. 1. 1.
- - - -
| a | b |
|---|
# # #
===
---
&#x0;
&#99999999;
&nbsp;
<a href="
<a href='x' onclick=
<img src=x onerror=alert(1)>
<https://a.example/\>
<mailto:a@b>
https://a.example/?utm_source=x
![x](https://evil.example/x.png)
[x](javascript:alert(1))
[x]: javascript:alert(1)
## Update - 2026-11-16
## Update - 2026-11-16\r
<!-- exploration 01a1e835-83b1-71ee-8445-63a642cb0f50 -->
## Sources
## Verdict
**GO**
# Title
\
\\
{{x}}
$$
@team
Closes #1
fixes acme/app#2
Co-authored-by: Eve <eve@example.com>
Exploration-Id: x
[skip ci]
""".strip("\n").split("\n")

TERMINAL = [
    "\x1b[2J", "\x1b[31m", "\x1b[0;0H", "\x1b]0;title\x07", "\x1b]8;;https://evil.example\x1b\\link",
    "\x1b]52;c;aGk=\x07", "\x1b[?1049h", "\x1b[?25l", "\x1b[6n", "\x1b[c", "\x1b[21t", "\x1bc",
    "\x1b(0", "\x1bP1$r\x1b\\", "\x1b_x\x1b\\", "\x1b^x\x1b\\", "\x9b31m", "\x9d0;t\x9c", "\x90x\x9c",
    "\x07", "\x08\x08\x08", "\r", "\x0b", "\x0c", "\x0e", "\x0f", "\x7f", "\x00", "\u202e", "\u2028",
    "\x1b[1;1R", "\x1b[>c", "\x1b[!p", "\x1b[3J", "\x1b]1337;File=:\x07", "\x1b]4;0;red\x07",
    "\x1b[8m", "\x1b[38;5;0m", "[red]x[/red]", "[link=https://evil.example]x[/link]", "[/]", "[b",
]  # fmt: skip

JSON = r"""
{}
[]
null
true
0
-0
1e999
-1e999
NaN
Infinity
123456789012345678901234567890
0.1e-400
""
"\ud800"
"\u0000"
{"idea": null}
{"idea": 1}
{"idea": []}
{"idea": {"$ref": "#"}}
{"idea": "x", "idea": "y"}
{"idea": "x", "extra": 1}
{"idea": "x", "mode": "nope"}
{"idea": "x", "model": "opus", "max_steps": 1e9}
{"idea": "x", "max_steps": -1}
{"idea": "x", "max_steps": "5"}
{"idea": "x", "max_steps": 5.5}
{"idea": "x", "max_cost_usd": 1e400}
{"idea": "x", "max_cost_usd": -1}
{"idea": "x", "webhook_url": "https://127.0.0.1/"}
{"idea": "x", "webhook_url": "https://public.example/", "webhook_secret": "\n"}
{"idea": "x", "continue_from": "../x"}
{"idea": "x", "toolset": "code", "repository": "../x", "ref": "../../private/commits/main"}
{"idea": "x", "toolset": "assistant", "files": ["../x"]}
{"idea": "x", "toolset": "assistant", "files": [null]}
{"idea": "x", "toolset": "discover", "limit": 1e308}
{"__proto__": {"x": 1}}
{"a":1
[1,]
{a: 1}
{'a': 1}
[1 2]
"\x"
"
""".strip("\n").split("\n")

EXPRESSIONS = """
9**9**9**9
2^2^2^2^2^2
(((((1)))))
1/0
0^0
0^-1
sqrt(-1)
ln(0)
exp(1e9)
sin(1e308)
1e400
1e-400
round(1e300, 400)
max()
min(1
abs(
1 2
1,000
١٢٣
１＋１
0x10
1_0
__import__('os')
().__class__
lambda: 0
[x for x in y]
%
7 % -3
-7 % 3
5%%
1e
.
..
- - - - 1
+-+-1
pi()
e e
""".strip().split("\n")

SEEDS: dict[str, list[str]] = {
    "paths": PATHS,
    "urls": URLS,
    "refs": REFS,
    "front matter": [line.replace("\\n", "\n").replace("\\t", "\t") for line in FRONT_MATTER],
    "regexes": PATTERNS,
    "markdown": [*MARKDOWN, *MARKUP],
    "terminal": TERMINAL,
    "json": JSON,
    "unicode": [*CONTROLS, *UNSEEN, *SURROGATES, *WIDE, "", " ", "\t", "\n", "\u3000"],
    "sums": EXPRESSIONS,
}
