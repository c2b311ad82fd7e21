// The plan of a run: as Markdown while it is reviewed, and with a tick at each question that is answered.

import { fill, h, hidden, link, t } from "./dom.js";

const LISTS = { must_know: "What has to be known to decide", known: "What the team already knows", would_turn: "What would turn the verdict" };
const SIGNS = { open: ["○", "open"], running: ["◐", "being researched"], completed: ["✓", "answered"], partial: ["◑", "partly answered"], searched: ["◑", "looked into"] };
const MAX_SOURCES = 100;

/** A panel beside the activity. It is a fold, so that it takes little room on a small screen. */
const panel = (title, body, isOpen) => h("details.panel.side", { open: isOpen }, t("summary", title), body);

/** The questions of a plan. `mark` takes the status of the branch that researches a question. */
export class PlanPanel {
	rows = new Map();

	constructor() {
		this.body = t("div");
		this.title = t("span");
		this.element = panel(this.title, this.body, true);
		this.element.hidden = true;
	}

	show({ plan, edited }) {
		this.rows.clear();
		const questions = (plan.sub_questions ?? []).map(({ question, why }) => {
			const sign = t("span.tick");
			const row = h("li", { dir: "auto" }, sign, t("span", question, why && t("span.meta", why)));
			this.rows.set(question, { row, sign });
			return row;
		});
		const more = Object.entries(LISTS).filter(([name]) => plan[name]?.length > 0);
		fill(this.title, edited ? "Plan, as you edited it" : "Plan");
		fill(this.body, t("ul.questions", questions),
			more.length > 0 && t("details", t("summary", "What the plan rests on"),
				more.map(([name, title]) => [t("h4", title), h("ul", { dir: "auto" }, plan[name].map((item) => t("li", item)))])));
		for (const question of this.rows.keys()) this.mark(question, "open");
		this.element.hidden = !questions.length;
	}

	mark(question, status) {
		const known = this.rows.get(question);
		if (!known) return;
		const [sign, words] = SIGNS[status] ?? ["✕", "not answered"];
		known.row.dataset.status = status;
		fill(known.sign, hidden(sign), h("span.unseen", {}, words));
	}

	/** Marks a question by its number, which tool calls of a run without branches carry. */
	markNumber(number, status) {
		if (number) this.mark([...this.rows.keys()][number - 1], status);
	}

	/** A run without branches does not say which questions are answered: all are, when the report is written. */
	finish() {
		for (const [question, { row }] of this.rows) if (["open", "running", "searched"].includes(row.dataset.status)) this.mark(question, "completed");
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
