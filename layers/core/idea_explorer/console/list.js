import { getJson, now } from "./api.js";
import { age, announce, badge, button, cut, failure, fill, h, loading, money, notice, say, STATUSES, t } from "./dom.js";

const ACTIVE = new Set(["queued", "running", "awaiting_approval"]);
const LIVE_MS = 2500;
const QUIET_MS = 15000;

function row() {
	const name = h("a.name", {});
	const cells = Object.fromEntries(["status", "verdict", "cost", "age"].map((key) => [key, h("td", { class: key })]));
	const meta = h("span.meta", {});
	const element = t("tr", h("th", { scope: "row" }, name, meta), Object.values(cells));
	let status;
	return {
		element,
		show(item) {
			name.href = `#/x/${item.id}`;
			say(name, item.title || cut(item.idea, 140));
			say(meta, `${item.toolset}${item.toolset === "research" ? ` · ${item.mode}` : ""} · ${item.model}`);
			if (status !== item.status) fill(cells.status, badge(item.status));
			if (status && status !== item.status) announce(`${cut(item.idea, 60)}: ${STATUSES[item.status]?.[1] ?? item.status}`);
			status = item.status;
			say(cells.verdict, item.verdict ?? "");
			say(cells.cost, money(item.cost_usd));
			say(cells.age, age(item.created_at, now()));
			cells.age.title = new Date(item.created_at).toLocaleString();
		},
	};
}

export async function showList(root, _given, signal) {
	const items = new Map();
	const rows = new Map();
	let cursor = null;
	const status = h("select", { id: "status" }, h("option", { value: "" }, "Any status"),
		Object.entries(STATUSES).map(([value, [, label]]) => h("option", { value }, label)));
	const search = h("input", { id: "search", type: "search", placeholder: "Idea, title or verdict" });
	const body = h("tbody");
	const table = h("table.list", { hidden: true }, t("thead", t("tr", ["Idea", "Status", "Verdict", "Cost", "Age"]
		.map((label) => h("th", { scope: "col" }, label)))), body);
	const state = t("div", loading("your explorations"));
	const more = button("Show older ones", () => load(cursor), { hidden: true });
	root.append(
		t("div.heading", h("h1", { tabindex: "-1" }, "Explorations"), h("a.primary", { href: "#/new" }, "New idea")),
		h("form.filters", { role: "search", on: { submit: (event) => event.preventDefault() } },
			t("div", h("label", { for: "search" }, "Search"), search),
			t("div", h("label", { for: "status" }, "Status"), status)),
		table, state, more);

	const matches = (item) => {
		const wanted = search.value.trim().toLowerCase();
		const text = `${item.title ?? ""} ${item.idea} ${item.verdict ?? ""}`.toLowerCase();
		return (!status.value || item.status === status.value) && text.includes(wanted);
	};
	const draw = () => {
		const shown = [...items.values()].filter(matches).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
		const wanted = shown.map((item) => {
			if (!rows.has(item.id)) rows.set(item.id, row());
			rows.get(item.id).show(item);
			return rows.get(item.id).element;
		});
		if (wanted.length !== body.children.length || wanted.some((e, i) => e !== body.children[i])) body.replaceChildren(...wanted);
		table.hidden = !wanted.length;
		more.hidden = !cursor;
		if (wanted.length) fill(state);
		else if (items.size || status.value) fill(state, notice("Nothing matches", "Change the search or the status."));
		else fill(state, notice("No explorations yet", "Send in an idea; minutes later its report stands here.", h("a.primary", { href: "#/new" }, "Send in the first idea")));
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
