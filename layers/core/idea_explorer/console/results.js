// What a tool was given and what it gave, drawn by kind. All of it is untrusted: text and web links only.

import { h, link, t } from "./dom.js";

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
	items.length === 0 && t("p.meta", "Nothing was found."),
];

const hit = (item) => [
	item.url ? link(item.url, item.title || item.url) : t("bdi.strong", item.title || item.path || item.file),
	t("span.meta", [item.url, item.title && item.path, item.page_age, item.score && `score ${Number(item.score).toFixed(2)}`]
		.filter(Boolean).flatMap((text) => [t("bdi", text), " "])),
	item.excerpt && t("p.quote", item.excerpt),
];

const place = (item) => (typeof item === "string" ? t("bdi.path", item) : [
	t("bdi.path", item.file ?? item.path ?? item.name, item.line ? `:${item.line}` : ""),
	t("span.meta", [item.kind ?? item.type, item.bytes ?? item.size].filter((v) => v != null).join(" · ")),
	(item.text ?? item.statement ?? item.signature) != null && t("code", item.text ?? item.statement ?? item.signature),
]);

const FLAGS = { true: ["✓", "yes"], false: ["✗", "no"], null: ["?", "not known"] };
const flag = (label, value) => {
	const [sign, word] = FLAGS[String(value ?? null)] ?? FLAGS.null;
	return h("span.flag", { "data-flag": sign }, `${sign} ${label}: ${word}`);
};

const track = (item) => [
	t("bdi.strong", item.title), " ", t("bdi", item.artist),
	t("span.meta", t("bdi", [item.album, item.releaseDate, item.isrc ?? item.albumId].filter(Boolean).join(" · "))),
	t("span.flags", flag("in library", item.inLibrary), flag("indexed", item.isIndexed)),
	(item.reasoning ?? item.shortDescription ?? item.description) && t("p.quote", item.reasoning ?? item.shortDescription ?? item.description),
];

const text = (value) => h("p.said", { dir: "auto" }, String(value).slice(0, MAX_TEXT));

const KINDS = [
	[(o) => Array.isArray(o.results), (o) => list(o.results, hit)],
	[(o, name) => name === "suggestPlaylist" && o.tracks, (o) => t("div.playlist", t("p.strong", `♪ ${o.title}`), list(o.tracks, track, true))],
	[(o) => o.tracks || o.albums, (o) => [o.album && t("p", track(o.album)), o.tracks && list(o.tracks, track), o.albums?.length > 0 && [t("h4", "Albums"), list(o.albums, track)],
		o.notFound?.length > 0 && t("p.meta", `Not found: ${o.notFound.join(", ")}`)]],
	[(o) => o.expression != null && o.result != null, (o) => t("p.sum", t("code", o.expression), " = ", t("strong", o.result))],
	[(o, name) => name === "http_fetch" && o.text != null, (o) => [t("p", link(o.url, o.title || o.url), " ", t("span.meta", `${o.status} · ${o.contentType}`)), text(o.text)]],
	[(o) => typeof o.content === "string", (o) => [o.path && t("p.path", t("bdi", o.path)), lines(o.content)]],
	...["matches", "entries", "files", "definitions", "importers"].map((key) => [(o) => Array.isArray(o[key]), (o) => [list(o[key], place), o.more && t("p.meta", o.more)]]),
];

const table = (given) => t("dl.values", Object.entries(given).slice(0, MAX_ITEMS).map(([name, value]) =>
	[t("dt", name), t("dd", typeof value === "object" ? t("code", JSON.stringify(value)) : t("bdi", String(value).slice(0, MAX_TEXT)))]));

/** Drawn by the first kind that fits; whatever nobody knows, and what breaks the rules, is shown as values. */
export function resultOf(given, name, isInput = false) {
	if (typeof given !== "object" || given === null) return text(given);
	try {
		const kind = isInput ? null : KINDS.find(([fits]) => fits(given, name));
		return t("div", kind ? kind[1](given) : table(given));
	} catch {
		return table(given);
	}
}
