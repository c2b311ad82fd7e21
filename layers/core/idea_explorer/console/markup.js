// The one place that inserts markup: reports and documents, which the server has sanitised.

import { h } from "./dom.js";
import { Footnotes } from "./footnotes.js";

const asIs = { createHTML: (s) => s };
const policy = globalThis.trustedTypes?.createPolicy("report", asIs) ?? asIs;

/** A report with its footnotes, until the signal is aborted. */
export function drawArticle(html, signal) {
	const article = h("article.report.prose", { tabindex: "-1", dir: "auto" });
	article.innerHTML = policy.createHTML(html);
	const claims = article.querySelector(".claims");
	claims?.remove(); // they show in the cards of footnotes
	for (const mark of article.querySelectorAll("a.cite")) {
		const number = mark.textContent.replace(/\D/g, "");
		mark.textContent = number;
		mark.ariaLabel = `Source ${number}`;
	}
	return { article, footnotes: new Footnotes(article, claims, signal) };
}
