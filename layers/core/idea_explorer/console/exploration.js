import { follow, getJson, now, one, post } from "./api.js";
import { Approvals } from "./approvals.js";
import { ACTIVE, announce, badge, button, cut, facts, failure, fill, h, limits, link, loading, money, nameOf, nameTab, say, span, t, title, way } from "./dom.js";
import { table } from "./results.js";
import { Timeline } from "./timeline.js";

const TICK_MS = 1000;
const REFRESH_MS = 250;

function meter(label) {
	const bar = h("meter", { min: "0", max: "1", low: "0.7", high: "0.9", optimum: "0", "aria-label": label });
	const text = t("span.value");
	const element = t("div.meter", t("span.label", label), bar, text);
	return {
		element,
		show(used, limit, words) {
			bar.hidden = !(limit > 0);
			bar.value = limit > 0 ? Math.min(1, used / limit) : 0;
			bar.setAttribute("aria-valuetext", words);
			say(text, words);
		},
	};
}

const receipt = (failed) => h("section.panel.receipt", { "aria-label": "Receipt" },
	t("h2", "Receipt"), t("p.strong", failed.message),
	table({ Code: failed.code, "Stopped at": `step ${failed.step} (${failed.stage})`, Spent: money(failed.cost_usd),
		Kept: failed.has_partial_text ? "the text so far" : "no text yet", "To go on": failed.resume ?? "start anew" }));

export async function showExploration(root, id, signal) {
	fill(root, title("Exploration"), loading("the exploration"));
	const get = () => getJson(one(id), { signal });
	let shown = await get();
	const isFinal = () => !ACTIVE.has(shown.status);

	const name = title();
	const idea = h("p.said.idea", { dir: "auto" });
	const [status, at, said, kept] = ["span", "span", "div", "div"].map((name) => t(name));
	const line = h("p.meta", { role: "status" });
	const spend = meter("Spend");
	const time = meter("Time");
	const actions = t("div.actions");
	const changes = h("div", { id: "approvals" });
	const steps = h("ol.timeline", { id: "timeline" });
	const waiting = t("p.loading");
	const heading = t("h2");
	const approvals = new Approvals(changes, id, signal);
	fill(root, t("div.heading", name, status), idea, t("p.strong", at),
		t("div.meters", spend.element, time.element), actions, said, kept, changes,
		heading, steps, waiting, line);

	const act = (deed, told) => async (event) => {
		event.preventDefault();
		fill(said);
		try {
			shown = await deed();
			announce(told);
			draw();
			watch();
		} catch (error) {
			fill(said, failure(error));
		}
	};
	const resumeForm = () => h("form.resume", { submit: (event) => {
		const body = {};
		for (const { name, value } of event.target.elements) if (name && value) body[name] = Number(value);
		act(() => post(one(id, "/resume"), body, { signal }), "It goes on.")(event);
	} }, t("button.primary", "Resume"), t("details", t("summary", "with other limits"), limits()));

	function drawActions() {
		const done = shown.status === "completed";
		fill(actions,
			shown.links.report && way(`#/x/${id}/report`, done ? "Read the report" : "Read what there is", done ? "primary" : "quiet"),
			!isFinal() && button(shown.cancel_requested ? "Stopping …" : "Cancel",
				act(() => post(one(id, "/cancel"), {}, { signal }), "It stops soon, keeping what is there."), { class: "danger", disabled: shown.cancel_requested }),
			isFinal() && !done && resumeForm(),
			done && way(`#/new?from=${id}`, "Follow up", "quiet"),
			shown.links.published && link(shown.links.published, "See it in the repository"));
	}
	let drawn = "";
	function draw() {
		say(name, shown.title || cut(shown.idea, 90));
		say(heading, isFinal() ? "What happened" : "What happens");
		nameTab(name.textContent);
		say(idea, name.textContent === shown.idea ? "" : shown.idea);
		const key = [shown.status, shown.cancel_requested, shown.run, ...Object.values(shown.links)].join();
		if (drawn !== key) {
			if (drawn) announce(`Now ${nameOf(shown.status)}`);
			fill(status, badge(shown.status));
			drawActions();
			fill(kept, shown.failure && receipt(shown.failure));
			drawn = key;
		}
		const of = `of ${shown.steps_total}`;
		const step = isFinal() ? `${shown.steps_completed} ${of} steps` : `Step ${shown.current_step ?? 0} ${of}`;
		say(at, facts(step, shown.current_step_label, shown.verdict));
		const spent = shown.cost_usd ?? 0;
		spend.show(spent, shown.max_cost_usd, shown.max_cost_usd ? `${money(spent)} of ${money(shown.max_cost_usd)}` : `${money(shown.cost_usd)}, default budget`);
		tick();
	}
	function tick() {
		const limit = shown.deadline_seconds * 1000;
		const until = Date.parse(shown.deadline_at);
		const end = isFinal() ? Date.parse(shown.finished_at) : now();
		const used = shown.status === "queued" || !until ? 0 : Math.max(0, limit - (until - end));
		if (shown.status === "awaiting_approval") time.show(0, 0, "the clock stands still");
		else time.show(used, limit, `${used < 1000 ? "0 s" : span(Math.round(used / 1000) * 1000)} of ${span(limit)}`);
		const words = { queued: "Waiting for a free worker …", running: "Working …", awaiting_approval: "Waiting for your decision." };
		say(waiting, words[shown.status] ?? "");
		waiting.hidden = !words[shown.status];
	}

	let due = 0;
	function refresh() {
		if (due) return;
		due = setTimeout(async () => {
			due = 0;
			try {
				shown = await get();
				draw();
			} catch {
				// the stream says that there is no connection
			}
		}, REFRESH_MS);
	}
	const timeline = new Timeline(steps, (seen) => {
		const any = (pattern) => seen.some((event) => pattern.test(event.type));
		if (any(/^status|^step|^error/)) refresh();
		if (any(/^approval/) || any(/^status/) && changes.childElementCount) approvals.load();
	});

	let watching = false;
	let last = 0;
	async function watch() {
		if (watching) return;
		watching = true;
		try {
			last = await follow(id, last, {
				signal,
				onState: (isLive, comment) => {
					line.className = isLive && !comment ? "meta" : "event";
					say(line, isLive ? comment ?? "Live." : "The connection is lost. Trying again …");
				},
				onEvent: (event) => timeline.push(event),
			});
			say(line, "All events are here.");
			refresh();
		} catch (error) {
			if (!signal.aborted && error.status !== 401) fill(said, failure(error, () => { fill(said); watch(); }));
		} finally {
			watching = false;
		}
	}
	draw();
	const clock = setInterval(() => {
		if (!isFinal()) tick();
	}, TICK_MS);
	signal.addEventListener("abort", () => clearInterval(clock));
	name.focus({ preventScroll: true });
	watch();
}
