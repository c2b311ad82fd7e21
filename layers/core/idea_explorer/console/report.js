import { getJson, getText, one } from "./api.js";
import { announce, badge, button, cut, facts, failure, fill, h, loading, money, nameTab, say, t, title } from "./dom.js";

const asIs = { createHTML: (html) => html };
const policy = globalThis.trustedTypes?.createPolicy("report", asIs) ?? asIs;

export async function showReport(root, id, signal) {
	fill(root, title("Report"), loading("the report"));
	const [shown, html, markdown] = await Promise.all([
		getJson(one(id), { signal }),
		getText(one(id, "/report"), { accept: "text/html", signal }),
		getText(one(id, "/report"), { accept: "text/markdown", signal }),
	]);
	const article = h("article.report", { tabindex: "-1" });
	// The server has rendered and sanitised it: the only markup that is taken from anywhere.
	article.innerHTML = policy.createHTML(html);
	article.addEventListener("click", (event) => {
		const anchor = event.target.closest?.('a[href^="#"]');
		if (!anchor) return;
		event.preventDefault(); // what stands after # names the view
		const source = article.querySelector(`[id="${CSS.escape(anchor.getAttribute("href").slice(1))}"]`);
		source?.setAttribute("tabindex", "-1");
		source?.focus();
		source?.scrollIntoView({ block: "center" });
	});
	const said = t("div");
	const { citations = 0, unmatched_citations: unverified = 0 } = shown.stats ?? {};
	const name = shown.title || cut(shown.idea, 90);
	nameTab(name);
	fill(root,
		t("div.heading.tools", h("a", { href: `#/x/${id}` }, "← How it came about"),
			t("div.actions",
				button("Copy as markdown", async (event) => {
					try {
						await navigator.clipboard.writeText(markdown);
						say(event.target, "Copied");
						announce("Copied as markdown.");
					} catch {
						fill(said, failure({ title: "The browser does not allow copying", message: "Select it here:" }),
							h("textarea", { rows: "12", "aria-label": "Markdown", readonly: true }, markdown));
					}
				}),
				button("Print or save as PDF", () => print()))),
		said,
		t("p.meta", badge(shown.status), " ", facts(shown.verdict, money(shown.cost_usd), new Date(shown.created_at).toLocaleDateString(),
			`${citations} citations`), unverified > 0 && t("span.bad", ` · ${unverified} marked unverified`)),
		article);
	if (!article.querySelector("h1")) article.prepend(t("h1", name));
	article.focus({ preventScroll: true });
}
