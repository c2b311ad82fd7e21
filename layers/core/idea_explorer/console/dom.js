// Builds the page. Text is inserted as text only: nothing from a user or a model is parsed as markup.

// Characters that reorder or hide text, or that look like line ends, so that a name or a line of code looks
// different from what it says. The same as UNSAFE_CHARACTERS of domain/text.py, but for the carriage return.
const UNSAFE = String.raw`\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f`
	+ String.raw`\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff`
	+ String.raw`\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`;
const HIDDEN = new RegExp(`[${UNSAFE}]`, "gu");
// joiners shape words of some scripts and emoji; elsewhere they only hide
const HIDDEN_IN_CODE = new RegExp(String.raw`[${UNSAFE}\r]|(?<![\p{Lo}\p{M}\p{So}\p{Sk}])[\u200c\u200d]`, "gu");

const spell = (char) => `⟦U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`;

export const plain = (text) => String(text ?? "").replace(HIDDEN, spell);

/** One line of code, in which every character that would be hidden is spelled out and marked. */
export function spelled(line) {
	const parts = [];
	let at = 0;
	for (const found of line.matchAll(HIDDEN_IN_CODE)) {
		parts.push(line.slice(at, found.index), t("mark.escape", spell(found[0])));
		at = found.index + found[0].length;
	}
	return [...parts, line.slice(at)];
}

/** An element by tag and classes, `p.meta`: attributes, functions as listeners, and children that are nodes or text. */
export function h(name, attributes = {}, ...children) {
	const [tag, ...classes] = name.split(".");
	const element = document.createElement(tag);
	if (classes.length) element.className = classes.join(" ");
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function") element.addEventListener(name, value);
		else if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...nodes(children));
	return element;
}

/** An element without attributes. */
export const t = (name, ...children) => h(name, {}, children);

/** The title of a view; it gets the focus when the view opens. */
export const title = (text) => h("h1", { tabindex: "-1" }, text);

/** The facts that are known, on one line. */
export const facts = (...given) => given.filter((fact) => fact != null && fact !== "" && fact !== false).join(" · ");

const nodes = (children) =>
	children.flat(9).filter((c) => c != null && c !== false).map((c) => (c instanceof Node ? c : plain(c)));

export const fill = (element, ...children) => element.replaceChildren(...nodes(children));

/** Sets text only if it differs, so that a selection or a screen reader is not interrupted. */
export function setText(element, text) {
	const wanted = plain(text);
	if (element.textContent !== wanted) element.textContent = wanted;
}

/** A link if the address is http or https, else the label alone. */
export function link(address, label = address) {
	const url = URL.canParse(address) && new URL(address);
	if (!url || !/^https?:$/.test(url.protocol)) return t("bdi", label);
	return h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, t("bdi", label));
}

export const button = (label, click, attributes) => h("button", { type: "button", click, ...attributes }, label);

export const announce = (text) => setText(document.getElementById("announce"), text);

/** A message with what to do next. */
export const notice = (title, text, ...more) =>
	t("div.notice", t("p.strong", title), text && t("p", text), more);

/** What stands where there is nothing to show. */
export const empty = (title, text, ...more) => t("div.notice.empty", t("p.strong", title), t("p.meta", text), more);

export const failure = (error, retry) =>
	h("div.notice.bad", { role: "alert" }, t("p.strong", error.title ?? "Something went wrong"),
		t("p", error.message), retry && button("Try again", retry));

/** A link to another view that looks like a button. */
export const linkButton = (href, label, kind = "primary") => h(`a.${kind}`, { href }, label);

/** A decoration that screen readers skip. */
export const hidden = (sign) => h("span", { "aria-hidden": "true" }, sign);

export const loading = (what) => h("p.loading", { role: "status" }, `Loading ${what} …`);

export const ACTIVE = new Set(["queued", "running", "awaiting_approval"]);
export const STATUSES = {
	queued: ["◷", "Queued"], running: ["▶", "Running"], awaiting_approval: ["⚑", "Needs approval"],
	completed: ["✓", "Completed"], partial: ["◐", "Partial"], failed: ["✕", "Failed"],
	timed_out: ["◔", "Timed out"], cancelled: ["■", "Cancelled"],
};

export const nameOf = (status) => STATUSES[status][1];

