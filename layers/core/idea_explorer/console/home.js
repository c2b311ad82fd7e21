// What is there: the box for a new idea, what waits for the person, recent explorations, the team's research and the spend.

import { getJson, now } from "./api.js";
import { spendByDay, spendByToolset } from "./charts.js";
import { ACTIVE, age, badge, facts, failure, fill, h, loading, money, t, title, verdictBadge } from "./dom.js";
import { documentCard } from "./library.js";
import { describe, keepFresh, nameIdea, TOOLSETS } from "./list.js";
import { ideaForm } from "./submit.js";

const RECENT = 8;
const DOCUMENTS = 4;
const DAYS = 30;
const UNFINISHED = new Set(["failed", "timed_out", "partial", "cancelled"]);
const RECENTLY_MS = 7 * 864e5;
const SAMPLES = [
	["A subscription box for urban beekeepers", "Market, feasibility and a verdict"],
	["Repair cafés inside public libraries", "Is there a need, and who pays?"],
	["A shared freezer for allotment gardeners", "Costs, users and risks"],
];

const explorationLine = (item) => t("li.entry",
	t("div", h("a.strong", { href: `#/x/${item.id}` }, nameIdea(item)), t("p.meta", facts(describe(item), item.cost_usd != null && money(item.cost_usd), age(item.created_at, now())))),
	(item.status === "completed" && verdictBadge(item)) || badge(item.status));

const taskLine = (text, action) => (item) => t("li.entry",
	t("div", t("span.strong", nameIdea(item)), t("p.meta", text(item))), h("a.quiet", { href: `#/x/${item.id}` }, action));
const decision = taskLine((item) => (item.toolset === "code" ? "Its changes are ready for your review." : "Its plan is ready for your review."), "Review");
const ending = taskLine((item) => ({ partial: "It ran out of time or budget. What it found is kept.", failed: "It failed. What it found so far is kept.",
	timed_out: "It ran out of time.", cancelled: "It was cancelled." })[item.status], "Open");

const section = (name, id, ...content) => h("section.block", { "aria-labelledby": id }, h("h2", { id }, name), content);

export async function showHome(root, _given, signal) {
	const form = ideaForm(signal);
	const [tasks, recent, library, spend] = ["div.tasks", "div.recent", "div", "div"].map((name) => t(name));
	const all = (href, label) => t("p", h("a", { href }, label));
	root.className = "view home";
	root.append(title("What do you want to find out?"), form.element, tasks,
		t("div.halves", t("div", recent), t("div", library, spend)));
	fill(recent, section("Recent explorations", "recent", loading("your explorations")));

	const drawTasks = (waiting, items) => {
		const ended = items.filter((item) => UNFINISHED.has(item.status) && now() - Date.parse(item.updated_at) < RECENTLY_MS);
		fill(tasks,
			waiting.length > 0 && h("section.block.task", { "aria-labelledby": "waiting", "data-status": "awaiting_approval" },
				h("h2", { id: "waiting" }, "Waiting for your decision"), t("ul.lines", waiting.map(decision))),
			ended.length > 0 && h("section.block.task", { "aria-labelledby": "ended", "data-status": "failed" },
				h("h2", { id: "ended" }, "Ended early"), t("ul.lines", ended.slice(0, 3).map(ending))));
	};
	const drawSamples = () => fill(recent, section("Start with one of these", "recent",
		t("p.meta", "You have no explorations yet. Pick a sample to fill the box above; nothing starts until you press Explore."),
		t("ul.samples", SAMPLES.map(([idea, about]) => t("li", h("button.sample", { type: "button", click: () => form.write(idea) }, t("span.strong", idea), t("span.meta", about)))))));

	let drawn = ""; // so that a list that stays the same keeps its focus and its selection
	const isLive = (items) => items.some(({ status }) => ACTIVE.has(status));
	async function load() {
		try {
			const list = async (query) => (await getJson(`explorations?${query}`, { signal })).explorations;
			// a decision waits however many explorations came after it
			const [items, waiting] = await Promise.all([list("limit=20"), list("status=awaiting_approval&limit=100")]);
			const key = `${JSON.stringify([items, waiting])} ${root.contains(document.activeElement) ? "" : Math.floor(now() / 6e4)}`;
			if (key === drawn) return isLive(items);
			drawn = key;
			drawTasks(waiting, items);
			if (items.length) fill(recent, section("Recent explorations", "recent", t("ul.lines", items.slice(0, RECENT).map(explorationLine)), all("#/ideas", "All ideas")));
			else drawSamples();
			return isLive(items);
		} catch (error) {
			if (!signal.aborted && error.status !== 401) fill(recent, failure(error, loadAll));
			return false;
		}
	}
	async function loadLibrary() {
		const page = await getJson(`research?limit=${DOCUMENTS}`, { signal });
		const search = h("input", { type: "search", "aria-label": "Search the team’s research", placeholder: "Search" });
		fill(library, page.total > 0 && section("Team research", "library",
			h("form.quick", { role: "search", submit: (event) => {
				event.preventDefault();
				location.hash = `#/research?search=${encodeURIComponent(search.value.trim())}`;
			} }, search, t("button", "Search")),
			t("ul.docs.short", page.documents.map((item) => documentCard(item))), all("#/research", page.total > DOCUMENTS ? `All ${page.total} documents` : "All research")));
	}
	async function loadSpend() {
		const found = await getJson(`spend?days=${DAYS}`, { signal });
		fill(spend, found.total_usd > 0 && section(`Spend, last ${DAYS} days`, "spend",
			t("p.figure", found.is_partial && "at least ", money(found.total_usd), found.left_today_usd != null && t("span.meta", `${money(Math.max(0, found.left_today_usd))} of your daily ${money(found.daily_usd)} is left`)),
			spendByDay(found.days), spendByToolset(found.toolsets, TOOLSETS)));
	}
	const quietly = (promise) => promise.catch(() => {}); // the list above says so if the server is gone
	const loadAll = () => Promise.all([load(), quietly(loadLibrary()), quietly(loadSpend())]);
	await loadAll();
	let wasLive = false;
	keepFresh(async () => {
		const live = await load();
		if (wasLive && !live) quietly(loadSpend());
		wasLive = live;
		return live;
	}, signal);
}
