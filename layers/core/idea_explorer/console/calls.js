// Tool calls in words: an icon, what is being done, what was done, and where the results come from.

import { cut, facts, fill, h, link, setText, span, t } from "./dom.js";
import { resultOf } from "./results.js";

const WORDS = {
	__proto__: null, // a tool may have any name
	web_search: ["search", "Searching the web", "Searched the web"],
	web_fetch: ["globe", "Opening a page", "Read a page"],
	http_fetch: ["globe", "Opening a page", "Read a page"],
	list_research: ["book", "Listing your team’s research", "Listed your team’s research"],
	search_research: ["book", "Searching your team’s research", "Searched your team’s research"],
	read_research: ["book", "Reading your team’s research", "Read your team’s research"],
	write_plan: ["list", "Planning", "Wrote a plan"],
	file_search: ["file", "Searching your files", "Searched your files"],
	calculator: ["hash", "Calculating", "Calculated"],
	list_files: ["file", "Listing files", "Listed files"],
	find_files: ["search", "Finding files", "Found files"],
	search_files: ["search", "Searching the code", "Searched the code"],
	read_file: ["file", "Reading a file", "Read a file"],
	find_definition: ["code", "Looking up a definition", "Looked up a definition"],
	find_references: ["code", "Looking up uses", "Looked up uses"],
	find_importers: ["code", "Looking up imports", "Looked up imports"],
	edit_file: ["pencil", "Proposing an edit", "Proposed an edit"],
	create_file: ["pencil", "Proposing a new file", "Proposed a new file"],
	delete_file: ["pencil", "Proposing to delete a file", "Proposed to delete a file"],
	move_file: ["pencil", "Proposing to move a file", "Proposed to move a file"],
	run_checks: ["check", "Running the checks", "Ran the checks"],
	semanticSearch: ["search", "Searching music by description", "Searched music by description"],
	tidalSearch: ["search", "Searching the catalogue", "Searched the catalogue"],
	albumTracks: ["list", "Listing an album", "Listed an album"],
	batchMetadata: ["list", "Looking up tracks", "Looked up tracks"],
	suggestPlaylist: ["list", "Making a playlist", "Made a playlist"],
};
const SUBJECTS = ["query", "url", "path", "pattern", "name", "expression", "title", "check"];
const STATES = { pending: "Needs approval", failed: "Failed" };
const MAX_CHIPS = 4;

export const icon = (name) => h("i", { class: `icon ${name}`, "aria-hidden": "true" });

const host = (address) => new URL(address).hostname.replace(/^www\./, "");
const isWeb = (address) => typeof address === "string" && /^https?:/i.test(address) && URL.canParse(address);

/** Links to the pages that a call found or read; one for each site, and how many more there are. */
function chips(output) {
	const found = [...(Array.isArray(output?.results) ? output.results : []), output].filter((item) => isWeb(item?.url));
	const bySite = new Map(found.map((item) => [host(item.url), item]));
	if (!bySite.size) return null;
	const shown = [...bySite].slice(0, MAX_CHIPS).map(([name, item]) => {
		const chip = link(item.url, name);
		chip.title = cut(item.title ?? item.url, 200);
		return chip;
	});
	return t("div.sites", shown, bySite.size > MAX_CHIPS && t("span", `+${bySite.size - MAX_CHIPS}`));
}

/** What the call is about, in a few words: a query, a page, a file. */
function subject(input) {
	const given = SUBJECTS.map((name) => input[name]).find((value) => typeof value === "string" && value)
		?? Object.values(input).find((value) => typeof value === "string" && value);
	return cut(isWeb(given) ? given.replace(/^https?:\/\/(www\.)?/, "") : given, 140);
}

/** A tool call as a line that opens, with the pages that it found. */
export function drawCall(start) {
	const [iconName, doing, did] = WORDS[start.toolName] ?? ["tool", start.toolName, start.toolName];
	const [name, what, took, inside] = ["span.tool", "bdi.what", "span.took", "div.inside"].map((tag) => t(tag));
	const fold = t("details.card", t("summary", icon(iconName), name, what, took), inside);
	const element = t("div.call", fold);
	let end;
	const draw = () => {
		if (!fold.open) return fill(inside);
		const given = Object.keys(start.input).length > 0;
		fill(inside, given && [t("h4", "Asked"), resultOf(start.input, start.toolName, true)],
			end && [t("h4", end.error ? "Error" : "Result"),
				end.error ? t("p.bad", end.error) : end.output ? resultOf(end.output, start.toolName) : t("p", end.summary)]);
	};
	fold.addEventListener("toggle", draw);
	const call = {
		element,
		to(state, event) {
			fold.dataset.status = state;
			end = event;
			setText(name, state === "executing" ? `${doing} …` : state === "failed" ? doing : did);
			setText(what, cut(facts(subject(start.input), event?.error) || event?.summary, 200));
			setText(took, STATES[state] ?? span(event?.durationMs));
			const found = state === "completed" && chips(event?.output);
			element.querySelector(".sites")?.remove();
			if (found) element.append(found);
			if (fold.open) draw();
		},
	};
	call.to("executing");
	return call;
}
