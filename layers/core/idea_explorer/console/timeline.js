// Events drawn as steps with tool cards. They are gathered and drawn once a frame, however many come.

import { cut, fill, h, money, plain, say, span, t } from "./dom.js";
import { resultOf } from "./results.js";

const ICONS = [
	[/^(web|http)/, "↗"], [/^read/, "¶"], [/^list/, "≡"], [/^(semantic|tidal|album|batch|suggest)/, "♪"], [/search|find/, "⌕"],
	[/^calc/, "∑"], [/^(edit|create)/, "✎"], [/./, "•"],
];
const STATES = { pending: "waits for you", executing: "running", completed: "done", failed: "failed" };

function card(start) {
	const status = h("span.state", {});
	const what = h("span.what", {});
	const took = h("span.took", {});
	const inside = h("div.inside", {});
	const element = t("details.card", h("summary", {},
		h("span.icon", { "aria-hidden": "true" }, ICONS.find(([name]) => name.test(start.toolName))?.[1]),
		t("span.tool", start.toolName), what, took, status), inside);
	let end = null;
	const draw = () => {
		if (!element.open) return fill(inside);
		const given = Object.keys(start.input ?? {}).length > 0;
		fill(inside, given && [t("h4", "Arguments"), resultOf(start.input, start.toolName, true)],
			end && [t("h4", end.error ? "Error" : "Result"),
				end.error ? t("p.bad", end.error) : end.output ? resultOf(end.output, start.toolName) : t("p", end.summary)]);
	};
	element.addEventListener("toggle", draw);
	const card = {
		element,
		to(state, event = null) {
			element.dataset.status = state;
			end = event;
			say(status, STATES[state]);
			const { content, ...given } = start.input ?? {};
			const values = Object.values(given).filter((v) => typeof v !== "object");
			say(what, cut(event?.error ?? event?.summary ?? values.join(" · "), 160));
			say(took, span(event?.durationMs));
			if (element.open) draw();
		},
	};
	card.to("executing");
	return card;
}

function step(title) {
	const name = t("h3", title);
	const meta = h("span.meta", {});
	const body = h("div.body", {});
	return {
		element: t("li.step", t("div.heading", name, meta), body),
		finished: false,
		text: null,
		add(element) {
			body.append(element);
			this.text = null;
		},
		say(content) {
			if (!this.text) {
				this.text = document.createTextNode("");
				body.append(h("div.said", { dir: "auto" }, this.text));
			}
			this.text.appendData(plain(content));
		},
		finish(event) {
			this.finished = true;
			say(name, `Step ${event.step}`);
			const tokens = (event.usage?.inputTokens ?? 0) + (event.usage?.outputTokens ?? 0);
			say(meta, [money(event.cost), span(event.durationMs), `${tokens.toLocaleString("en")} tokens`].filter(Boolean).join(" · "));
		},
	};
}

export class Timeline {
	constructor(root, onChange) {
		this.root = root;
		this.onChange = onChange;
		this.queue = [];
		this.cards = new Map();
		this.asked = new Map();
		this.current = null;
		this.count = 0;
		this.due = false;
	}

	push(event) {
		this.queue.push(event);
		this.schedule();
	}

	schedule() {
		if (this.due || !this.queue.length) return;
		this.due = true;
		const draw = () => this.flush();
		// a hidden tab gets no frames, and would gather for ever
		if (document.hidden) setTimeout(draw, 250);
		else requestAnimationFrame(draw);
	}

	flush() {
		this.due = false;
		const seen = this.queue.splice(0, 200);
		this.home = this.root;
		this.root = document.createDocumentFragment();
		for (const event of seen) this[event.type]?.(event);
		this.home.append(this.root);
		this.root = this.home;
		this.count += seen.length;
		this.home.dataset.events = this.count;
		this.onChange(seen);
		this.schedule();
	}

	open() {
		this.current = step(`Step ${this.root.childElementCount + (this.home?.childElementCount ?? 0) + 1}`);
		this.root.append(this.current.element);
		return this.current;
	}

	/** Tools run after their step's answer; what the model says next belongs to the next step. */
	writing() {
		return this.current && !this.current.finished ? this.current : this.open();
	}

	note(text, kind = "") {
		const place = this.current?.element.parentNode ? this.current : null;
		const element = h("p", { class: `event ${kind}` }, text);
		if (place) place.add(element);
		else this.root.append(t("li", element));
	}

	message_start() {
		if (this.current && !this.current.finished) this.note("This step was interrupted and is run again.");
		this.current = null;
	}

	text_delta(event) {
		this.writing().say(event.content);
	}

	tool_call_start(event) {
		const known = this.cards.get(event.toolCallId);
		if (known) return known.to("executing");
		const made = card(event);
		this.cards.set(event.toolCallId, made);
		const place = event.toolName === "web_search" ? this.writing() : this.current ?? this.open();
		place.add(made.element);
	}

	tool_call_end(event) {
		this.cards.get(event.toolCallId)?.to("completed", event);
	}

	tool_call_error(event) {
		this.cards.get(event.toolCallId)?.to("failed", event);
	}

	step_finished(event) {
		this.writing().finish(event);
	}

	approval_requested(event) {
		this.asked.set(event.approvalId, event);
		this.cards.get(event.toolCallId)?.to("pending");
	}

	approval_decided(event) {
		const path = this.asked.get(event.approvalId)?.path ?? "A change";
		const reason = event.reason ? `: ${event.reason}` : "";
		this.note(`${path} was ${event.decision === "approve" ? "approved" : "rejected"}${reason}`);
	}

	status_changed(event) {
		if (event.to === "queued") this.current = null;
	}

	error(event) {
		this.note(`${event.code}: ${event.message}`, "bad");
	}
}
