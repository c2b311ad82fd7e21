// A unified diff in one column or in two.

import { h, t } from "./dom.js";

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const KINDS = { "+": "added", "-": "removed", " ": "same", "\\": "note" };

/** The lines of a diff with their kinds and numbers. */
function parse(diff) {
	let old = 0;
	let fresh = 0;
	const lines = [];
	for (const text of diff.split("\n")) {
		const hunk = HUNK.exec(text);
		const kind = KINDS[text[0]];
		if (hunk) {
			[old, fresh] = [Number(hunk[1]), Number(hunk[2])];
			lines.push({ kind: "hunk", text });
		} else if (lines.length && kind) {
			const line = { kind, sign: text[0], text: text.slice(1) };
			if (kind === "removed" || kind === "same") line.old = old++;
			if (kind === "added" || kind === "same") line.fresh = fresh++;
			lines.push(line);
		}
	}
	return lines;
}

const number = (of) => t("td.n", of ?? "");
const cell = (line) => h("td", { class: `line ${line?.kind ?? "none"}` }, line && [t("span.sign", line.sign), line.text]);
const whole = (line, columns) => t("tr", h("td.hunk", { colspan: columns }, line.text));

const unified = (lines) => lines.map((line) => (line.kind === "hunk" ? whole(line, 3)
	: t("tr", number(line.old), number(line.fresh), cell(line))));

function sideBySide(lines) {
	const rows = [];
	let left = [];
	let right = [];
	const row = (old, fresh) => rows.push(t("tr", number(old?.old), cell(old), number(fresh?.fresh), cell(fresh)));
	const pair = () => {
		for (let i = 0; i < Math.max(left.length, right.length); i++) row(left[i], right[i]);
		[left, right] = [[], []];
	};
	for (const line of lines) {
		if (line.kind === "removed") left.push(line);
		else if (line.kind === "added") right.push(line);
		else {
			pair();
			if (line.kind === "same") row(line, line);
			else if (line.kind === "hunk") rows.push(whole(line, 4));
		}
	}
	pair();
	return rows;
}

export function drawDiff(diff, inTwo) {
	const lines = parse(diff);
	const count = (kind) => lines.filter((line) => line.kind === kind).length;
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": `Changes: ${count("added")} lines added, ${count("removed")} removed` },
		h("table.diff", { class: inTwo && "diff two" }, t("tbody", inTwo ? sideBySide(lines) : unified(lines))));
}
