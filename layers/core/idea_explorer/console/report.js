// The report: its verdict and conclusion first, then the text with footnotes, beside its contents and sources.

import { getJson, getText, pathOf } from "./api.js";
import { announce, badge, button, cut, facts, failure, fill, h, linkButton, loading, money, nameTab, notice, setText, t, title, verdictBadge } from "./dom.js";
import { reportArticle } from "./markup.js";

const CONCLUSION = /verdict|verdikt|urteil|fazit|verdetto|veredicto|veredito|oordeel|conclusion|summary/i;

function save(name, type, text) {
	const a = h("a", { download: name });
	a.href = URL.createObjectURL(new Blob([text], { type }));
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

/** A button that opens a list of others. */
function menu(label, items) {
	const fold = t("details.more", t("summary", label), t("div", items));
	fold.addEventListener("click", (event) => event.target.closest("button") && (fold.open = false));
	fold.addEventListener("focusout", (event) => fold.contains(event.relatedTarget) || (fold.open = false));
	fold.addEventListener("keydown", (event) => event.key === "Escape" && (fold.open = false));
	return fold;
}

function tools(shown, markdown, said, signal) {
	const { id } = shown;
	const name = (shown.title || shown.idea).toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60) || id;
	const copy = (text, label) => async ({ target }) => {
		try {
			await navigator.clipboard.writeText(text);
			setText(target, "Copied");
			announce(label);
		} catch {
			fill(said, failure({ title: "Your browser blocked copying", message: "Select and copy the text below." }),
				h("textarea", { rows: "6", "aria-label": "Text to copy", readonly: true }, text));
		}
	};
	const link = new URL(`#/x/${id}/report`, location.href.split("#")[0]).href;
	const savePage = async () => {
		try {
			save(`${name}.html`, "text/html", await getText(pathOf(id, "/report?format=html"), { signal }));
		} catch (error) {
			if (!signal.aborted) fill(said, failure(error, savePage));
		}
	};
	return t("div.actions.tools",
		shown.status === "completed" && linkButton(`#/new?from=${id}`, "Follow up"),
		shown.toolset === "research" && shown.path && linkButton(`#/new?update=${id}`, "Update", "quiet"),
		menu("Download", [
			button("Markdown", () => save(`${name}.md`, "text/markdown", markdown)),
			button("HTML", savePage),
			button("PDF (by printing)", () => print()),
			button("JSON", () => save(`${name}.json`, "application/json", JSON.stringify({ ...shown, report: markdown }, null, 2))),
			button("Copy as Markdown", copy(markdown, "Copied as Markdown.")),
		]),
		button("Copy link", copy(link, "The link was copied.")));
}

/** The first paragraphs of the part that concludes. A line that only repeats the verdict is left out. */
function findConclusion(article, verdict) {
	const heading = [...article.querySelectorAll("h2, h3")].find((each) => CONCLUSION.test(each.textContent));
	const parts = [];
	for (let part = heading?.nextElementSibling; part && !/^H[1-6]$/.test(part.localName.toUpperCase()); part = part.nextElementSibling) {
		const repeats = verdict && part.textContent.trim().length < verdict.length + 20 && part.textContent.toUpperCase().includes(verdict);
		if (part.localName === "p" && !repeats) parts.push(part);
		if (parts.length === 2 || parts.length && parts[0].textContent.length > 300) break;
	}
	return parts.map((part) => part.cloneNode(true));
}

/** Folds the list of all claims, which stands before the sources: the text has a mark at each of them. */
function foldEvidence(sources) {
	const list = sources[0]?.parentElement.previousElementSibling?.previousElementSibling;
	const heading = list?.previousElementSibling;
	if (list?.localName !== "ul" || heading?.localName !== "h2" || ![...list.children].every((item) => item.querySelector("strong"))) return;
	const fold = t("details.evidence", t("summary", `${heading.textContent}: ${list.childElementCount} claims`));
	heading.replaceWith(fold);
	fold.append(list);
}

