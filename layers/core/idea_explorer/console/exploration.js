import { follow, getJson, now, one, post } from "./api.js";
import { Approvals } from "./approvals.js";
import { announce, badge, button, cut, failure, fill, h, limits, loading, money, say, span, STATUSES, t } from "./dom.js";
import { Timeline } from "./timeline.js";

const RESUMABLE = new Set(["partial", "timed_out", "failed", "cancelled"]);
const FINAL = new Set([...RESUMABLE, "completed"]);
const REFRESH_MS = 1000;

function meter(label) {
	const bar = h("meter", { min: "0", max: "1", low: "0.7", high: "0.9", optimum: "0", "aria-label": label });
	const text = h("span.value", {});
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
	h("dl.values", {},
		[["Code", failed.code], ["Stopped at", `step ${failed.step} (${failed.stage})`], ["Spent", money(failed.cost_usd)],
			["Kept", failed.has_partial_text ? "the text so far" : "no text yet"], failed.resume && ["To go on", t("code", failed.resume)]]
			.filter(Boolean).map(([name, value]) => [t("dt", name), t("dd", value)])));

export async function showExploration(root, id, signal) {
	fill(root, h("h1", { tabindex: "-1" }, "Exploration"), loading("the exploration"));
	let shown = await getJson(one(id), { signal });

	const title = h("h1", { tabindex: "-1" });
	const idea = h("p.said.idea", { dir: "auto" });
	const status = h("span");
	const at = h("span");
	const line = h("p.meta", { id: "connection", role: "status" });
	const spend = meter("Spend");
	const time = meter("Time");
	const actions = h("div.actions", {});
	const said = h("div");
	const kept = h("div");
	const changes = h("div", { id: "approvals" });
	const steps = h("ol.timeline", { id: "timeline" });
	const waiting = h("p.loading", {});
	const approvals = new Approvals(changes, id, signal);
	fill(root, t("div.heading", title, status), idea, t("p.strong", at),
		t("div.meters", spend.element, time.element), actions, said, kept, changes,
		t("h2", "What happens"), steps, waiting, line);

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
	const resumeForm = () => h("form.resume", { on: { submit: (event) => {
		const body = {};
		for (const { name, value } of event.target.elements) if (name && value) body[name] = Number(value);
		act(() => post(one(id, "/resume"), body, { signal }), "It goes on.")(event);
	} } }, t("button.primary", "Resume"), t("details", t("summary", "with other limits"), limits()));

	function drawActions() {
		fill(actions,
			shown.links?.report && h("a.primary", { href: `#/x/${id}/report` }, shown.status === "completed" ? "Read the report" : "Read what there is"),
			!FINAL.has(shown.status) && button(shown.cancel_requested ? "Stopping …" : "Cancel",
				act(() => post(one(id, "/cancel"), {}, { signal }), "It stops soon, keeping what is there."), { class: "danger", disabled: shown.cancel_requested }),
			RESUMABLE.has(shown.status) && resumeForm(),
			shown.status === "completed" && h("a.quiet", { href: `#/new?from=${id}` }, "Follow up"));
	}
	let drawn = "";
	function draw() {
		say(title, shown.title || cut(shown.idea, 90));
		document.title = `${cut(shown.title || shown.idea, 60)} · Idea Explorer`;
		say(idea, title.textContent === shown.idea ? "" : shown.idea);
		const key = `${shown.status} ${shown.cancel_requested} ${shown.links?.report} ${shown.run}`;
		if (drawn !== key) {
			if (drawn) announce(`Now ${STATUSES[shown.status]?.[1] ?? shown.status}`);
			fill(status, badge(shown.status));
			drawActions();
			fill(kept, shown.failure && receipt(shown.failure));
			drawn = key;
		}
		const verdict = shown.verdict ? ` · ${shown.verdict}` : "";
		const step = FINAL.has(shown.status) ? `${shown.steps_completed} of ${shown.steps_total} steps` : `Step ${shown.current_step ?? 0} of ${shown.steps_total}`;
		say(at, `${step} · ${shown.current_step_label}${verdict}`);
		const spent = shown.cost_usd ?? 0;
		spend.show(spent, shown.max_cost_usd, shown.max_cost_usd ? `${money(spent)} of ${money(shown.max_cost_usd)}` : `${money(shown.cost_usd)}, default budget`);
		tick();
	}
	function tick() {
		const limit = shown.deadline_seconds * 1000;
		const until = Date.parse(shown.deadline_at);
		const end = shown.finished_at && FINAL.has(shown.status) ? Date.parse(shown.finished_at) : now();
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
				shown = await getJson(one(id), { signal });
				draw();
			} catch {
				// the stream says that there is no connection
			}
		}, REFRESH_MS / 4);
	}
	const timeline = new Timeline(steps, (seen) => {
		const types = new Set(seen.map((event) => event.type));
		if (types.has("status_changed") || types.has("step_finished") || types.has("error")) refresh();
		if (types.has("approval_requested") || types.has("approval_decided") || types.has("status_changed") && changes.childElementCount) approvals.load();
	});

	let watching = false;
	let last = 0;
	async function watch() {
		if (watching) return;
		watching = true;
		const states = { live: "Live.", reconnecting: "The connection is lost. Trying again …" };
		try {
			last = await follow(id, last, {
				signal,
				onState: (state) => { say(line, states[state]); line.dataset.state = state; },
				onEvent: (event) => timeline.push(event),
			});
			if (!signal.aborted) say(line, "All events are here.");
			line.dataset.state = "over";
			refresh();
		} catch (error) {
			if (!signal.aborted && error.status !== 401) fill(said, failure(error, () => { fill(said); watch(); }));
		} finally {
			watching = false;
		}
	}
	draw();
	const clock = setInterval(() => {
		if (!FINAL.has(shown.status)) tick();
	}, REFRESH_MS);
	signal.addEventListener("abort", () => clearInterval(clock));
	title.focus({ preventScroll: true });
	watch();
}
