// All ideas of the person, a page of the API at a time. The API filters by status and toolset; the rest is done here.

import { getJson, now } from "./api.js";
import { ACTIVE, age, announce, badge, button, cut, dateTime, empty, failure, field, fill, h, isStale, linkButton, loading, money, nameOf, select, setText, staleBadge, STATUSES, t, title, VERDICT_NAMES, verdictBadge, verdictOf } from "./dom.js";
import { describe, keepFresh, nameIdea, TOOLSETS } from "./list.js";

const PAGE = 100;
const NONE = "none";
const rank = (item) => (verdictOf(item) ? VERDICT_NAMES.indexOf(item.verdict) : VERDICT_NAMES.length);
const SORTS = {
	newest: ["Newest first", (a, b) => (a.created_at < b.created_at ? 1 : -1)],
	oldest: ["Oldest first", (a, b) => (a.created_at > b.created_at ? 1 : -1)],
	verdict: ["Best verdict first", (a, b) => rank(a) - rank(b) || (a.created_at < b.created_at ? 1 : -1)],
	cost: ["Most expensive first", (a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0)],
};

function newRow() {
	const name = t("a.strong");
	const cells = Object.fromEntries(["verdict", "status", "cost", "age"].map((key) => [key, h("td", { class: key })]));
	const meta = t("span.meta");
	const element = t("tr", h("th", { scope: "row" }, name, meta), Object.values(cells));
	let drawn, status;
	return {
		element,
		show(item) {
			name.href = `#/x/${item.id}`;
			setText(name, nameIdea(item));
			setText(meta, describe(item));
			const key = `${item.status} ${item.verdict}`;
			if (drawn !== key) {
				fill(cells.status, badge(item.status));
				fill(cells.verdict, verdictBadge(item));
			}
			if (status && status !== item.status) announce(`${cut(item.idea, 60)}: ${nameOf(item.status)}`);
			drawn = key;
			status = item.status;
			setText(cells.cost, item.cost_usd == null ? "" : money(item.cost_usd));
			fill(cells.age, age(item.created_at, now()), isOld(item) && [" ", staleBadge()]);
			cells.age.title = dateTime(item.created_at);
		},
	};
}

const isOld = (item) => item.status === "completed" && item.toolset === "research" && isStale(item.created_at, now());