export const badge = (status) => h("span.badge", { "data-status": status }, hidden(STATUSES[status][0]), " ", nameOf(status));

const VERDICTS = {
	"STRONG YES": "Nothing found stands in the way. Start.",
	"CONDITIONAL YES": "Worth doing if the conditions in the report hold.",
	PIVOT: "Not as stated; the report names a better neighbouring idea.",
	PASS: "The time is better spent elsewhere.",
};
export const VERDICT_NAMES = Object.keys(VERDICTS);

/** What each verdict means, as terms and their descriptions. */
export const verdictMeanings = () => Object.entries(VERDICTS).map(([name, meaning]) => [t("dt", name), t("dd", meaning)]);

/** The verdict of an exploration or a document. The offline model repeats the verdicts of other documents: it has none. */
export const verdictOf = ({ verdict, model }) => (model === "offline" ? null : verdict);

/** The verdict as a badge; nothing where there is none. */
export const verdictBadge = (item) => item.verdict && (verdictOf(item)
	? h("span.badge", { "data-verdict": item.verdict.toLowerCase().replaceAll(" ", "-"), title: VERDICTS[item.verdict] }, item.verdict)
	: h("span.badge", { title: "No model judged this idea. Run it again with a model to get a verdict." }, "Offline: no verdict"));

const STALE_DAYS = 90;
/** Whether research is so old that markets and prices may have moved on. */
export const isStale = (moment, now) => now - Date.parse(moment) > STALE_DAYS * 864e5;
export const staleBadge = () => h("span.badge", { "data-stale": true, title: `Older than ${STALE_DAYS} days: update it before you rely on it.` }, "Stale");

/** Small amounts to a hundredth of a cent, without trailing zeros. */
export const money = (usd) => (usd == null ? "–" : `$${usd < 0.1 ? usd.toFixed(4).replace(/0{1,2}$/, "") : usd.toFixed(2)}`);

export function span(ms) {
	if (ms == null) return "";
	if (ms < 1000) return `${Math.round(ms)} ms`;
	const s = ms / 1000;
	if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
	if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 >= 1 ? ` ${Math.floor(s % 60)} s` : ""}`;
	return s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}

export function age(moment, now) {
	const minutes = Math.round((now - Date.parse(moment)) / 6e4);
	const months = Math.floor(minutes / 43800);
	if (months > 1) return months < 24 ? `${months} months ago` : `${Math.floor(months / 12)} years ago`;
	const days = Math.floor(minutes / 1440);
	if (days > 0) return days === 1 ? "yesterday" : `${days} days ago`;
	return minutes < 1 ? "just now" : `${span(minutes * 6e4)} ago`;
}

/** A moment as a person writes it, without its seconds. */
export const dateTime = (moment) => new Date(moment).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });

export const nameTab = (title) => { document.title = `${cut(title, 60)} · Idea Explorer`; };

export const cut = (text, length) => {
	const line = String(text ?? "").replace(/\s+/g, " ").trim();
	return line.length > length ? `${line.slice(0, length - 1).replace(/(?<=.{40}) \S*$/, "")}…` : line;
};

export const select = (options) => t("select", Object.entries(options).map(([value, label]) => h("option", { value }, label)));

const sheets = {};
/** Loads a style sheet once; resolves when its rules hold. */
export const loadStyle = (name) => sheets[name] ??= new Promise((done, fail) => {
	const sheet = h("link", { rel: "stylesheet", href: `console/${name}`, load: done, error: () => { sheet.remove(); delete sheets[name]; fail(new Error(name)); } });
	document.head.append(sheet);
});

/** A labelled control with room for an error message. */
export function field(name, label, control, hint) {
	control.id = control.name = name;
	control.setAttribute("aria-describedby", `${name}-error${hint ? ` ${name}-hint` : ""}`);
	return t("div.field", h("label", { for: name }, label), control,
		hint && h("p.hint", { id: `${name}-hint` }, hint), h("p.wrong", { id: `${name}-error` }));
}

const number = (min, max, step) => h("input", { type: "number", min, max, step, placeholder: "default" });

/** The limits of a run, as every form asks for them. */
export const limits = () => t("div.pair", field("max_cost_usd", "Budget in dollars", number(0.01, null, 0.01)),
	field("deadline_seconds", "Deadline in seconds", number(1, 840)), field("max_steps", "Maximum steps", number(1, 20)));
