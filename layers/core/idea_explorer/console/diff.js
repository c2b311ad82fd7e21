// A unified diff in one column or in two, with colours, and with the rest of the file where it is known.

import { h, spelled, t } from "./dom.js";
import { highlighter } from "./syntax.js";

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const KINDS = { "+": "added", "-": "removed", " ": "same", "\\": "note" };
const CUT = " The rest of this diff";
const MIN_COMMON = 4; // characters of two lines that stand for each other

/** The hunks of a diff: where they begin, and their lines with kinds and numbers. */
function parse(diff) {
	const hunks = [];
	let old, fresh;
	for (const text of diff.split("\n")) {
		const found = HUNK.exec(text);
		const kind = KINDS[text[0]];
		if (found) {
			// a side without lines names the line before it
			[old, fresh] = [Number(found[1]) + (found[2] === "0"), Number(found[3]) + (found[4] === "0")];
			hunks.push({ number: hunks.length + 1, text, old, fresh, lines: [] });
		} else if (hunks.length && kind) {
			const line = { kind, sign: text[0], text: text.slice(1) };
			if (kind === "removed" || kind === "same") line.old = old++;
			if (kind === "added" || kind === "same") line.fresh = fresh++;
			hunks.at(-1).lines.push(line);
			Object.assign(hunks.at(-1), { oldEnd: old, freshEnd: fresh });
		}
	}
	return hunks;
}

/** How many hunks a diff has; 0 if the response held only a part of it. */
export function countHunks(diff) {
	const hunks = parse(diff);
	return hunks.at(-1)?.lines.at(-1)?.text.startsWith(CUT) ? 0 : hunks.length;
}

/** Lines that are added and removed, of the hunks that are taken. */
export function countLines(diff, taken) {
	const lines = parse(diff).filter(({ number }) => !taken || taken.has(number)).flatMap((hunk) => hunk.lines);
	const count = (kind) => lines.filter((line) => line.kind === kind).length;
	return { added: count("added"), removed: count("removed") };
}

/** The unchanged lines between the hunks, from the new content of the file. */
function findGaps(hunks, content) {
	if (content == null || !hunks.length) return [];
	const lines = content.split("\n");
	if (lines.at(-1) === "") lines.pop();
	const ends = [...hunks.map(({ old, fresh }) => [old, fresh]), [null, lines.length + 1]];
	return ends.map(([, to], n) => {
		const [old, from] = n ? [hunks[n - 1].oldEnd, hunks[n - 1].freshEnd] : [1, 1];
		return lines.slice(from - 1, to - 1).map((text, i) => ({ kind: "same", sign: " ", text, old: old + i, fresh: from + i }));
	});
}

/** Colours of lines, on both sides of a change. */
function paint(path) {
	const parts = highlighter(path);
	let [before, after] = [null, null];
	return (lines) => {
		for (const line of lines) {
			if (line.kind === "note") continue;
			const [found, open] = parts(line.text, line.kind === "removed" ? before : after);
			line.parts = found;
			if (line.kind !== "added") before = open;
			if (line.kind !== "removed") after = open;
		}
		return lines;
	};
}

const number = (of) => t("td.n", of ?? "");
/** Where two lines differ: the place and both ends, at the edges of words. Nothing where they have little in common. */
function findChange(old, fresh) {
	const most = Math.min(old.length, fresh.length);
	let from = 0;
	while (from < most && old[from] === fresh[from]) from++;
	let same = 0;
	while (same < most - from && old.at(-1 - same) === fresh.at(-1 - same)) same++;
	const isWithin = (char) => /[\w\ud800-\udfff]/.test(char ?? "");
	while (from && isWithin(old[from - 1])) from--;
	while (same && isWithin(old.at(-same))) same--;
	const common = old.slice(0, from).trim().length + same;
	return common >= MIN_COMMON && { from, old: old.length - same, fresh: fresh.length - same };
}

/** Marks what has changed within lines that stand for each other: as many removed as added ones, one run after the other. */
function markChanges(lines) {
	const run = (kind, from) => {
		let end = from;
		while (lines[end]?.kind === kind) end++;
		return lines.slice(from, end);
	};
	for (let n = 0; n < lines.length;) {
		const removed = run("removed", n);
		const added = run("added", n + removed.length);
		if (removed.length === added.length) removed.forEach((line, i) => {
			const change = findChange(line.text, added[i].text);
			if (!change) return;
			line.changed = [change.from, change.old];
			added[i].changed = [change.from, change.fresh];
		});
		n += removed.length + added.length || 1;
	}
	return lines;
}

