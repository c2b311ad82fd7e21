// Building the page. Text is only ever text here: nothing that was sent in is read as markup.

// These reorder what is read, so that a name or a line of code shows other than it is.
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

export const plain = (text) =>
	String(text ?? "").replace(REORDERING, (c) => `⟦U+${c.codePointAt(0).toString(16).toUpperCase()}⟧`);

/** An element by tag and classes, `p.meta`: attributes, `on` for listeners, and children that are nodes or text. */
export function h(name, attributes = {}, ...children) {
	const [tag, ...classes] = name.split(".");
	const element = document.createElement(tag);
	if (classes.length) element.className = classes.join(" ");
	for (const [name, value] of Object.entries(attributes)) {
		if (name === "on") {
			for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
		} else if (value === true) element.setAttribute(name, "");
		else if (value !== false && value != null) element.setAttribute(name, value);
	}
	element.append(...nodes(children));
	return element;
}

/** An element without attributes. */
export const t = (name, ...children) => h(name, {}, children);

const nodes = (children) =>
	children.flat(9).filter((c) => c != null && c !== false).map((c) => (c instanceof Node ? c : plain(c)));

export const fill = (element, ...children) => element.replaceChildren(...nodes(children));

/** Sets text only where it differs, so that what is selected or read aloud stays. */
export function say(element, text) {
	const wanted = plain(text);
	if (element.textContent !== wanted) element.textContent = wanted;
}

/** A link where the address is one of the web, else the label alone. */
export function link(address, label = address) {
	let url;
	try {
		url = new URL(address);
	} catch {
		return t("span", label);
	}
	if (!/^https?:$/.test(url.protocol)) return t("span", label);
	return h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, t("bdi", label));
}

export const button = (label, act, attributes = {}) =>
	h("button", { type: "button", on: { click: act }, ...attributes }, label);

export const announce = (text) => say(document.getElementById("announce"), text);

/** What to show while there is nothing to show, and what to do about it. */
export const notice = (title, text, ...more) =>
	t("div.notice", t("p.strong", title), text && t("p", text), more);

export const failure = (error, retry) =>
	h("div.notice.bad", { role: "alert" }, t("p.strong", error.title ?? "That did not work"),
		t("p", error.message), retry && button("Try again", retry));

export const loading = (what) => h("p.loading", { role: "status" }, `Loading ${what} …`);

export const STATUSES = {
	queued: ["◷", "Queued"], running: ["▶", "Running"], awaiting_approval: ["⚑", "Needs approval"],
	completed: ["✓", "Completed"], partial: ["◐", "Partial"], failed: ["✕", "Failed"],
	timed_out: ["⌛", "Timed out"], cancelled: ["■", "Cancelled"],
};

export function badge(status) {
	const [icon, label] = STATUSES[status] ?? ["?", status];
	return h("span.badge", { "data-status": status }, h("span", { "aria-hidden": "true" }, icon), ` ${label}`);
}

export const money = (usd) => (usd == null ? "–" : `$${usd < 0.1 && usd > 0 ? usd.toFixed(4) : usd.toFixed(2)}`);

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
	return minutes < 1 ? "just now" : `${span(minutes * 6e4)} ago`;
}

export const cut = (text, length) => {
	const line = String(text ?? "").replace(/\s+/g, " ").trim();
	return line.length > length ? `${line.slice(0, length - 1)}…` : line;
};

/** A labelled control, with a place for what is wrong with it. */
export function field(name, label, control, hint) {
	control.id = control.name = name;
	control.setAttribute("aria-describedby", `${name}-error${hint ? ` ${name}-hint` : ""}`);
	return t("div.field", h("label", { for: name }, label), control,
		hint && h("p.hint", { id: `${name}-hint` }, hint), h("p.wrong", { id: `${name}-error` }));
}

const number = (min, max, step) => h("input", { type: "number", min, max, step, placeholder: "default" });

export const limits = () => t("div.pair", field("max_cost_usd", "Budget in US dollars", number(0.01, null, 0.01)),
	field("deadline_seconds", "Deadline in seconds", number(1, 840)), field("max_steps", "Steps at most", number(1, 20)));
