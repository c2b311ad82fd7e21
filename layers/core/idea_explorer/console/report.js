// The report: its verdict and conclusion first, then the text with footnotes, beside its contents and sources.

import { getJson, getText, pathOf } from "./api.js";
import { announce, badge, button, cut, facts, failure, fill, h, link, linkButton, loading, money, nameTab, notice, setText, t, title, VERDICT_NAMES, verdictBadge, verdictMeanings, verdictOf } from "./dom.js";
import { describeDocument } from "./library.js";
import { drawArticle } from "./markup.js";

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
	const address = new URL(`#/x/${id}/report`, location.href.split("#")[0]).href;
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
		button("Copy link", copy(address, "The link was copied.")));
}

/** The first paragraphs of the part that concludes, or of the report where that has none. A line that only repeats the verdict is left out. */
function findConclusion(article, verdict) {
	const heading = [...article.querySelectorAll("h2, h3")].find((each) => CONCLUSION.test(each.textContent));
	const parts = [];
	for (let part = heading?.nextElementSibling; part && !/^H[1-6]$/.test(part.localName.toUpperCase()); part = part.nextElementSibling) {
		const said = part.textContent.replace(/^[^:]{0,30}:/, "").replace(/[.!]?\s*$/, "").trim().toUpperCase();
		const repeats = VERDICT_NAMES.includes(said);
		if (part.localName === "p" && !repeats) parts.push(part);
		if (parts.length === 2 || parts.length && parts[0].textContent.length > 300) break;
	}
	const lead = article.querySelector(":scope > h1:first-child + p, :scope > p:first-child");
	if (!verdict || parts.length || !lead) return parts.map((part) => part.cloneNode(true));
	lead.remove(); // a report may begin with its point, which is not said twice
	return [lead];
}