/** The parts of a line, divided where its change begins and ends. */
function divide({ parts, text, changed: [from, to] = [0, 0] }) {
	let at = 0;
	return (parts ?? [["", text]]).flatMap(([kind, some]) => {
		const cuts = [from, to].map((place) => Math.max(0, Math.min(some.length, place - at)));
		at += some.length;
		return [[kind, some.slice(0, cuts[0])], [kind, some.slice(...cuts), true], [kind, some.slice(cuts[1])]].filter(([, piece]) => piece);
	});
}

const words = (line) => divide(line).map(([kind, text, isChanged]) => {
	const shown = kind ? t(`span.${kind}`, spelled(text)) : spelled(text);
	return isChanged ? t("span.word", shown) : shown;
});
const cell = (line) => h("td", { class: `line ${line?.kind ?? "none"}` }, line && [t("span.sign", line.sign), words(line)]);

/** The head of a hunk, with a box to take or leave it if `choice` is given. */
function head(hunk, columns, choice, total) {
	const { text, number: n } = hunk;
	const where = text.replace(/^.*? @@ ?/, "");
	const box = choice && h("input", { type: "checkbox", checked: choice.has(n), change: (event) => choice.set(n, event.target.checked) });
	const name = total > 1 ? `Hunk ${n} of ${total}, line ${hunk.fresh || 1}` : `Line ${hunk.fresh || 1}`;
	return h("tr", {}, h("td.hunk", { colspan: columns }, box ? t("label.inline", box, ` ${name}`) : name, where && t("span.where", where)));
}

const unified = (lines) => lines.map((line) => t("tr", number(line.old), number(line.fresh), cell(line)));

function sideBySide(lines) {
	const rows = [];
	let left = [];
	let right = [];
	const row = (old, fresh) => rows.push(t("tr", number(old?.old), cell(old), number(fresh?.fresh), cell(fresh)));
	const pair = () => {
		for (let i = 0; i < Math.max(left.length, right.length); i++) row(left[i], right[i]);
		[left, right] = [[], []];
	};
	let side = "";
	for (const line of lines) {
		// a note belongs to the line before it
		if (line.kind !== "note") side = line.kind;
		if (side === "removed") left.push(line);
		else if (side === "added") right.push(line);
		else {
			pair();
			row(line, line);
		}
	}
	pair();
	return rows;
}

/** `choice` has the numbers of the hunks that are taken, so that each can be taken or left. `content` is the whole new file, of
 *  which `opened` has the gaps that are shown; `onOpen` is called with the number of another one. */
export function drawDiff({ diff, path, inTwo, choice, content, opened, onOpen }) {
	const hunks = parse(diff);
	const gaps = findGaps(hunks, content);
	const columns = inTwo ? 4 : 3;
	const rows = inTwo ? sideBySide : unified;
	const color = paint(path);
	const isWhole = hunks.length === 1 && hunks[0].lines.every(({ kind }) => kind !== "same"); // a file that is new or deleted
	const body = t("tbody");
	const gap = (n) => {
		const lines = gaps[n] ?? [];
		if (!lines.length) return;
		if (opened.has(n)) body.append(...rows(color(lines)));
		else {
			const label = `Show ${lines.length} unchanged ${lines.length > 1 ? "lines" : "line"}`;
			body.append(t("tr", h("td.hunk", { colspan: columns }, h("button.plain", { type: "button", click: () => onOpen(n) }, label))));
		}
	};
	for (const hunk of hunks) {
		gap(hunk.number - 1);
		const drawn = rows(color(markChanges(hunk.lines)));
		if (choice && !choice.has(hunk.number)) for (const row of drawn) row.className = "left";
		if (!isWhole) body.append(head(hunk, columns, choice, hunks.length));
		body.append(...drawn);
	}
	gap(hunks.length);
	const { added, removed } = countLines(diff);
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": `Changes: ${added} lines added, ${removed} removed` },
		h("table.diff", { class: inTwo && "diff two" }, body));
}

export const countGaps = (diff, content) => findGaps(parse(diff), content).filter((lines) => lines.length).length;
