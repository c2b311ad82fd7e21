// The card of a footnote: what its source says there, and how well that supports the sentence. It shows on hover
// and on focus; a click keeps it open.

import { button, fill, h, t } from "./dom.js";

const WAIT_MS = 120; // between a footnote and its card the pointer may leave both
const WIDTH = 384;

const copies = (nodes) => [...nodes].map((node) => node.cloneNode(true));

/** An address that makes the browser scroll to the words, where it can. */
function toPassage(address, words) {
	if (!/^https?:/.test(address) || address.includes("#") || !words) return address;
	const longest = words.split("…").reduce((a, b) => (b.length > a.length ? b : a));
	const list = longest.replace(/[“”]/g, " ").trim().split(/\s+/);
	const part = (some) => encodeURIComponent(some.join(" ")).replaceAll("-", "%2D");
	const ends = list.length > 12 ? `,${part(list.slice(-5))}` : "";
	return `${address}#:~:text=${part(ends ? list.slice(0, 5) : list)}${ends}`;
}

export class Footnotes {
	/** `article` has the report, with its list of sources; `claims` the list of its claims, which is not shown. */
	constructor(article, claims, signal) {
		Object.assign(this, { article, claims, isPinned: false });
		this.card = h("div.footnote", { role: "dialog", "aria-label": "Source", tabindex: "-1", hidden: true });
		document.body.append(this.card);
		addEventListener("keydown", (event) => event.key === "Escape" && this.close(true), { signal });
		addEventListener("pointerdown", (event) => !event.target.closest?.(".footnote, .cite, .claim") && this.close(), { signal });
		addEventListener("scroll", () => !this.isPinned && this.close(), { signal, passive: true });
		signal.addEventListener("abort", () => this.card.remove());
	}

	/** Opens the card for the marks on a page: those of the article, and those of what is quoted from it. */
	listen(page) {
		const over = (event) => {
			const mark = event.target.closest?.("a.cite, a.claim");
			if (mark && !this.isReturning) this.open(mark);
			else if (event.target.closest?.(".footnote")) clearTimeout(this.leaving);
		};
		const out = () => {
			clearTimeout(this.leaving);
			if (!this.isPinned) this.leaving = setTimeout(() => this.close(), WAIT_MS);
		};
		for (const place of [page, this.card]) {
			place.addEventListener("pointerover", over);
			place.addEventListener("pointerout", out);
		}
		page.addEventListener("focusin", over);
		page.addEventListener("focusout", out);
		page.addEventListener("click", (event) => {
			const anchor = event.target.closest?.('a[href^="#"]:not([href^="#/"])');
			if (!anchor) return;
			event.preventDefault(); // # is the view
			if (!anchor.matches(".cite, .claim")) return;
			this.open(anchor);
			this.isPinned = true;
			this.card.focus();
		});
	}

	open(mark) {
		clearTimeout(this.leaving);
		if (this.mark === mark && !this.card.hidden) return;
		this.mark = mark;
		this.isPinned = false;
		const id = mark.getAttribute("href").slice(1);
		fill(this.card, mark.matches(".claim") ? this.drawClaim(id) : this.drawSource(id, mark));
		this.card.hidden = false;
		const box = mark.getBoundingClientRect();
		const width = Math.min(WIDTH, innerWidth - 16);
		const below = box.bottom + this.card.offsetHeight + 12 < innerHeight || box.top < this.card.offsetHeight;
		this.card.style.width = `${width}px`;
		this.card.style.left = `${Math.max(8, Math.min(box.left - 24, innerWidth - width - 8)) + scrollX}px`;
		this.card.style.top = `${(below ? box.bottom + 6 : box.top - this.card.offsetHeight - 6) + scrollY}px`;
	}

	close(isByKey) {
		if (this.card.hidden) return;
		this.card.hidden = true;
		this.isReturning = true; // so that the focus does not open it again
		if (isByKey && this.isPinned) this.mark.focus();
		this.isPinned = this.isReturning = false;
	}

	find(id) {
		return this.article.querySelector(`[id="${CSS.escape(id)}"]`) ?? this.claims?.querySelector(`[id="${CSS.escape(id)}"]`);
	}

	drawClaim(id) {
		const claim = this.find(id);
		return claim ? copies(claim.childNodes) : t("p.meta", "Nothing is known about this sentence.");
	}

	/** The source with the passage that the sentence rests on, or else with what the list quotes of it. */
	drawSource(id, mark) {
		const source = this.find(id);
		if (!source) return t("p.meta", "This source is not in the list.");
		const block = mark.closest("p, li, td, th, blockquote");
		const claim = [...block?.querySelectorAll("a.claim") ?? []].find((a) => mark.compareDocumentPosition(a) & Node.DOCUMENT_POSITION_FOLLOWING);
		const known = claim && this.find(claim.getAttribute("href").slice(1));
		const passage = [...known?.querySelectorAll("blockquote") ?? []].find((quote) => quote.querySelector(`a[href="#${CSS.escape(id)}"]`));
		const quote = passage && copies(passage.childNodes).filter((part) => part.localName !== "a");
		const listed = /“([^]+)”\s*$/.exec(source.textContent)?.[1];
		const words = quote ? quote.map((part) => part.textContent).join(" ").trim() : listed;
		const link = source.querySelector("a[href]")?.cloneNode(true);
		if (link) link.href = toPassage(link.getAttribute("href"), words);
		const number = mark.textContent;
		return [t("p.strong", t("span.cite", number), " ", link ?? source.textContent.slice(0, 200)),
			words ? t("blockquote", words) : t("p.meta", "The report quotes nothing of it."),
			claim && t("p.meta", h("span", { class: claim.className }, claim.textContent), known?.querySelector("strong")?.textContent),
			button("Show in the list of sources", () => {
				this.close();
				source.tabIndex = -1;
				source.focus();
				source.scrollIntoView({ block: "center" });
			}, { class: "plain" })];
	}
}
