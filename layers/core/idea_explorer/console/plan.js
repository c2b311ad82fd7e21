// The plan of a run: as Markdown while it is reviewed, and with a tick at each question that is answered.

import { fill, h, hidden, link, t } from "./dom.js";

const LISTS = { must_know: "What we need to know to decide", known: "What the team already knows", would_turn: "What would change the verdict" };
const SIGNS = { open: ["", "open"], running: ["", "being researched"], completed: ["✓", "answered"], partial: ["–", "partly answered"], searched: ["✓", "looked into"] };
const ANSWERED = ["completed", "partial", "searched"];
const MAX_SOURCES = 100;

/** A panel beside the activity. It is a fold, so that it takes little room on a small screen. */
const panel = (title, body, isOpen) => h("details.panel.side.fold", { open: isOpen }, t("summary", title), body);

/** The questions of a plan. `mark` takes the status of the branch that researches a question. */
export class PlanPanel {
	rows = [];

	constructor() {
		this.body = t("div");
		this.title = t("span");
		this.count = t("span.count");
		this.element = panel([this.title, this.count], this.body, matchMedia("(min-width: 64rem)").matches);
		this.element.hidden = true;
	}

	show({ plan, edited }) {
		this.rows = (plan.sub_questions ?? []).map(({ question, why }) => {
			const sign = t("span.tick");
			const row = h("li", { dir: "auto" }, sign, t("span", question, why && t("span.meta", why)));
			return { question, row, sign, calls: new Set() };
		});
		const more = Object.entries(LISTS).filter(([name]) => plan[name]?.length > 0);
		fill(this.title, edited ? "Plan, as you edited it" : "Plan");
		fill(this.body, t("ul.questions", this.rows.map(({ row }) => row)),
			more.length > 0 && t("details.fold.rests", t("summary", "What the plan rests on"),
				more.map(([name, title]) => [t("h4", title), h("ul", { dir: "auto" }, plan[name].map((item) => t("li", item)))])));
		for (const known of this.rows) this.draw(known, "open");
		this.element.hidden = !this.rows.length;
	}

	draw({ row, sign }, status) {
		const [drawn, words] = SIGNS[status] ?? ["✕", "not answered"];
		row.dataset.status = status;
		sign.classList.toggle("turning", status === "running");
		fill(sign, hidden(drawn), t("span.unseen", words));
		const done = this.rows.filter((known) => ANSWERED.includes(known.row.dataset.status)).length;
		fill(this.count, done > 0 && `${done} of ${this.rows.length}`);
	}

	/** A branch of a plan with many questions researches several of them, each on a line. */
	mark(questions, status) {
		const asked = questions.split("\n");
		for (const known of this.rows) if (asked.includes(known.question)) this.draw(known, status);
	}

	/** Marks a question by its number, which tool calls of a run without branches carry; several may be open at once. */
	follow(number, call, isOpen) {
		const known = this.rows[number - 1];
		if (!known) return;
		known.calls[isOpen ? "add" : "delete"](call);
		this.draw(known, known.calls.size ? "running" : "searched");
	}

	/** A run without branches does not say which questions are answered: all are, when the report is written. */
	finish() {
		for (const known of this.rows) if (["open", "running", "searched"].includes(known.row.dataset.status)) this.draw(known, "completed");
	}
}

/** The pages and documents that the run has found, each once. */
export class SourcesPanel {
	seen = new Set();

	constructor() {
		this.list = t("ol.found");
		this.title = t("span");
		this.element = panel(this.title, this.list, false);
		this.element.hidden = true;
	}

	add(items) {
		for (const { url, title, path } of items) {
			const place = url ?? path;
			if (typeof place !== "string" || this.seen.has(place)) continue;
			this.seen.add(place);
			if (this.seen.size > MAX_SOURCES) continue;
			const site = url && URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, "") : "your team’s research";
			this.list.append(t("li", url ? link(url, title || url) : t("bdi", title || path), t("span.meta", site)));
		}
		this.element.hidden = !this.seen.size;
		fill(this.title, `Sources found (${this.seen.size})`);
	}
}
