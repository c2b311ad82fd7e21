// The team's research: what was published, by whomever.

import { getJson, now } from "./api.js";
import { button, empty, facts, failure, field, fill, h, isStale, linkButton, loading, setText, staleBadge, t, title, verdictBadge } from "./dom.js";
import { dated } from "./list.js";

const PAUSE_MS = 250;
const PAGE = 30;

/** The address of the view of a document. */
export const documentView = (path) => `#/research/${path.split("/").map(encodeURIComponent).join("/")}`;

/** The date, the age and the framework of a document. */
export const describeDocument = ({ date, mode }) => [facts(dated(date, now()) || "no date", mode), " ", date && isStale(date, now()) && staleBadge()];

/** One document as a card. */
export const documentCard = (item, ...actions) => t("li.doc",
	t("div.doc-head", h("a.strong", { href: documentView(item.path) }, t("bdi", item.title)), verdictBadge(item)),
	item.idea && item.idea !== item.title && t("p.meta.idea-line", t("bdi", item.idea)),
	t("p.meta", describeDocument(item)), actions);

export async function showLibrary(root, query, signal) {
	const search = h("input", { type: "search", placeholder: "A topic, a title or a verdict", value: new URLSearchParams(query).get("search") ?? "" });
	const list = t("ul.docs");
	const state = t("div", loading("the team’s research"));
	const sum = h("p.meta", { role: "status" });
	let asked = 0;
	const more = button("Show more", () => load(list.childElementCount), { hidden: true });
	root.append(t("div.heading", title("Research"), sum),
		t("p.lead", "Everything your team has published. Check here before you pay for the same research again."),
		h("form.filters", { role: "search", submit: (event) => event.preventDefault() }, field("search", "Search the research", search)),
		state, list, more);
	async function load(offset = 0) {
		const number = ++asked;
		const words = search.value.trim();
		const query = new URLSearchParams({ limit: String(PAGE), offset: String(offset), ...(words && { search: words }) });
		try {
			const page = await getJson(`research?${query}`, { signal });
			if (number !== asked) return;
			if (!offset) fill(list);
			list.append(...page.documents.map((item) => documentCard(item)));
			setText(sum, `${page.total} document${page.total === 1 ? "" : "s"}`);
			more.hidden = list.childElementCount >= page.total;
			fill(state, !page.total && (words ? empty("No matches", "Try fewer or other words.")
				: empty("No research yet", "Reports appear here once they are published, and so do the documents in your research folder.", linkButton("#/new", "Explore an idea"))));
		} catch (error) {
			if (!signal.aborted && error.status !== 401) fill(state, failure(error, () => load(offset)));
		}
	}
	let timer;
	search.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			history.replaceState(null, "", `#/research${search.value.trim() ? `?search=${encodeURIComponent(search.value.trim())}` : ""}`);
			load();
		}, PAUSE_MS);
	});
	await load();
}
