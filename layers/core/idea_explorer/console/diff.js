// A unified diff, drawn in one column or in two.

import { h, t } from "./dom.js";

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const KINDS = { "+": "added", "-": "removed", " ": "same", "\\": "note" };

/** The lines of a diff with their kinds and numbers. */
export function parse(diff) {
	let old = 0;
	let fresh = 0;
	const lines = [];
	for (const text of diff.split("\n")) {
		const hunk = HUNK.exec(text);
		if (hunk) {
			[old, fresh] = [Number(hunk[1]), Number(hunk[2])];
			lines.push({ kind: "hunk", text });
		} else if (lines.length && KINDS[text[0]]) {
			const kind = KINDS[text[0]];
			const line = { kind, text: text.slice(1) };
			if (kind === "removed" || kind === "same") line.old = old++;
			if (kind === "added" || kind === "same") line.fresh = fresh++;
			lines.push(line);
		}
	}
	return lines;
}

const cell = (number, line, sign) => [
	t("td.n", number ?? ""),
	h("td", { class: `line ${line?.kind ?? "none"}` }, line && [t("span.sign", sign), line.text]),
];
const SIGNS = { added: "+", removed: "-", same: " ", note: "\\" };
const whole = (line, columns) => t("tr", h("td", { colspan: columns, class: "hunk" }, line.text));

const unified = (lines) => lines.map((line) => (line.kind === "hunk" ? whole(line, 3)
	: t("tr", t("td.n", line.old ?? ""), cell(line.fresh, line, SIGNS[line.kind]))));

function sideBySide(lines) {
	const rows = [];
	let left = [];
	let right = [];
	const pair = () => {
		for (let i = 0; i < Math.max(left.length, right.length); i++) {
			rows.push(t("tr", cell(left[i]?.old, left[i], "-"), cell(right[i]?.fresh, right[i], "+")));
		}
		[left, right] = [[], []];
	};
	for (const line of lines) {
		if (line.kind === "removed") left.push(line);
		else if (line.kind === "added") right.push(line);
		else {
			pair();
			if (line.kind === "same") rows.push(t("tr", cell(line.old, line, " "), cell(line.fresh, line, " ")));
			else if (line.kind === "hunk") rows.push(whole(line, 4));
		}
	}
	pair();
	return rows;
}

export function drawDiff(diff, inTwo) {
	const lines = parse(diff);
	const added = lines.filter((line) => line.kind === "added").length;
	const removed = lines.filter((line) => line.kind === "removed").length;
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": `Changes: ${added} lines added, ${removed} removed` },
		h("table", { class: `diff ${inTwo ? "two" : "one"}` }, t("tbody", inTwo ? sideBySide(lines) : unified(lines))));
}
