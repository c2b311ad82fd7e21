import { getJson, getText, pathOf } from "./api.js";
import { announce, badge, button, cut, facts, failure, fill, h, loading, money, nameTab, setText, t, title } from "./dom.js";

const asIs = { createHTML: (html) => html };
const policy = globalThis.trustedTypes?.createPolicy("report", asIs) ?? asIs;

export async function showReport(root, id, signal) {
	fill(root, title("Report"), loading("the report"));
	const [shown, html, markdown] = await Promise.all([
		getJson(pathOf(id), { signal }),
		getText(pathOf(id, "/report"), { accept: "text/html", signal }),
		getText(pathOf(id, "/report"), { accept: "text/markdown", signal }),
	]);
	const article = h("article.report", { tabindex: "-1" });
	// Rendered and sanitised by the server: the only markup that is inserted anywhere.
	article.innerHTML = policy.createHTML(html);
	article.addEventListener("click", (event) => {
		const anchor = event.target.closest?.('a[href^="#"]');
		if (!anchor) return;
		event.preventDefault(); // the part after # names the view
		const source = article.querySelector(`[id="${CSS.escape(anchor.getAttribute("href").slice(1))}"]`);
		source?.setAttribute("tabindex", "-1");
		source?.focus();
		source?.scrollIntoView({ block: "center" });
	});
	const said = t("div");
	const { citations = 0, unmatched_citations: unverified = 0, verification: verified } = shown.stats ?? {};
	const { supported = 0, partly = 0, unsupported = 0, unchecked = 0 } = verified ?? {};
	const checked = supported + partly + unsupported + unchecked;
	const name = shown.title || cut(shown.idea, 90);
	nameTab(name);
	fill(root,
		t("div.heading.tools", h("a", { href: `#/x/${id}` }, "← Details"),
			t("div.actions",
				button("Copy as markdown", async (event) => {
					try {
						await navigator.clipboard.writeText(markdown);
						setText(event.target, "Copied");
						announce("Copied as markdown.");
					} catch {
						fill(said, failure({ title: "Your browser blocked copying", message: "Select and copy the text below." }),
							h("textarea", { rows: "12", "aria-label": "Markdown", readonly: true }, markdown));
					}
				}),
				button("Print or save as PDF", () => print()))),
		said,
		t("p.meta", badge(shown.status), " ", facts(shown.verdict, money(shown.cost_usd), new Date(shown.created_at).toLocaleDateString(),
			`${citations} citations`, checked > 0 && `${supported} of ${checked} cited sentences supported`),
			unverified > 0 && t("span.bad", ` · ${unverified} unverified`),
			unsupported > 0 && t("span.bad", ` · ${unsupported} not supported`)),
		article);
	if (!article.querySelector("h1")) article.prepend(t("h1", name));
	article.focus({ preventScroll: true });
}