/** Folds the list of all claims, which stands before the sources: the text has a mark at each of them. */
function foldEvidence(sources) {
	const list = sources[0]?.parentElement.previousElementSibling?.previousElementSibling;
	const heading = list?.previousElementSibling;
	if (list?.localName !== "ul" || heading?.localName !== "h2" || ![...list.children].every((item) => item.querySelector("strong"))) return;
	const fold = t("details.fold.evidence", t("summary", `${heading.textContent}: ${list.childElementCount} claim${list.childElementCount === 1 ? "" : "s"}`));
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
		headings.length > 1 && h("details.fold", { open: wide }, t("summary", "Contents"), h("nav", { "aria-label": "Contents" }, t("ul", links.map((a) => t("li", a))))),
		sources.length > 0 && h("details.fold.sources", { open: wide }, t("summary", `Sources (${sources.length})`), t("ol", sources.map((source) => {
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

const MARKS = [
	["cite", "1", "The source of the words before it. Hover to see the passage; click to keep it open."],
	["claim supported", "✓", "The source says so."],
	["claim partly", "◐", "The source says part of it."],
	["claim unsupported", "✕", "The source does not say so, or says otherwise."],
];

/** What the verdict and the marks in the text mean. */
const legend = (shown) => t("details.fold.legend", t("summary", "How to read this report"),
	verdictOf(shown) && [t("h3", "Verdicts"), t("dl", verdictMeanings())],
	t("h3", "Marks in the text"),
	t("dl", MARKS.map(([kind, sign, meaning]) => [t("dt", h("span", { class: kind }, sign)), t("dd", meaning)]),
		t("dt", t("mark.unverified", "⚠ unverified")), t("dd", "The run neither read nor found this source. Check it before you rely on it."),
		t("dt", t("code", "0123abcd…")), t("dd", "After a source: the fingerprint of its text when it was read.")));

/** A question that the report leaves open, asked where it comes to mind. */
function followUp({ id, toolset }) {
	const question = h("input", { name: "idea", required: true, maxlength: "10000", autocomplete: "off", placeholder: "What else do you want to know?", "aria-label": "Follow-up question" });
	return h("form.follow-up.tools", { submit: (event) => {
		event.preventDefault();
		location.hash = `#/new?${new URLSearchParams({ from: id, idea: question.value.trim() })}`;
	} }, t("h2", "Ask a follow-up"), t("p.meta", `${toolset === "research" ? "A new report builds on this one." : "The conversation goes on."} You see what it costs before it starts.`),
	t("div.quick", question, t("button.primary", "Continue")));
}

/** A text with its heading, what is known about it, its conclusion, its tools, and its contents beside it. */
function layOut({ article, footnotes, name, known, verdict, conclusion, actions, marks, after }) {
	const heading = article.querySelector("h1") ?? t("h1", name);
	heading.remove();
	heading.tabIndex = -1;
	const sources = [...article.querySelectorAll('li[id^="source-"]')];
	foldEvidence(sources);
	const point = conclusion.length ? conclusion : verdict && t("p", verdict.title);
	const page = h("section.report-page", { "aria-label": "Report" }, heading, t("p.meta.facts", known),
		t("div.split", t("div", point && t("div.conclusion", verdict, point), actions), drawContents(article, sources),
			t("div", article.querySelector(".cite, .claim, .unverified") && legend(marks), article, after)));
	footnotes.listen(page);
	return page;
}

/** Resolves to the whole of a report, with its own h1. */
export async function drawReport(shown, signal) {
	const read = (accept) => getText(pathOf(shown.id, "/report"), { accept, signal });
	const [html, markdown] = await Promise.all([read("text/html"), read("text/markdown")]);
	const { article, footnotes } = drawArticle(html, signal);
	const { citations, unmatched_citations: lost, verification: v } = shown.stats;
	const bad = (n, words) => n > 0 && t("span.bad", ` · ${n} ${words}`);
	const said = t("div");
	const isOffline = shown.verdict && !verdictOf(shown);
	return layOut({ article, footnotes, name: shown.title || cut(shown.idea, 90), verdict: verdictBadge(shown), marks: shown,
		known: [shown.status !== "completed" && [badge(shown.status), " "], facts(new Date(shown.created_at).toLocaleDateString("en", { dateStyle: "medium" }), shown.cost_usd != null && money(shown.cost_usd),
			citations > 0 && `${citations} citation${citations === 1 ? "" : "s"}`, claims(shown.stats)), bad(lost, `citation${lost === 1 ? "" : "s"} unverified`), bad(v?.unsupported, `claim${v?.unsupported === 1 ? "" : "s"} not supported`)],
		conclusion: isOffline ? [t("p", "No model judged this idea. Run it again with a model to get a verdict.")] : findConclusion(article, shown.verdict),
		actions: [tools(shown, markdown, said, signal), said],
		after: shown.status === "completed" && followUp(shown) });
}

const open = (root, drawn, ...before) => {
	const heading = drawn.querySelector("h1");
	nameTab(heading.textContent);
	fill(root, before, drawn);
	heading.focus({ preventScroll: true });
};

export async function showReport(root, id, signal) {
	fill(root, title("Report"), loading("the report"));
	const shown = await getJson(pathOf(id), { signal });
	open(root, await drawReport(shown, signal), h("a.back", { href: `#/x/${id}` }, "How it was researched"), shown.notice && notice(shown.notice));
}

/** A document of the team, which looks like the report that it is or may have been. */
export async function showDocument(root, given, signal) {
	fill(root, title("Research"), loading("the document"));
	const address = `research/document?path=${encodeURIComponent(decodeURIComponent(given))}`;
	const [shown, html] = await Promise.all([getJson(address, { signal }), getText(address, { accept: "text/html", signal })]);
	const { article, footnotes } = drawArticle(html, signal);
	const { exploration_id: id, path } = shown;
	open(root, layOut({ article, footnotes, name: shown.title, verdict: verdictBadge(shown), marks: shown,
		known: [describeDocument(shown), " ", t("bdi.path", path)],
		conclusion: findConclusion(article, verdictOf(shown)),
		actions: t("div.actions.tools",
			id && linkButton(`#/new?from=${id}`, "Follow up"),
			shown.idea && linkButton(`#/new?document=${encodeURIComponent(path)}`, "Update", id ? "quiet" : "primary"),
			id && linkButton(`#/x/${id}`, "How it was researched", "quiet"),
			shown.url && link(shown.url, "View in the repository")) }), h("a.back", { href: "#/research" }, "Research"));
}
