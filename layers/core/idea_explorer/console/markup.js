// The one place that inserts markup: reports and documents, which the server has sanitised.

import { h } from "./dom.js";

const asIs = { createHTML: (s) => s };
const policy = globalThis.trustedTypes?.createPolicy("report", asIs) ?? asIs;

export function reportArticle(html) {
	const article = h("article.report", { tabindex: "-1" });
	article.innerHTML = policy.createHTML(html);
	article.addEventListener("click", (event) => {
		const anchor = event.target.closest?.('a[href^="#"]');
		if (!anchor) return;
		event.preventDefault(); // # is the view
		const source = article.querySelector(`[id="${CSS.escape(anchor.getAttribute("href").slice(1))}"]`);
		source?.setAttribute("tabindex", "-1");
		source?.focus();
		source?.scrollIntoView({ block: "center" });
	});
	return article;
}
