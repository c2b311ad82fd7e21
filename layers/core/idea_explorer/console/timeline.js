// Draws events as steps with tool cards. Events are queued and drawn once per frame, as many as a frame has time for.

import { badge, cut, facts, fill, h, hidden, money, plain, setText, span, t } from "./dom.js";
import { drawPlan } from "./plan.js";
import { resultOf } from "./results.js";

const ICONS = [
	[/^(web|http)/, "↗"], [/^read/, "¶"], [/^list/, "≡"], [/^(semantic|tidal|album|batch|suggest)/, "♪"], [/search|find/, "⌕"],
	[/^calc/, "∑"], [/^(edit|create|delete|move)_/, "✎"], [/^run_checks/, "✓"], [/./, "•"],
];
const FRAME_MS = 5; // of 16: layout and paint need the rest
const STATES = { pending: "needs approval", executing: "running", completed: "done", failed: "failed" };

function card(start) {
	const [status, what, took, inside] = ["span.state", "span.what", "span.took", "div.inside"].map((name) => t(name));
	const icon = ICONS.find(([name]) => name.test(start.toolName))?.[1];
	const element = t("details.card", t("summary", hidden(icon), t("span.tool", start.toolName), what, took, status), inside);
	let end;
	const draw = () => {
		if (!element.open) return fill(inside);
		const given = Object.keys(start.input).length > 0;
		fill(inside, given && [t("h4", "Arguments"), resultOf(start.input, start.toolName, true)],
			end && [t("h4", end.error ? "Error" : "Result"),
				end.error ? t("p.bad", end.error) : end.output ? resultOf(end.output, start.toolName) : t("p", end.summary)]);
	};
	element.addEventListener("toggle", draw);
	const card = {
		element,
		to(state, event) {
			element.dataset.status = state;
			end = event;
			setText(status, STATES[state]);
			const { content, ...given } = start.input;
			const short = Object.values(given).filter((value) => typeof value !== "object");
			setText(what, cut(event?.error ?? event?.summary ?? facts(...short), 160));
			setText(took, span(event?.durationMs));
			if (element.open) draw();
		},
	};
	card.to("executing");
	return card;
}

function step(title) {
	const name = t("h3", title);
	const meta = t("span.meta");
	const body = t("div");
	return {
		element: t("li.step", t("div.heading", name, meta), body),
		finished: false,
		text: null,
		add(element) {
			body.append(element);
			this.text = null;
		},
		write(content, kind = "said") {
			if (this.text?.parentElement.className !== kind) {
				this.text = document.createTextNode("");
				body.append(h(`div.${kind}`, { dir: "auto" }, this.text));
			}
			this.text.appendData(plain(content));
		},
		finish(event) {
			this.finished = true;
			setText(name, `Step ${event.step}`);
			const tokens = event.usage.inputTokens + event.usage.outputTokens;
			setText(meta, facts(money(event.cost), span(event.durationMs), `${tokens.toLocaleString("en")} tokens`));
		},
	};
}

/** A question of the plan, with what is done to answer it. */
function branch(question) {
	const state = badge("running");
	const body = t("div");
	const element = t("li.branch", t("div.heading", h("span.said", { dir: "auto" }, question), state), body);
	return {
		element,
		add: (card) => body.append(card),
		finish(event) {
			state.replaceWith(badge(event.status));
			if (event.error) body.append(t("p.event", event.error));
			if (event.cost != null) body.append(t("p.meta", money(event.cost)));
		},
	};
}

export class Timeline {
	queue = [];
	cards = new Map();
	branches = new Map();
	asked = new Map();
	current = null;
	count = 0;
	due = false;

	constructor(root, onChange) {
		Object.assign(this, { root, onChange });
	}

	push(event) {
		this.queue.push(event);
		this.schedule();
	}

	schedule() {
		if (this.due || !this.queue.length) return;
		this.due = true;
		const draw = () => this.flush();
		// a hidden tab gets no frames, so the queue would grow for ever
		if (document.hidden) setTimeout(draw, 250);
		else requestAnimationFrame(draw);
	}

	flush() {
		this.due = false;
		const end = performance.now() + FRAME_MS;
		const seen = [];
		while (this.queue.length && performance.now() < end) {
			const event = this.queue.shift();
			seen.push(event);
			this[event.type]?.(event);
		}
		this.count += seen.length;
		this.root.dataset.events = this.count;
		this.onChange(seen);
		this.schedule();
	}

	open() {
		this.current = step(`Step ${this.root.childElementCount + 1}`);
		this.root.append(this.current.element);
		return this.current;
	}

	/** Tools run after the model's turn, so the text that follows them belongs to the next step. */
	currentStep() {
		return this.current && !this.current.finished ? this.current : this.open();
	}

	note(text, kind = "") {
		const element = h("p", { class: `event ${kind}` }, text);
		if (this.current) this.current.add(element);
		else this.root.append(t("li", element));
	}

	message_start() {
		if (this.current && !this.current.finished) this.note("This step was interrupted and is being retried.");
		this.current = null;
	}

	text_delta(event) {
		this.currentStep().write(event.content);
	}

	/** A summary of the model's thinking. It shows progress and is not part of the report. */
	thinking_delta(event) {
		this.currentStep().write(event.content, "thought");
	}

	tool_call_start(event) {
		const known = this.cards.get(event.toolCallId);
		if (known) return known.to("executing");
		const made = card(event);
		this.cards.set(event.toolCallId, made);
		const branch = this.branches.get(event.branch);
		if (branch) return branch.add(made.element);
		(event.toolName.startsWith("web_") ? this.currentStep() : this.current ?? this.open()).add(made.element);
	}

	tool_call_end(event) {
		this.cards.get(event.toolCallId)?.to("completed", event);
	}

	tool_call_error(event) {
		this.cards.get(event.toolCallId)?.to("failed", event);
	}

	step_finished(event) {
		this.currentStep().finish(event);
	}

	plan_accepted(event) {
		const shown = h("details.card", { open: true }, t("summary", hidden("☰"), event.edited ? "The plan, as edited" : "The plan"), t("div.inside", drawPlan(event.plan)));
		(this.current ?? this.open()).add(shown);
	}

	/** Branches run side by side, so each has a place of its own. A branch may be started anew by a resume. */
	branch_started(event) {
		const made = branch(event.question);
		this.branches.set(event.branch, made);
		const parent = this.current ?? this.open();
		if (!parent.list?.isConnected) parent.add(parent.list = t("ol.branches"));
		parent.list.append(made.element);
	}

	/** May come twice, after a crash. */
	branch_finished(event) {
		const known = this.branches.get(event.branch);
		if (known && !known.finished) known.finish(event);
		if (known) known.finished = true;
	}

	approval_requested(event) {
		this.asked.set(event.approvalId, event.newPath ? `${event.path} to ${event.newPath}` : event.path);
		this.cards.get(event.toolCallId)?.to("pending");
	}

	approval_decided(event) {
		const outcome = { approve: "was approved", reject: "was rejected" }[event.decision] ?? "expired";
		this.note(`${this.asked.get(event.approvalId) ?? "A change"} ${outcome}${event.reason ? `: ${event.reason}` : ""}`);
	}

	status_changed(event) {
		if (event.to === "queued") this.current = null;
	}

	error(event) {
		this.note(`${event.code}: ${event.message}`, "bad");
	}
}
