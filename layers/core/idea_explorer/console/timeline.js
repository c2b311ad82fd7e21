// Draws events as steps. Events are queued and drawn once per frame, as many as a frame has time for.

import { drawCall, icon } from "./calls.js";
import { badge, cut, facts, h, money, plain, setText, span, t } from "./dom.js";
import { MarkdownStream } from "./stream.js";

const FRAME_MS = 4; // of 16: layout and paint need the rest
const COUNT = new Intl.NumberFormat("en"); // made once: the first of a page takes longer than a frame has

/** Text of the model that is drawn as it arrives. */
function speech() {
	const element = h("div.said.prose", { dir: "auto" });
	const stream = new MarkdownStream(element);
	return { element, write: (text) => stream.write(text), draw: () => stream.draw(), end: () => stream.end() };
}

/** A summary of the model's thinking, of which the last words show until somebody opens it. */
function thought() {
	const line = h("span.last", { dir: "auto" });
	const text = document.createTextNode("");
	const element = t("details.thought", t("summary", line), h("div", { dir: "auto" }, text));
	return {
		element,
		write: (content) => text.appendData(plain(content)),
		draw: () => setText(line, cut(text.data.slice(-1500).trim().split("\n").at(-1), 160)),
		end() { this.draw(); },
	};
}

function step(number) {
	const name = t("h3", `Step ${number}`);
	const meta = t("span.meta");
	const body = t("div");
	return {
		element: t("li.step", t("div.stephead", name, meta), body),
		finished: false,
		writing: null,
		kind: null,
		add(element) {
			this.writing?.end();
			this.writing = null;
			body.append(element);
		},
		write(content, kind) {
			if (!this.writing || this.kind !== kind) {
				const made = kind();
				this.add(made.element);
				Object.assign(this, { writing: made, kind });
			}
			this.writing.write(content);
			return this.writing;
		},
		finish(event) {
			this.finished = true;
			this.writing?.end();
			this.writing = null;
			setText(name, `Step ${event.step}`);
			setText(meta, facts(money(event.cost), span(event.durationMs)));
			const { inputTokens, outputTokens } = event.usage;
			meta.title = `${COUNT.format(inputTokens + outputTokens)} tokens`;
		},
	};
}

/** A question of the plan, with what is done to answer it. */
function branch(question) {
	const state = t("span", badge("running"));
	const count = t("span.meta.count");
	const body = t("div");
	const element = h("details.branch.fold", { open: true }, t("summary", icon("branch"), h("span.question", { dir: "auto" }, question), count, state), body);
	let calls = 0;
	return {
		element,
		question,
		add(call) {
			body.append(call);
			setText(count, `${++calls} ${calls > 1 ? "calls" : "call"}`);
		},
		finish(event) {
			state.replaceChildren(badge(event.status));
			if (event.error) body.append(t("p.event", event.error));
			setText(count, facts(count.textContent, money(event.cost)));
			element.open = Boolean(event.error);
		},
	};
}

export class Timeline {
	queue = [];
	calls = new Map();
	branches = new Map();
	asked = new Map();
	written = new Set();
	current = null;
	steps = 0;
	count = 0;
	due = false;

	/** `plan` and `sources` are the panels beside the activity; `onChange` gets the events that were drawn, and whether more of them wait. */
	constructor(root, { plan, sources, onChange }) {
		Object.assign(this, { root, plan, sources, onChange });
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
		for (const text of this.written) text.draw();
		this.written.clear();
		this.count += seen.length;
		this.root.dataset.events = this.count;
		this.onChange(seen, this.queue.length > 0);
		this.schedule();
	}

	open() {
		this.current = step(++this.steps);
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
		this.written.add(this.currentStep().write(event.content, speech));
	}

	thinking_delta(event) {
		this.written.add(this.currentStep().write(event.content, thought));
	}

	tool_call_start(event) {
		const known = this.calls.get(event.toolCallId);
		if (known) return known.to("executing");
		const made = drawCall(event);
		made.question = event.question;
		this.calls.set(event.toolCallId, made);
		this.plan.follow(event.question, made, true);
		const branch = this.branches.get(event.branch);
		if (branch) return branch.add(made.element);
		(event.toolName.startsWith("web_") ? this.currentStep() : this.current ?? this.open()).add(made.element);
	}

	tool_call_end(event) {
		const call = this.calls.get(event.toolCallId);
		call?.to("completed", event);
		this.plan.follow(call?.question, call, false);
		const { results, url, path } = event.output ?? {};
		if (Array.isArray(results)) this.sources.add(results.filter(Boolean));
		else if (url || (path && event.output.content)) this.sources.add([event.output]);
	}

	tool_call_error(event) {
		const call = this.calls.get(event.toolCallId);
		call?.to("failed", event);
		this.plan.follow(call?.question, call, false);
	}

	step_finished(event) {
		this.currentStep().finish(event);
	}

	plan_accepted(event) {
		this.plan.show(event);
		this.note(event.edited ? "The plan was accepted as you edited it." : "The plan was accepted.");
	}

	/** Branches run side by side, so each has a place of its own. A branch may be started anew by a resume. */
	branch_started(event) {
		const made = branch(event.question);
		this.branches.set(event.branch, made);
		this.plan.mark(event.question, "running");
		const parent = this.current ?? this.open();
		if (!parent.list?.isConnected) parent.add(parent.list = t("div.branches"));
		parent.list.append(made.element);
	}

	/** May come twice, after a crash. */
	branch_finished(event) {
		const known = this.branches.get(event.branch);
		if (!known || known.finished) return;
		known.finished = true;
		known.finish(event);
		this.plan.mark(known.question, event.status);
	}

	approval_requested(event) {
		this.asked.set(event.approvalId, event.newPath ? `${event.path} to ${event.newPath}` : event.path);
		this.calls.get(event.toolCallId)?.to("pending");
	}

	approval_decided(event) {
		const outcome = { approve: "was approved", reject: "was rejected" }[event.decision] ?? "was not decided in time";
		const path = this.asked.get(event.approvalId);
		this.note(`${path === "plan.md" ? "The plan" : path ?? "A change"} ${outcome}${event.reason ? `: ${event.reason}` : "."}`);
	}

	status_changed(event) {
		if (event.to === "queued") this.current = null;
		if (event.to === "completed") this.plan.finish();
	}

	error(event) {
		this.note(event.message, "bad");
	}
}
