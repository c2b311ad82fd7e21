// One exploration: what it is doing while it runs, and its report once it has one.

import { follow, getJson, noConnection, now, pathOf, post } from "./api.js";
import { ACTIVE, announce, badge, button, cut, facts, failure, fill, h, limits, link, linkButton, loading, loadStyle, money, nameOf, nameTab, notice, setText, span, t, title } from "./dom.js";
import { Following } from "./following.js";
import { PlanPanel, SourcesPanel } from "./plan.js";
import { drawReport } from "./report.js";
import { table } from "./results.js";
import { Timeline } from "./timeline.js";

const TICK_MS = 1000;
const REFRESH_MS = 250;

function meter(label) {
	const bar = h("progress", { max: "1", value: "0", "aria-label": label });
	const text = t("span.value");
	const element = t("div.meter", t("span.label", label), text, bar);
	return {
		element,
		show(used, limit, words) {
			bar.hidden = !(limit > 0);
			bar.value = limit > 0 ? Math.min(1, used / limit) : 0;
			bar.dataset.level = bar.value > 0.9 ? "full" : bar.value > 0.7 ? "high" : "";
			bar.setAttribute("aria-valuetext", words);
			setText(text, words);
		},
	};
}

/** Why a run ended early, and what can be done about it. */
const receipt = (failed) => h("section.panel.receipt", { "aria-label": "Why it ended early" },
	t("h2", failed.message), t("p.meta", failed.has_partial_text ? "It ended early. What it wrote so far is kept." : "It ended early. Resume continues where it stopped."),
	t("details.fold", t("summary.meta", "Details"),
		table({ Code: failed.code, "Stopped at": `step ${failed.step} (${failed.stage})`, Spent: money(failed.cost_usd) }),
		failed.resume && t("p.meta", "In a terminal: ", t("code", failed.resume))));

export async function showExploration(root, id, signal) {
	fill(root, title("Exploration"), loading("the exploration"));
	const get = () => getJson(pathOf(id), { signal });
	let shown = await get();
	const isFinal = () => !ACTIVE.has(shown.status);

	const name = title();
	const idea = h("p.idea", { dir: "auto" });
	const [status, at, said, kept, result] = ["span", "p.at", "div", "div", "div"].map((name) => t(name));
	const line = h("p.meta", { role: "status" });
	const spend = meter("Cost");
	const time = meter("Time");
	const actions = t("div.actions");
	const changes = h("div", { id: "approvals" });
	const steps = h("ol.timeline", { id: "timeline" });
	const waiting = t("p.now");
	const plan = new PlanPanel();
	const sources = new SourcesPanel();
	let approvals;
	/** Few explorations ask for approval, so what shows changes is loaded by those that do. */
	async function loadApprovals() {
		try {
			const [{ Approvals }] = await Promise.all([import("./approvals.js"), import("./diff.js"), import("./syntax.js"), loadStyle("diff.css")]);
			approvals ??= new Approvals(changes, id, signal);
			await approvals.load();
		} catch {
			fill(changes, failure(noConnection(), loadApprovals));
		}
	}
	const summary = t("summary", "Activity");
	const end = t("div.end");
	const following = new Following(end, signal);
	const activity = h("details.fold.activity", { open: true }, summary, steps, waiting, line, end);
	const beside = t("aside.beside", t("div.panel.meters", time.element, spend.element), plan.element, sources.element);
	const head = t("header", t("div.heading", name, t("div.state-and-actions", status, actions)), idea, at);
	const columns = t("div.split", t("div.feed", changes, activity), beside);
	const view = t("div.live", head, said, kept, columns);
	fill(root, view, following.element);

	const act = (action, message) => async (event) => {
		event.preventDefault();
		fill(said);
		try {
			shown = await action();
			announce(message);
			if (!isFinal()) unfold();
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
	} }, t("button.primary", "Resume"), t("details.fold", t("summary", "Change limits"), limits()));

	function drawActions() {
		const done = shown.status === "completed";
		fill(actions,
			shown.links.report && linkButton(`#/x/${id}/report`, done ? "Read the report" : "Read the partial text", "quiet.to-report"),
			!isFinal() && button(shown.cancel_requested ? "Stopping …" : "Cancel",
				act(() => post(pathOf(id, "/cancel"), {}, { signal }), "Stopping. What was found so far is kept."), { class: "danger", disabled: shown.cancel_requested }),
			isFinal() && !done && resumeForm(),
			shown.links.published && link(shown.links.published, "View in the repository"));
	}
	let drawn = "";
	function draw() {
		setText(name, shown.title || cut(shown.idea, 90));
		nameTab(name.textContent);
		setText(idea, name.textContent === shown.idea ? "" : shown.idea);
		idea.hidden = !idea.textContent;
		const key = [shown.status, shown.cancel_requested, shown.run, shown.notice, ...Object.values(shown.links)].join();
		if (drawn !== key) {
			if (drawn) announce(`Status: ${nameOf(shown.status)}`);
			fill(status, badge(shown.status));
			drawActions();
			fill(kept, shown.failure && receipt(shown.failure), shown.notice && notice(shown.notice));
			drawn = key;
		}
		const of = `of ${shown.steps_total}`;
		const step = isFinal() ? `${shown.steps_completed} ${of} steps` : `Step ${shown.current_step ?? 0} ${of}`;
		if (isFinal()) fold();
		setText(at, facts(step, shown.current_step_label, shown.stats.private_text_read && "read private text"));
		const spent = shown.cost_usd ?? 0;
		spend.show(spent, shown.cost_limit_usd, shown.cost_limit_usd ? `${money(spent)} of ${money(shown.cost_limit_usd)}` : money(shown.cost_usd));
		tick();
	}
	/** At its end a run folds itself into its report. */
	let folded = "";
	async function fold() {
		const key = `${shown.run} ${shown.status} ${shown.links.report}`;
		if (folded === key) return;
		folded = key;
		following.stop();
		const { length } = shown.stats.tool_calls ?? [];
		const count = (n, word) => n > 0 && `${n} ${word}${n > 1 ? "s" : ""}`;
		setText(summary, facts("How it was researched", count(shown.steps_completed, "step"), count(length, "tool call")));
		if (!shown.links.report) return;
		try {
			const drawn = await drawReport(shown, signal);
			if (folded !== key) return;
			const heading = drawn.querySelector("h1"); // the view has one, and the status
			drawn.querySelector(".facts .badge")?.remove();
			setText(name, heading.textContent);
			heading.remove();
			fill(result, drawn);
			columns.before(result);
			activity.open = false;
			view.classList.add("done");
			scrollTo(0, 0);
		} catch (error) {
			if (!signal.aborted) fill(said, failure(error, () => { folded = ""; fill(said); fold(); }));
		}
	}
	function unfold() {
		if (!folded) return;
		folded = "";
		result.remove();
		activity.open = true;
		setText(summary, "Activity");
		view.classList.remove("done");
		following.start();
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
		waiting.classList.toggle("loading", shown.status !== "awaiting_approval");
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
	const timeline = new Timeline(steps, { plan, sources, onChange: (seen, isBehind) => {
		following.show(isBehind);
		const any = (pattern) => seen.some((event) => pattern.test(event.type));
		if (any(/^status|^step|^error|^branch/)) refresh();
		if (any(/^approval/) || any(/^status/) && changes.childElementCount) loadApprovals();
	} });

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
					setText(line, isLive ? comment ?? "" : "Connection lost. Reconnecting …");
					line.hidden = !line.textContent;
				},
				onEvent: (event) => timeline.push(event),
			});
			setText(line, "No more activity.");
			line.hidden = false;
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
