import { getJson, now } from "./api.js";
import { ACTIVE, age, announce, badge, button, cut, facts, failure, field, fill, h, loading, money, nameOf, notice, setText, select, STATUSES, t, title, linkButton } from "./dom.js";

const LIVE_MS = 2500;
const QUIET_MS = 15000;

function newRow() {
	const name = t("a");
	const cells = Object.fromEntries(["status", "verdict", "cost", "age"].map((key) => [key, h("td", { class: key })]));
	const meta = t("span.meta");
	const element = t("tr", h("th", { scope: "row" }, name, meta), Object.values(cells));
	let status;
	return {
		element,
		show(item) {
			name.href = `#/x/${item.id}`;
			setText(name, item.title || cut(item.idea, 140));
			const steps = item.steps_completed;
			setText(meta, facts(item.toolset, item.toolset === "research" && item.mode, item.model, steps > 0 && `${steps} step${steps > 1 ? "s" : ""}`));
			if (status !== item.status) fill(cells.status, badge(item.status));
			if (status && status !== item.status) announce(`${cut(item.idea, 60)}: ${nameOf(item.status)}`);
			status = item.status;
			setText(cells.verdict, item.verdict ?? "");
			setText(cells.cost, money(item.cost_usd));
			setText(cells.age, age(item.created_at, now()));
			cells.age.title = new Date(item.created_at).toLocaleString();
		},
	};
}

export async function showList(root, _given, signal) {
	const items = new Map();
	const rows = new Map();
	let cursor = null;
	const status = select({ "": "Any status", ...Object.fromEntries(Object.keys(STATUSES).map((name) => [name, nameOf(name)])) });
	const search = h("input", { type: "search", placeholder: "Idea, title or verdict" });
	const body = t("tbody");
	const table = h("table.list", { hidden: true }, t("thead", t("tr", ["Idea", "Status", "Verdict", "Cost", "Age"]
		.map((label) => h("th", { scope: "col" }, label)))), body);
	const state = t("div", loading("your explorations"));
	const more = button("Show older", () => load(cursor), { hidden: true });
	root.append(
		t("div.heading", title("Explorations"), linkButton("#/new", "New idea")),
		h("form.filters", { role: "search", submit: (event) => event.preventDefault() },
			field("search", "Search", search), field("status", "Status", status)),
		table, state, more);

	const matches = (item) => {
		const wanted = search.value.trim().toLowerCase();
		const text = `${item.title ?? ""} ${item.idea} ${item.verdict ?? ""}`.toLowerCase();
		return (!status.value || item.status === status.value) && text.includes(wanted);
	};
	const draw = () => {
		const shown = [...items.values()].filter(matches).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
		const wanted = shown.map((item) => {
			if (!rows.has(item.id)) rows.set(item.id, newRow());
			const row = rows.get(item.id);
			row.show(item);
			return row.element;
		});
		if (wanted.length !== body.children.length || wanted.some((e, i) => e !== body.children[i])) body.replaceChildren(...wanted);
		table.hidden = !wanted.length;
		more.hidden = !cursor;
		if (wanted.length) fill(state);
		else if (items.size || status.value) fill(state, notice("No matches", "Try another search or status."));
		else fill(state, notice("No explorations yet", "Submit an idea, and its report appears here a few minutes later.", linkButton("#/new", "Submit your first idea")));
	};
	async function load(from) {
		const query = new URLSearchParams({ limit: "50" });
		if (status.value) query.set("status", status.value);
		if (from) query.set("cursor", from);
		try {
			const page = await getJson(`explorations?${query}`, { signal });
			for (const item of page.explorations) items.set(item.id, item);
			if (from || cursor === null) cursor = page.cursor;
			draw();
		} catch (error) {
			if (!signal.aborted && error.status !== 401) fill(state, failure(error, () => load(from)));
		}
	}
	search.addEventListener("input", draw);
	status.addEventListener("change", () => {
		items.clear();
		cursor = null;
		draw();
		load();
	});
	await load();
	const turn = async () => {
		if (signal.aborted) return;
		if (!document.hidden) await load();
		setTimeout(turn, [...items.values()].some((item) => ACTIVE.has(item.status)) ? LIVE_MS : QUIET_MS);
	};
	setTimeout(turn, LIVE_MS);
}
