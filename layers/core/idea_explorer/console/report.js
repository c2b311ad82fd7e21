import { getJson, getText, pathOf } from "./api.js";
import { announce, badge, button, cut, facts, failure, fill, h, loading, money, nameTab, setText, t, title } from "./dom.js";
import { reportArticle } from "./markup.js";

export async function showReport(root, id, signal) {
	fill(root, title("Report"), loading("the report"));
	const read = (accept) => getText(pathOf(id, "/report"), { accept, signal });
	const [shown, html, markdown] = await Promise.all([
		getJson(pathOf(id), { signal }), read("text/html"), read("text/markdown"),
	]);
	const article = reportArticle(html);
	const said = t("div");
	const { citations, unmatched_citations: lost, verification: v } = shown.stats;
	const bad = (n, w) => n > 0 && t("span.bad", ` · ${n} ${w}`);
	const name = shown.title || cut(shown.idea, 90);
	nameTab(name);
	fill(root,
		t("div.heading.tools", h("a", { href: `#/x/${id}` }, "← Details"),
			t("div.actions",
				button("Copy as markdown", async ({ target }) => {
					try {
						await navigator.clipboard.writeText(markdown);
						setText(target, "Copied");
						announce("Copied as markdown.");
					} catch {
						fill(said, failure({ title: "Your browser blocked copying", message: "Select and copy the text below." }),
							h("textarea", { rows: "12", "aria-label": "Markdown", readonly: true }, markdown));
					}
				}),
				button("Print or save as PDF", () => print()))),
		said,
		t("p.meta", badge(shown.status), " ", facts(shown.verdict, money(shown.cost_usd), new Date(shown.created_at).toLocaleDateString(),
			`${citations} citations`, v && `${v.supported} supported`), bad(lost, "unverified"), bad(v?.unsupported, "unsupported")),
		article);
	if (!article.querySelector("h1")) article.prepend(t("h1", name));
	article.focus({ preventScroll: true });
}
