// Draws Markdown while it arrives. Blocks that are complete are drawn once; only the last one is drawn again.
// Everything becomes elements and text, never markup: a model or a page wrote it. HTML in it is text.

import { h, link, t } from "./dom.js";

const MAX_OPEN = 3000; // characters of a block that is drawn again with each frame; a longer one is divided
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)/;
const KINDS = [
	["fence", FENCE], ["heading", /^ {0,3}#{1,6}\s/], ["rule", /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/],
	["list", ITEM], ["quote", /^ {0,3}>/], ["table", /^ {0,3}\|/],
];
const SPECIAL = /[\\`*_~[<!]/g;
const PAIRS = { "**": "strong", __: "strong", "~~": "del", "*": "em", _: "em" };

const kindOf = (line) => (line.trim() ? KINDS.find(([, pattern]) => pattern.test(line))?.[0] ?? "text" : "blank");

/** Where the mark that closes an emphasis is, or -1. Marks between letters of a word are letters, if they are underscores. */
function closing(text, mark, from) {
	for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + mark.length)) {
		const isWithin = mark[0] === "_" && /\w/.test(text[at + mark.length] ?? "");
		const isDouble = mark.length === 1 && (text[at + 1] === mark || text[at - 1] === mark);
		if (at > from && !/\s/.test(text[at - 1]) && !isWithin && !isDouble) return at;
	}
	return -1;
}

/** The parts of one paragraph. `isOpen`: the text goes on, so what is begun is drawn as if it were complete. */
function inline(text, isOpen = false) {
	const parts = [];
	const missing = new Set(); // marks that nothing closes, looked for once
	let at = 0;
	let done = 0;
	const add = (part, end) => {
		parts.push(text.slice(done, at), part);
		at = done = end;
	};
	const find = (mark, from, search) => {
		const found = missing.has(mark) ? -1 : search();
		if (found < 0) missing.add(mark);
		return found;
	};
	for (;;) {
		SPECIAL.lastIndex = at;
		const found = SPECIAL.exec(text);
		if (!found) break;
		at = found.index;
		const [char] = found;
		const rest = text.slice(at, at + 2100);
		if (char === "\\" && /^\\[!-/:-@[-`{-~]/.test(rest)) add(rest[1], at + 2);
		else if (char === "`") {
			const [mark] = /^`+/.exec(rest);
			const from = at + mark.length;
			const end = find(mark, from, () => text.indexOf(mark, from));
			if (end > 0) add(t("code", text.slice(from, end).trim()), end + mark.length);
			else if (isOpen) add(t("code", text.slice(from)), text.length);
			else at = from;
		} else if (char === "[" || (char === "!" && rest[1] === "[")) {
			const [all, image, label, , angled, address] = /^(!?)\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\](\((?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+"[^"]*")?\))/.exec(rest) ?? [];
			const begun = !all && isOpen && /^!?\[([^[\]]*)(?:\]\(\S*)?$/.exec(rest);
			if (all) add(link(angled ?? address, image ? `${label} (image)` : inline(label)), at + all.length);
			else if (begun) add(t("span", begun[1]), text.length);
			else at += 1;
		} else if (char === "<") {
			const [all, address] = /^<(https?:\/\/[^\s<>]*)>/.exec(rest) ?? [];
			if (all) add(link(address), at + all.length);
			else at += 1;
		} else if (char in PAIRS || char === "~") {
			const mark = text[at + 1] === char ? char + char : char;
			const from = at + mark.length;
			const opens = PAIRS[mark] && /\S/.test(text[from] ?? "") && !(char === "_" && /\w/.test(text[at - 1] ?? ""));
			const end = opens ? find(mark, from, () => closing(text, mark, from)) : -1;
			if (end > 0) add(t(PAIRS[mark], inline(text.slice(from, end))), end + mark.length);
			else if (opens && isOpen && mark.length > 1) add(t(PAIRS[mark], inline(text.slice(from))), text.length);
			else at = from;
		} else at += 1;
	}
	return [...parts, text.slice(done)];
}

/** A list with the lists within it, by how far its items are indented. */
function list(lines, isOpen) {
	const items = [];
	for (const line of lines) {
		const [, indent, mark, text] = ITEM.exec(line) ?? [];
		if (mark) items.push({ depth: indent.replace(/\t/g, "    ").length, mark, text });
		else if (items.length) items.at(-1).text += ` ${line.trim()}`;
	}
	const draw = (from, to) => {
		const { depth, mark } = items[from];
		const number = Number.parseInt(mark, 10);
		const element = Number.isNaN(number) ? t("ul") : h("ol", number !== 1 && { start: number });
		for (let n = from; n < to;) {
			let end = n + 1;
			while (end < to && items[end].depth > depth + 1) end++;
			element.append(t("li", inline(items[n].text, isOpen && n === items.length - 1), end > n + 1 && draw(n + 1, end)));
			n = end;
		}
		return element;
	};
	return draw(0, items.length);
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines, isOpen) {
	const [first, second = "", ...rest] = lines;
	if (!/^[\s|:-]+$/.test(second) || !second.includes("-")) {
		return isOpen && lines.length < 2 ? "" : t("p", lines.flatMap((line) => [inline(line), t("br")]));
	}
	const align = cells(second).map((cell) => (/^:.*:$/.test(cell) ? "center" : cell.endsWith(":") ? "end" : null));
	const row = (line, name) => t("tr", cells(line).slice(0, 50).map((cell, n) => h(name, { class: align[n] }, inline(cell))));
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Table" },
		t("table", t("thead", row(first, "th")), t("tbody", rest.map((line) => row(line, "td")))));
}

const DRAW = {
	heading: ([line], isOpen) => t(`p.heading${/#+/.exec(line)[0].length}`, inline(line.replace(/^\s*#+\s+|\s+#+\s*$/g, ""), isOpen)),
	rule: () => t("hr"),
	list,
	table,
	quote: (lines, isOpen) => t("blockquote", inline(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n"), isOpen)),
	text: (lines, isOpen) => t("p", inline(lines.join("\n").trim(), isOpen)),
};

export class MarkdownStream {
	lines = [];
	rest = "";
	kind = "blank";
	size = 0;

	constructor(root) {
		this.root = root;
	}

	write(text) {
		const parts = (this.rest + text).split("\n");
		this.rest = parts.pop();
		for (const line of parts) this.take(line);
		if (this.rest.length > MAX_OPEN) { // one line without an end
			this.take(this.rest);
			this.rest = "";
		}
	}

	take(line) {
		if (this.kind === "fence") {
			const mark = FENCE.exec(line);
			if (mark && mark[1].startsWith(this.fence)) return this.close();
			return this.code.append(`${line}\n`);
		}
		const kind = kindOf(line);
		const goesOn = kind === this.kind ? !["heading", "rule"].includes(kind)
			: kind === "text" && ["list", "quote"].includes(this.kind);
		if (this.kind !== "blank" && (!goesOn || this.size > MAX_OPEN)) this.close();
		if (kind === "blank") return;
		if (this.kind === "blank") this.open(kind, line);
		if (kind !== "fence") this.lines.push(line);
		this.size += line.length;
		if (kind === "heading" || kind === "rule") this.close();
	}

	open(kind, line) {
		this.kind = kind;
		if (kind !== "fence") return;
		this.fence = FENCE.exec(line)[1];
		this.code = t("code");
		this.last?.remove();
		this.last = h("pre", { tabindex: "0" }, this.code);
		this.root.append(this.last);
	}

	close() {
		if (this.lines.length) this.place(DRAW[this.kind](this.lines, false));
		this.last = null;
		this.lines = [];
		this.kind = "blank";
		this.size = 0;
	}

	place(element) {
		if (this.last) this.last.replaceWith(element);
		else this.root.append(element);
		this.last = element;
	}

	/** Shows the block that is not complete yet. */
	draw() {
		if (this.kind === "fence") return;
		const line = this.rest;
		const kind = line.trim() ? kindOf(line) : this.kind;
		if (kind === "blank" || kind === "fence" || kind === "rule") return;
		const goesOn = this.kind === "blank" || kind === this.kind || (kind === "text" && this.kind !== "table");
		const lines = goesOn && line ? [...this.lines, line] : this.lines;
		if (!lines.length) return;
		const drawn = DRAW[this.kind === "blank" ? kind : this.kind](kind === "table" ? this.lines : lines, true);
		if (drawn) this.place(drawn);
	}

	end() {
		if (this.rest) this.take(this.rest);
		this.rest = "";
		this.close();
	}
}

export function drawMarkdown(markdown) {
	const root = h("div.prose", { dir: "auto" });
	const stream = new MarkdownStream(root);
	stream.write(markdown);
	stream.end();
	return root;
}
