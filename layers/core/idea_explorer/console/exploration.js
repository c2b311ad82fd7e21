import { follow, getJson, now, pathOf, post } from "./api.js";
import { Approvals } from "./approvals.js";
import { ACTIVE, announce, badge, button, cut, facts, failure, fill, h, limits, link, loading, money, nameOf, nameTab, setText, span, t, title, linkButton } from "./dom.js";
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
			setText(text, words);
		},
	};
}

const receipt = (failed) => h("section.panel.receipt", { "aria-label": "Receipt" },
	t("h2", "Receipt"), t("p.strong", failed.message),
	table({ Code: failed.code, "Stopped at": `step ${failed.step} (${failed.stage})`, Spent: money(failed.cost_usd),
		Kept: failed.has_partial_text ? "the text so far" : "nothing", "To continue": failed.resume ?? "start a new exploration" }));

export async function showExploration(root, id, signal) {
	fill(root, title("Exploration"), loading("the exploration"));
	const get = () => getJson(pathOf(id), { signal });
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
	const heading = t("h2", "Activity");
	const approvals = new Approvals(changes, id, signal);
	fill(root, t("div.heading", name, status), idea, t("p.strong", at),
		t("div.meters", spend.element, time.element), actions, said, kept, changes,
		heading, steps, waiting, line);

	const act = (action, message) => async (event) => {
		event.preventDefault();
		fill(said);
		try {
			shown = await action();
			announce(message);
			draw();
			watch();
		} catch (error) {
			fill(said, failure(error));
		}
	};
	const resumeForm = () => h("form.resume", { submit: (event) => {
		const body = {};
		for (const { name, value } of event.target.elements) if (name && value) body[name] = Number(value);
		act(() => post(pathOf(id, "/resume"), body, { signal }), "Resumed.")(event);
	} }, t("button.primary", "Resume"), t("details", t("summary", "Change limits"), limits()));

	function drawActions() {
		const done = shown.status === "completed";
		fill(actions,
			shown.links.report && linkButton(`#/x/${id}/report`, done ? "Read the report" : "Read the partial text", done ? "primary" : "quiet"),
			!isFinal() && button(shown.cancel_requested ? "Stopping …" : "Cancel",
				act(() => post(pathOf(id, "/cancel"), {}, { signal }), "Stopping. What was found so far is kept."), { class: "danger", disabled: shown.cancel_requested }),
			isFinal() && !done && resumeForm(),
			done && linkButton(`#/new?from=${id}`, "Follow up", "quiet"),
			shown.links.published && link(shown.links.published, "View in the repository"));
	}
	let drawn = "";
	function draw() {
		setText(name, shown.title || cut(shown.idea, 90));
		nameTab(name.textContent);
		setText(idea, name.textContent === shown.idea ? "" : shown.idea);
		const key = [shown.status, shown.cancel_requested, shown.run, ...Object.values(shown.links)].join();
		if (drawn !== key) {
			if (drawn) announce(`Status: ${nameOf(shown.status)}`);
			fill(status, badge(shown.status));
			drawActions();
			fill(kept, shown.failure && receipt(shown.failure));
			drawn = key;
		}
		const of = `of ${shown.steps_total}`;
		const step = isFinal() ? `${shown.steps_completed} ${of} steps` : `Step ${shown.current_step ?? 0} ${of}`;
		setText(at, facts(step, shown.current_step_label, shown.verdict, shown.stats.private_text_read && "read private text"));
		const spent = shown.cost_usd ?? 0;
		spend.show(spent, shown.max_cost_usd, shown.max_cost_usd ? `${money(spent)} of ${money(shown.max_cost_usd)}` : `${money(shown.cost_usd)}, default budget`);
		tick();
	}
	function tick() {
		const limit = shown.deadline_seconds * 1000;
		const until = Date.parse(shown.deadline_at);
		const end = isFinal() ? Date.parse(shown.finished_at) : now();
		const used = shown.status === "queued" || !until ? 0 : Math.max(0, limit - (until - end));
		if (shown.status === "awaiting_approval") time.show(0, 0, "waiting for approval");
		else time.show(used, limit, `${used < 1000 ? "0 s" : span(Math.round(used / 1000) * 1000)} of ${span(limit)}`);
		const words = { queued: "Waiting for a free worker …", running: "Working …", awaiting_approval: "Waiting for your approval." };
		setText(waiting, words[shown.status] ?? "");
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
				// the event stream shows that the connection is lost
			}
		}, REFRESH_MS);
	}
	const timeline = new Timeline(steps, (seen) => {
		const any = (pattern) => seen.some((event) => pattern.test(event.type));
		if (any(/^status|^step|^error|^branch/)) refresh();
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
					setText(line, isLive ? comment ?? "Live." : "Connection lost. Reconnecting …");
				},
				onEvent: (event) => timeline.push(event),
			});
			setText(line, "No more activity.");
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
