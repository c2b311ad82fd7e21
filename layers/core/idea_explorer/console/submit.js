import { getJson, post, upload } from "./api.js";
import { announce, button, cut, facts, failure, field, fill, h, limits, link, notice, select, setText, t, title } from "./dom.js";

const PAUSE_MS = 700;
const PRICED = ["idea", "toolset", "mode", "depth", "model", "effort", "context", "max_cost_usd", "max_steps", "deadline_seconds"];
const input = (attributes) => h("input", attributes);
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");

export function showSubmit(root, from, signal) {
	let key = newKey();
	const uploaded = new WeakMap();
	let timer, pricing;
	const idea = h("textarea", { rows: "4", required: true, maxlength: "10000",
		input: () => { clearTimeout(timer); timer = setTimeout(findSimilar, PAUSE_MS); },
		keydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(); } });
	const toolset = select({ research: "Research: a cited report", assistant: "Assistant: web, files, math",
		code: "Code: read, propose edits", discover: "Discover: music, playlists" });
	const before = select({ run: "Write a new report", reuse: "Reuse the existing report", update: "Update the latest report" });
	const files = input({ type: "file", multiple: true, accept: ".pdf,.docx,.xlsx,.pptx,.html,.htm,.csv,.tsv,.md,.json,.xml,.log,.txt,text/*" });
	const similar = h("div.similar", { "aria-live": "polite" });
	const said = t("div");
	const depth = select({ quick: "Quick: a few minutes", standard: "Standard: plans first", deep: "Deep: questions side by side" });
	const review = field("review_plan", "Plan", select({ "": "Follow it at once", true: "Let me review it first" }));
	// fields that only one toolset has
	const only = {
		research: t("div.pair", field("mode", "Framework", select({ business: "Business: market and verdict", exploration: "Exploration: directions and questions" })),
			field("depth", "Depth", depth), review),
		code: t("div.pair", field("repository", "Repository", input({ placeholder: "owner/name" }), "Leave empty to use the configured repository."),
			field("ref", "Branch, tag or commit", input())),
		assistant: t("div", field("files", "Files", files, "Optional. PDF, DOCX, XLSX, PPTX, HTML, CSV or text, up to 20 files of 20 MB each."),
			field("allow_fetch_after_private", "Pages after files", select({ "": "From searches", true: "From pages too" }))),
	};
	const web = t("details", t("summary", "Where on the web to look"),
		t("div.pair", field("allowed_domains", "Only these domains", input({ placeholder: "example.com, example.org", spellcheck: "false" })),
			field("blocked_domains", "None of these domains", input({ placeholder: "example.net", spellcheck: "false" }))),
		field("user_location", "Search from this place", input({ placeholder: "city=Berlin, country=DE", spellcheck: "false" }), "Any of city, region, country and timezone."));
	const earlier = t("details", t("summary", "Existing research and notifications"),
		field("before", "If this idea was researched before", before),
		field("continue_from", "Follow up on exploration", input({ value: from, spellcheck: "false" }), "The ID of a finished exploration to build on. The result is a new report."),
		field("webhook_url", "Webhook URL", input({ type: "url", placeholder: "https://…" })),
		field("callback_secret", "Webhook signing secret", input({ type: "password", autocomplete: "new-password", maxlength: "256" })));
	const sendButton = t("button.primary", "Explore");
	const price = h("span.meta", { "aria-live": "polite" });
	const form = h("form.panel", { novalidate: true,
		input: () => { clearTimeout(pricing); pricing = setTimeout(showPrice, PAUSE_MS); },
		submit: (event) => { event.preventDefault(); send(); } },
		field("idea", "Your idea or question", idea, "What is it, for whom, and what do you want to know?"), similar,
		t("div.pair", field("toolset", "Toolset", toolset),
			field("model", "Model", select({ sonnet: "Sonnet: balanced", opus: "Opus: more thorough", haiku: "Haiku: cheapest" })),
			field("effort", "Effort", select({ "": "Default", low: "Low: quicker", medium: "Medium", high: "High: thinks longer" }))),
		only.research, only.code,
		field("context", "Context", h("textarea", { rows: "3", maxlength: "50000" }), "Optional. Anything the model should know before it starts."),
		only.assistant, web, limits(), earlier, said, t("p", sendButton, " ", price));
	root.append(title(from ? "Follow up" : "New idea"), form);
	earlier.open = Boolean(from);

	const showFields = () => {
		for (const [name, element] of Object.entries(only)) element.hidden = toolset.value !== name;
		review.hidden = depth.value === "quick"; // which has no plan
		web.hidden = !["research", "assistant"].includes(toolset.value); // the others do not search the web
	};
	showFields();
	for (const control of [toolset, depth]) control.addEventListener("change", showFields);

	let asked = 0; // only the last answer counts
	async function showPrice() {
		const number = ++asked;
		const fields = readFields();
		const given = Object.fromEntries(PRICED.map((name) => [name, fields[name]]));
		try {
			const found = await post("explorations/estimate", { ...given, idea: given.idea ?? "An idea" }, { signal });
			if (number === asked) setText(price, `Estimate: ${found.summary}`);
		} catch (error) {
			if (number === asked) setText(price, error.status === 422 ? error.message : "");
		}
	}
	showPrice();

	async function findSimilar() {
		const text = idea.value.trim();
		if (text.length < 8 || toolset.value !== "research") return fill(similar);
		try {
			const found = await post("similar", { idea: text }, { signal });
			if (idea.value.trim() === text) await showSimilar(found.similar.slice(0, 5));
		} catch {
			fill(similar); // only a suggestion: errors are shown when the idea is submitted
		}
	}
	async function showSimilar(list) {
		if (!list.length) return fill(similar);
		const mine = await getJson("explorations?status=completed&limit=100", { signal });
		const choose = (values, message) => {
			for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
			earlier.open = true;
			announce(message);
		};
		fill(similar, t("p.strong", "Similar research already exists"), t("ul", list.map((item) => {
			const id = mine.explorations.find((e) => e.path?.endsWith(item.path))?.id;
			return t("li", link(item.url, item.title ?? item.path), " ", t("span.meta", facts(item.verdict, item.date, item.path)),
				t("span.actions",
					button("Reuse", () => {
						if (id) location.hash = `#/x/${id}/report`;
						else choose({ before: "reuse", continue_from: "" }, "It will be reused if the idea is the same.");
					}),
					button("Update", () => choose({ before: "update", continue_from: "" }, "It will be updated.")),
					id && button("Follow up", () => choose({ before: "run", continue_from: id }, "The new exploration will build on it."))));
		})));
	}

	function readFields() {
		const given = {};
		for (const control of form.elements) {
			const value = control.value.trim();
			if (!control.name || !value || control === before || control.closest("[hidden]")) continue;
			given[control.name] = control.type === "number" ? Number(value) : value;
		}
		return given;
	}
	async function readForm() {
		const given = readFields();
		for (const name of ["allow_fetch_after_private", "review_plan"]) if (given[name]) given[name] = true;
		for (const name of ["allowed_domains", "blocked_domains"]) given[name] = given[name]?.split(/[\s,]+/).filter(Boolean);
		given.user_location &&= Object.fromEntries(given.user_location.split(",").map((part) => part.split("=").map((word) => word.trim())));
		if (given.files) {
			given.files = [];
			for (const file of files.files) {
				if (!uploaded.has(file)) uploaded.set(file, await upload(file, signal));
				given.files.push(uploaded.get(file));
			}
		}
		const existing = toolset.value === "research" ? before.value : "run"; // other toolsets publish no documents
		if (existing === "reuse") given.if_exists = "reuse";
		if (existing === "update") given.update = true;
		return given;
	}
	/** Shows each error at its field; returns those that belong to no field. */
	function markErrors(details) {
		for (const wrong of form.querySelectorAll(".wrong")) fill(wrong);
		for (const control of form.elements) control.removeAttribute("aria-invalid");
		const left = details.filter(({ field: name, message }) => {
			const control = form.elements[name];
			if (!control || control.closest("[hidden]")) return true;
			fill(document.getElementById(`${name}-error`), message);
			control.setAttribute("aria-invalid", "true");
			control.closest("details")?.setAttribute("open", "");
			return false;
		});
		form.querySelector("[aria-invalid]")?.focus();
		return left;
	}
	async function send() {
		markErrors([]);
		if (!idea.value.trim()) return markErrors([{ field: "idea", message: "Enter an idea or a question." }]);
		sendButton.disabled = true;
		fill(said, h("p.loading", { role: "status" }, "Submitting …"));
		try {
			const result = await post("explorations", await readForm(), { headers: { "Idempotency-Key": key }, signal });
			announce(result.reused ? `Reused: ${cut(result.reused, 100)}` : "Submitted.");
			location.hash = `#/x/${result.id}`;
		} catch (error) {
			if (error.status < 500) key = newKey(); // on 5xx it may have arrived; the same key makes a retry start it once
			const left = markErrors(error.details ?? []);
			fill(said, error.details?.length && !left.length ? notice("Not submitted", "Fix the fields marked above.") : failure(error));
		} finally {
			sendButton.disabled = false;
		}
	}
}
