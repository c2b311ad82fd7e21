// A unified diff in one column or in two.

import { h, spelled, t } from "./dom.js";

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const KINDS = { "+": "added", "-": "removed", " ": "same", "\\": "note" };

/** The lines of a diff with their kinds and numbers. */
function parse(diff) {
	let old = 0;
	let fresh = 0;
	let hunks = 0;
	const lines = [];
	for (const text of diff.split("\n")) {
		const hunk = HUNK.exec(text);
		const kind = KINDS[text[0]];
		if (hunk) {
			[old, fresh] = [Number(hunk[1]), Number(hunk[2])];
			lines.push({ kind: "hunk", text, hunk: ++hunks });
		} else if (lines.length && kind) {
			const line = { kind, sign: text[0], text: text.slice(1), hunk: hunks };
			if (kind === "removed" || kind === "same") line.old = old++;
			if (kind === "added" || kind === "same") line.fresh = fresh++;
			lines.push(line);
		}
	}
	return lines;
}

const number = (of) => t("td.n", of ?? "");
const cell = (line) => h("td", { class: `line ${line?.kind ?? "none"}` }, line && [t("span.sign", line.sign), spelled(line.text)]);

/** The head of a hunk, with a box to take or leave it if `hunks` is given. */
function head(line, columns, hunks) {
	const box = hunks && h("input", { type: "checkbox", checked: hunks.has(line.hunk),
		change: (event) => hunks.set(line.hunk, event.target.checked) });
	const text = box ? t("label.inline", box, ` hunk ${line.hunk} `, line.text) : line.text;
	return h("tr", { "data-hunk": line.hunk }, h("td.hunk", { colspan: columns }, text));
}

const unified = (lines, hunks) => lines.map((line) => (line.kind === "hunk" ? head(line, 3, hunks)
	: h("tr", { "data-hunk": line.hunk }, number(line.old), number(line.fresh), cell(line))));

function sideBySide(lines, hunks) {
	const rows = [];
	let left = [];
	let right = [];
	const row = (old, fresh) => rows.push(h("tr", { "data-hunk": (old ?? fresh).hunk }, number(old?.old), cell(old), number(fresh?.fresh), cell(fresh)));
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
			if (line.kind === "hunk") rows.push(head(line, 4, hunks));
			else row(line, line);
		}
	}
	pair();
	return rows;
}

/** How many hunks a diff has; 0 if the response held only a part of it. */
export function countHunks(diff) {
	const lines = parse(diff);
	return lines.at(-1)?.text.startsWith(" The rest of this diff") ? 0 : lines.filter((line) => line.kind === "hunk").length;
}

/** With `hunks`, which has the numbers of those that are taken, each can be taken or left. */
export function drawDiff(diff, inTwo, hunks) {
	const lines = parse(diff);
	const count = (kind) => lines.filter((line) => line.kind === kind).length;
	const body = t("tbody", inTwo ? sideBySide(lines, hunks) : unified(lines, hunks));
	for (const row of body.rows) row.classList.toggle("left", !!hunks && !hunks.has(Number(row.dataset.hunk)));
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": `Changes: ${count("added")} lines added, ${count("removed")} removed` },
		h("table.diff", { class: inTwo && "diff two" }, body));
}