/** Links to the headings, and the sources in short. */
function drawContents(article, sources) {
	const jump = (target) => (event) => {
		event.preventDefault();
		target.tabIndex = -1;
		target.focus({ preventScroll: true });
		target.scrollIntoView({ block: "start" });
	};
	const headings = [...article.querySelectorAll("h2")];
	const links = headings.map((heading) => h("a", { href: "#", click: jump(heading) }, heading.textContent));
	const observer = new IntersectionObserver((entries) => {
		for (const { target, isIntersecting } of entries) {
			if (!isIntersecting) continue;
			for (const [n, a] of links.entries()) a.ariaCurrent = headings[n] === target ? "true" : null;
		}
	}, { rootMargin: "0px 0px -70% 0px" });
	headings.forEach((heading) => observer.observe(heading));
	const wide = matchMedia("(min-width: 64rem)").matches;
	return t("aside.beside",
		headings.length > 1 && h("details", { open: wide }, t("summary", "Contents"), h("nav", { "aria-label": "Contents" }, t("ul", links.map((a) => t("li", a))))),
		sources.length > 0 && h("details.sources", { open: wide }, t("summary", `Sources (${sources.length})`), t("ol", sources.map((source) => {
			const first = source.querySelector("a");
			const isWeb = /^https?:/.test(first?.getAttribute("href") ?? "");
			return t("li", first?.cloneNode(true) ?? cut(source.textContent, 80), isWeb && t("span.meta", new URL(first.href).hostname.replace(/^www\./, "")));
		}))));
}

/** How many claims are supported; nothing where none was checked. */
const claims = (stats) => {
	const { supported = 0, partly = 0, unsupported = 0, unchecked = 0 } = stats.verification ?? {};
	const checked = supported + partly + unsupported;
	return checked > 0 && `${supported} of ${checked + unchecked} claims supported${unchecked ? `, ${unchecked} not checked` : ""}`;
};

/** Resolves to the whole of a report, with its own h1. */
export async function drawReport(shown, signal) {
	const read = (accept) => getText(pathOf(shown.id, "/report"), { accept, signal });
	const [html, markdown] = await Promise.all([read("text/html"), read("text/markdown")]);
	const article = reportArticle(html, signal);
	const heading = article.querySelector("h1") ?? t("h1", shown.title || cut(shown.idea, 90));
	heading.remove();
	heading.tabIndex = -1;
	const { citations, unmatched_citations: lost, verification: v } = shown.stats;
	const bad = (n, words) => n > 0 && t("span.bad", ` · ${n} ${words}`);
	const said = t("div");
	const conclusion = findConclusion(article, shown.verdict);
	const sources = [...article.querySelectorAll('li[id^="source-"]')];
	foldEvidence(sources);
	return h("section.report-page", { "aria-label": "Report" },
		heading,
		t("p.meta.facts", shown.status !== "completed" && [badge(shown.status), " "], facts(new Date(shown.created_at).toLocaleDateString("en", { dateStyle: "medium" }), money(shown.cost_usd),
			citations > 0 && `${citations} citations`, claims(shown.stats)), bad(lost, "unverified"), bad(v?.unsupported, "unsupported")),
		(shown.verdict || conclusion.length > 0) && t("div.conclusion", verdictBadge(shown.verdict), conclusion),
		tools(shown, markdown, said, signal), said,
		t("div.split", article, drawContents(article, sources)));
}

export async function showReport(root, id, signal) {
	fill(root, title("Report"), loading("the report"));
	const shown = await getJson(pathOf(id), { signal });
	const drawn = await drawReport(shown, signal);
	const heading = drawn.querySelector("h1");
	nameTab(heading.textContent);
	fill(root, h("a.back", { href: `#/x/${id}` }, "How it was researched"), shown.notice && notice(shown.notice), drawn);
	heading.focus({ preventScroll: true });
}
