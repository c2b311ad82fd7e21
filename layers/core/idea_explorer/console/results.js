// Draws the arguments and the result of a tool by their shape. All of it is untrusted: only text and web links.

import { facts, h, link, t } from "./dom.js";

const MAX_LINES = 2000;
const MAX_ITEMS = 200;
const MAX_TEXT = 20000;

function lines(content) {
	const rows = String(content).split("\n").slice(0, MAX_LINES);
	const numbered = rows.length > 0 && rows.every((row) => /^\d+\t/.test(row) || row === "");
	return h("pre.code", { tabindex: "0" }, rows.map((row, index) => {
		const at = numbered ? row.indexOf("\t") : -1;
		return h("span.line", { "data-n": at > 0 ? row.slice(0, at) : numbered ? "" : index + 1 }, row.slice(at + 1), "\n");
	}));
}

const list = (items, draw, ordered = false) => [
	h(ordered ? "ol" : "ul", { class: "hits" }, items.slice(0, MAX_ITEMS).map((item) => t("li", draw(item)))),
	items.length > MAX_ITEMS && t("p.meta", `… and ${items.length - MAX_ITEMS} more`),
	items.length === 0 && t("p.meta", "No results."),
];

const given = (value, name) => value != null && value !== "" && t(name, value);

const hit = (item) => [
	item.url ? link(item.url, item.title || item.url) : t("bdi.strong", item.title || item.path || item.file),
	t("span.meta", t("bdi", facts(item.url, item.title && item.path, item.page_age, item.score && `score ${Number(item.score).toFixed(2)}`))),
	given(item.excerpt, "p.quote"),
];

const place = (item) => (typeof item === "string" ? t("bdi.path", item) : [
	t("bdi.path", item.file ?? item.path ?? item.name, item.line ? `:${item.line}` : ""),
	" ", t("span.meta", facts(item.kind ?? item.type, item.bytes ?? item.size)),
	given(item.text ?? item.statement ?? item.signature, "code"),
]);

const FLAGS = { true: ["✓", "yes"], false: ["✗", "no"], null: ["?", "unknown"] };
const flag = (label, value) => {
	const [sign, word] = FLAGS[String(value ?? null)] ?? FLAGS.null;
	return h("span.flag", { "data-flag": sign }, `${sign} ${label}: ${word}`);
};

const track = (item) => [
	t("bdi.strong", item.title), " – ", t("bdi", item.artist),
	t("span.meta", t("bdi", facts(item.album, item.releaseDate, item.isrc ?? item.albumId))),
	t("span.flags", flag("in library", item.inLibrary), flag("indexed", item.isIndexed)),
	given(item.reasoning ?? item.shortDescription ?? item.description, "p.quote"),
];

const text = (value) => h("p.said", { dir: "auto" }, String(value).slice(0, MAX_TEXT));

const UNWELL = new Set(["failed", "stopped"]);

/** What the repository's checks said; what they printed is shown as text. */
export const drawChecks = (checks) => t("div.checks", checks.slice(0, MAX_ITEMS).map(({ name, outcome, detail, output }) =>
	h("details.card", { open: UNWELL.has(outcome), "data-status": UNWELL.has(outcome) ? "failed" : outcome === "pending" ? "executing" : "completed" },
		t("summary", t("bdi.tool", `Check ${name}`), t("span.what", detail ?? ""), t("span.state", outcome)),
		t("div.inside", output ? h("pre.code", { dir: "ltr", tabindex: "0" }, String(output).slice(-MAX_TEXT)) : t("p.meta", "No output.")))));

const KINDS = [
	[(o, name) => name === "run_checks" && Array.isArray(o.checks), (o) => drawChecks(o.checks)],
	[(o) => Array.isArray(o.results), (o) => list(o.results, hit)],
	[(o, name) => name === "suggestPlaylist" && o.tracks, (o) => t("div.playlist", t("p.strong", `♪ ${o.title}`), list(o.tracks, track, true))],
	[(o) => o.tracks || o.albums, (o) => [o.album && t("p", track(o.album)), o.tracks && list(o.tracks, track), o.albums?.length > 0 && [t("h4", "Albums"), list(o.albums, track)],
		o.notFound?.length > 0 && t("p.meta", `Not found: ${o.notFound.join(", ")}`)]],
	[(o) => o.expression != null && o.result != null, (o) => t("p.sum", t("code", o.expression), " = ", t("strong", o.result))],
	[(o, name) => name === "http_fetch" && o.text != null, (o) => [t("p", link(o.url, o.title || o.url), " ", t("span.meta", facts(o.status, o.contentType))), text(o.text)]],
	[(o) => typeof o.content === "string", (o) => [o.path && t("p.path", t("bdi", o.path)), lines(o.content)]],
	...["matches", "entries", "files", "definitions", "importers"].map((key) => [(o) => Array.isArray(o[key]), (o) => [list(o[key], place), o.more && t("p.meta", o.more)]]),
];

const shown = (value) => (typeof value === "object" ? t("code", JSON.stringify(value).slice(0, MAX_TEXT))
	: /\n/.test(value) ? lines(value.slice(0, MAX_TEXT)) : t("bdi", String(value).slice(0, MAX_TEXT)));

export const table = (values) => t("dl.values", Object.entries(values).slice(0, MAX_ITEMS).map(([name, value]) => [t("dt", name), t("dd", shown(value))]));

/** Draws by the first kind that matches; anything unknown or malformed is shown as a table of values. */
export function resultOf(value, name, isInput = false) {
	if (typeof value !== "object" || value === null) return text(value);
	try {
		const kind = isInput ? null : KINDS.find(([fits]) => fits(value, name));
		return t("div", kind ? kind[1](value) : table(value));
	} catch {
		return table(value);
	}
}