export async function showPortfolio(root, query, signal) {
	const asked = new URLSearchParams(query);
	const items = new Map();
	const rows = new Map();
	let cursor = null;
	let verdict = [...VERDICT_NAMES, NONE].find((name) => name === asked.get("verdict")) ?? "";
	/** Keeps the choice in the address, so that it is still there when somebody comes back or sends the link. */
	const remember = () => {
		const chosen = { verdict, search: search.value.trim(), status: status.value, toolset: toolset.value,
			sort: sort.value === "newest" ? "" : sort.value, stale: stale.checked ? "1" : "" };
		const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value)).toString();
		history.replaceState(null, "", `#/ideas${query && `?${query}`}`);
	};
	const named = (names, first) => select({ "": first, ...names });
	const status = named(Object.fromEntries(Object.keys(STATUSES).map((name) => [name, nameOf(name)])), "Any status");
	const toolset = named(TOOLSETS, "Any toolset");
	const sort = select(Object.fromEntries(Object.entries(SORTS).map(([name, [label]]) => [name, label])));
	const search = h("input", { type: "search", placeholder: "Idea, title or verdict" });
	const stale = h("input", { type: "checkbox", id: "stale" });
	for (const [name, control] of Object.entries({ search, status, toolset, sort })) {
		const value = asked.get(name);
		if (value && (control === search || [...control.options].some((option) => option.value === value))) control.value = value;
	}
	stale.checked = asked.has("stale");
	const tabs = h("div.choice", { role: "group", "aria-label": "Verdict" });
	const body = t("tbody");
	const table = h("table.ideas", { hidden: true }, t("thead", t("tr", ["Idea", "Verdict", "Status", "Cost", "Age"]
		.map((label) => h("th", { scope: "col" }, label)))), body);
	const state = t("div", loading("your ideas"));
	const sum = h("p.meta", { role: "status" });
	const more = button("Load older ideas", () => load(cursor), { hidden: true });
	root.append(
		t("div.heading", title("Portfolio"), sum), tabs,
		h("form.filters", { role: "search", submit: (event) => event.preventDefault() },
			field("search", "Search", search), field("status", "Status", status), field("toolset", "Toolset", toolset), field("sort", "Sort", sort),
			h("label.inline", { for: "stale" }, stale, " Only stale")),
		table, state, more);

	const fits = (item) => {
		const wanted = search.value.trim().toLowerCase();
		const text = `${item.title ?? ""} ${item.idea} ${verdictOf(item) ?? ""}`.toLowerCase();
		return (!stale.checked || isOld(item)) && text.includes(wanted);
	};
	const hasVerdict = (item) => !verdict || (verdictOf(item) ?? NONE) === verdict;
	const drawTabs = (found) => {
		const count = (name) => found.filter((item) => (verdictOf(item) ?? NONE) === name).length;
		const choices = [["", "All", found.length], ...VERDICT_NAMES.map((name) => [name, name, count(name)]), [NONE, "No verdict", count(NONE)]];
		const focused = tabs.contains(document.activeElement) && document.activeElement.value;
		fill(tabs, choices.filter(([name, , n]) => n || !name || name === verdict).map(([name, label, n]) =>
			h("button.chip", { type: "button", value: name, "aria-pressed": String(name === verdict), click: () => { verdict = name; remember(); draw(); } }, label, " ", t("span.count", n))));
		if (focused !== false) [...tabs.children].find((tab) => tab.value === focused)?.focus();
	};
	const draw = () => {
		const found = [...items.values()].filter(fits);
		const shown = found.filter(hasVerdict).sort(SORTS[sort.value][1]);
		drawTabs(found);
		const wanted = shown.map((item) => {
			if (!rows.has(item.id)) rows.set(item.id, newRow());
			const row = rows.get(item.id);
			row.show(item);
			return row.element;
		});
		if (wanted.length !== body.children.length || wanted.some((e, i) => e !== body.children[i])) body.replaceChildren(...wanted);
		table.hidden = !wanted.length;
		more.hidden = !cursor;
		const spent = shown.reduce((usd, item) => usd + (item.cost_usd ?? 0), 0);
		setText(sum, items.size ? `${shown.length} idea${shown.length === 1 ? "" : "s"} · ${money(spent)}${cursor ? " · older ones are not loaded yet" : ""}` : "");
		tabs.hidden = !items.size;
		if (wanted.length) fill(state);
		else if (items.size || status.value || toolset.value) fill(state, empty("No matches", "Try another search, verdict or status."));
		else fill(state, empty("No ideas yet", "Your ideas and their verdicts appear here.", linkButton("#/new", "Explore your first idea")));
	};
	/** Removes what the first page has no more, such as an idea that now has another status. */
	const removeMissing = (page) => {
		const listed = new Set(page.explorations.map(({ id }) => id));
		const oldest = page.cursor ? page.explorations.at(-1)?.created_at : "";
		for (const item of items.values()) if (item.created_at >= oldest && !listed.has(item.id)) items.delete(item.id);
	};
	let filter = ""; // what is loaded
	/** Resolves to whether something is still going on. */
	async function load(from) {
		const asked = { status: status.value, toolset: toolset.value };
		const query = new URLSearchParams(Object.entries({ limit: PAGE, cursor: from, ...asked }).filter(([, value]) => value));
		try {
			const page = await getJson(`explorations?${query}`, { signal });
			if (asked.status !== status.value || asked.toolset !== toolset.value) return true; // another answer is on its way
			if (filter !== JSON.stringify(asked)) items.clear();
			filter = JSON.stringify(asked);
			if (from || !items.size) cursor = page.cursor;
			if (!from) removeMissing(page);
			for (const item of page.explorations) items.set(item.id, item);
			draw();
		} catch (error) {
			if (!signal.aborted && error.status !== 401) fill(state, failure(error, () => load(from)));
		}
		return [...items.values()].some((item) => ACTIVE.has(item.status));
	}
	for (const control of [search, sort, stale, status, toolset]) control.addEventListener("input", remember);
	for (const control of [search, sort, stale]) control.addEventListener("input", draw);
	for (const control of [status, toolset]) control.addEventListener("input", () => load());
	await load();
	keepFresh(() => load(), signal);
}
