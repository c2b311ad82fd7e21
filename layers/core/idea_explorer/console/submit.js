// The box for a new idea: a prompt, what to do with it, what it will cost, and everything else under Options.

import { getJson, pathOf, post, upload } from "./api.js";
import { announce, button, cut, facts, failure, field, fill, h, limits, linkButton, money, select, setText, t, title } from "./dom.js";
import { documentCard, documentView } from "./library.js";

const PAUSE_MS = 600;
const PRICED = ["idea", "toolset", "mode", "depth", "model", "effort", "context", "max_cost_usd", "max_steps", "deadline_seconds"];
const TOOLSETS = {
	research: ["Research", "Searches the web and your team’s research, and writes a cited report.", "What is the idea, for whom, and what do you want to know?",
		["A subscription box for urban beekeepers", "Neighbourhood tool libraries", "Rooftop gardens for renters"]],
	assistant: ["Assistant", "Answers a question with the web, your files and exact arithmetic.", "What do you want to know? You can attach files.",
		["What is 17.5% of 12,480?", "How do heat pumps perform below −10 °C?", "Compare the offers in the attached files"]],
	code: ["Code", "Reads a repository, answers with file and line, and proposes changes that you approve.", "What do you want to know or change in the code?",
		["Where is the budget checked?", "How does a request reach the database?", "Add a test for an empty list"]],
	discover: ["Music", "Finds songs by mood in your library and on Tidal, and suggests a playlist.", "What should it sound like?",
		["Songs for a rainy drive", "Quiet piano for late work", "Upbeat soul to cook to"]],
};
const DEPTHS = {
	quick: ["Quick", "Five steps and about 1,200 words."],
	standard: ["Standard", "Plans first, then ten steps and about 1,800 words."],
	deep: ["Deep", "Plans first, researches its questions side by side and writes about 3,000 words."],
};
const FRAMEWORKS = { business: "Business: market and verdict", exploration: "Exploration: directions and questions" };
const input = (attributes) => h("input", attributes);
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
let draft = ""; // what was typed and not sent, for whoever looks something up in another view
let attempt = {}; // the last request that may have arrived: sent again with the same key, it starts once

/** Radio buttons that look like chips. */
const chips = (name, label, choices) => h("fieldset.choice", { id: name }, t("legend.unseen", label),
	Object.entries(choices).map(([value, [text, about]], n) =>
		h("label.chip", { title: about }, input({ type: "radio", name, value, checked: n === 0 }), text)));

const minutes = ({ low, high }) => (high <= 1 ? "under a minute" : low < 1 ? `up to ${Math.ceil(high)}\u00a0min` : `${Math.floor(low)}–${Math.ceil(high)}\u00a0min`);

function describeEstimate({ cost_usd: cost, tokens, minutes: time, max_cost_usd: most, runs }) {
	const price = cost ? (cost.low === cost.high ? money(cost.low) : `${money(cost.low)}–${money(cost.high)}`) : `about ${(Math.round(tokens.high / 1000) * 1000).toLocaleString("en")} tokens`;
	return [t("span.strong", `${price} · ${minutes(time)}`), t("span.meta", facts(runs ? `like your last ${runs === 1 ? "run" : `${runs} runs`}` : "typical", most != null && `at most ${money(most)}`))];
}

/** The form. `write(idea)` fills in an idea; `begin(query)` starts a follow-up or an update as the address asks. */
export function ideaForm(signal) {
	const uploaded = new WeakMap();
	let timer, pricing;
	let mine; // the person's completed explorations, which a follow-up needs
	let purpose = {}; // of the request: nothing, `continue_from` or `update`
	const idea = h("textarea", { rows: "3", required: true, maxlength: "10000", "aria-label": "Your idea or question",
		input: () => { draft = idea.value; drawExamples(); clearTimeout(timer); timer = setTimeout(findSimilar, PAUSE_MS); },
		keydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); } } });
	idea.value = draft;
	const toolset = () => form.elements.toolset.value;
	const depth = () => form.elements.depth.value;
	const before = select({ run: "Write a new report", reuse: "Reuse the existing report", update: "Update the existing report" });
	const files = input({ type: "file", multiple: true, accept: ".pdf,.docx,.xlsx,.pptx,.html,.htm,.csv,.tsv,.md,.json,.xml,.log,.txt,text/*" });
	const similar = h("div.similar", { "aria-live": "polite" });
	const said = t("div");
	const target = h("div.purpose", { hidden: true });
	const about = h("p.hint", { id: "about" });
	const examples = t("div.examples");
	const depths = chips("depth", "Depth", DEPTHS);
	const review = field("review_plan", "Plan", select({ "": "Follow it at once", true: "Let me review it first" }));
	// fields that only some toolsets have
	const only = [
		[["research"], depths],
		[["code"], t("div.pair.extra", field("repository", "Repository", input({ placeholder: "the configured one", spellcheck: "false" }), "As owner/name."),
			field("ref", "Branch, tag or commit", input({ placeholder: "the default branch", spellcheck: "false" })))],
		[["assistant"], t("div.extra", field("files", "Files", files, "PDF, Word, Excel, PowerPoint, HTML, CSV or text: up to 20 files of 20 MB each."))],
		[["research"], t("div.pair", field("mode", "Framework", select(FRAMEWORKS)), review, field("before", "If this idea was researched before", before))],
		[["assistant"], field("allow_fetch_after_private", "Once it has read your files, it may open", select({ "": "Pages that a search found", true: "Pages that other pages name, too" }))],
		[["research", "assistant"], t("div.pair", field("allowed_domains", "Search only these domains", input({ placeholder: "all", spellcheck: "false" }), "Such as example.com, example.org."),
			field("blocked_domains", "Never these domains", input({ placeholder: "none", spellcheck: "false" })),
			field("user_location", "Search from this place", input({ placeholder: "anywhere", spellcheck: "false" }), "Such as city=Berlin, country=DE. Also region and timezone."))],
	];
	const options = t("details.fold.options", t("summary", "Options"),
		t("div.pair", field("model", "Model", select({ sonnet: "Sonnet: balanced", opus: "Opus: more thorough", haiku: "Haiku: cheapest" })),
			field("effort", "Effort", select({ "": "As the model decides", low: "Low: quicker", medium: "Medium", high: "High: thinks longer" }))),
		only[3][1], only[4][1],
		t("h3", "Limits"),
		limits(),
		t("p.hint", "A PDF that Claude opens on the web is billed in full, even past the budget."),
		t("h3", "Sources and background"),
		field("context", "Background", h("textarea", { rows: "3", maxlength: "50000" }), "Anything the model should know before it starts."),
		only[5][1],
		t("h3", "Delivery"),
		t("div.pair", field("webhook_url", "Send the result to this URL", input({ type: "url", placeholder: "https://…" })),
			field("callback_secret", "Secret that signs it", input({ type: "password", autocomplete: "new-password", maxlength: "256" }))));
	const sendButton = h("button.primary", { title: "Ctrl + Enter" }, "Explore");
	const price = h("div.price", { "aria-live": "polite" });
	const form = h("form.idea-form", { novalidate: true,
		input: () => { clearTimeout(pricing); pricing = setTimeout(showPrice, PAUSE_MS); },
		submit: (event) => { event.preventDefault(); send(); } },
		t("div.box", target, idea, h("p.wrong", { id: "idea-error" }),
			t("div.choices", chips("toolset", "What to do", TOOLSETS), depths), only[1][1], only[2][1],
			t("div.go", about, price, sendButton)),
		h("p.wrong", { id: "toolset-error" }), said, examples, similar, options);
	idea.id = idea.name = "idea";
	idea.setAttribute("aria-describedby", "about idea-error");

	const drawExamples = () => {
		examples.hidden = idea.value.trim() !== "" || Boolean(purpose.label);
		if (!examples.hidden) fill(examples, t("span.meta", "Try"), TOOLSETS[toolset()][3].map((text) => button(text, () => write(text), { class: "chip" })));
	};
	function showFields() {
		const [, what, placeholder] = TOOLSETS[toolset()];
		for (const [names, element] of only) element.hidden = !names.includes(toolset());
		review.hidden = depth() === "quick"; // which has no plan
		idea.placeholder = placeholder;
		setText(about, toolset() === "research" ? `${what} ${DEPTHS[depth()][1]}` : what);
		drawExamples();
		findSimilar();
	}
	form.addEventListener("change", ({ target: { name } }) => { if (name === "toolset" || name === "depth") showFields(); });

	let asked = 0; // only the last answer counts
	async function showPrice() {
		const number = ++asked;
		const fields = readFields();
		const given = Object.fromEntries(PRICED.map((name) => [name, fields[name]]));
		try {
			const found = await post("explorations/estimate", { ...given, idea: given.idea ?? "An idea" }, { signal });
			if (number !== asked) return;
			fill(price, describeEstimate(found));
			price.title = found.summary;
			const defaults = { max_cost_usd: found.max_cost_usd, deadline_seconds: found.deadline_seconds, max_steps: found.max_steps };
			for (const [name, value] of Object.entries(defaults)) form.elements[name].placeholder = value ?? "no limit";
		} catch (error) {
			if (number === asked) fill(price, error.status === 422 && t("span.wrong", error.message));
		}
	}

	async function findSimilar() {
		const text = idea.value.trim();
		if (text.length < 8 || toolset() !== "research" || purpose.label) return fill(similar);
		try {
			const { similar: found } = await post("similar", { idea: text }, { signal });
			mine ??= found.length ? (await getJson("explorations?status=completed&limit=100", { signal })).explorations : undefined;
			if (idea.value.trim() === text && !purpose.label) showSimilar(found.slice(0, 4));
		} catch {
			fill(similar); // only a suggestion: errors are shown when the idea is submitted
		}
	}
	function showSimilar(list) {
		if (!list.length) return fill(similar);
		const ownOf = (item) => mine.find(({ path }) => path && (path === item.path || path.endsWith(`/${item.path}`)));
		fill(similar, t("h2", "Similar research already exists"), t("ul.docs", list.map((item) => {
			const own = ownOf(item);
			return documentCard(item, t("div.actions",
				linkButton(documentView(item.path), "Use this", "quiet"),
				item.idea && button("Update", () => begin(new URLSearchParams({ document: item.path })), { title: "Researches the idea again and adds new findings to this document" }),
				own && button("Follow up", () => follow(own), { title: "Starts a new report that builds on this one" })));
		})), t("p.hint", ["“Use this” opens the document; nothing starts.", list.some((item) => item.idea) && " “Update” adds new findings to it.", list.some(ownOf) && " “Follow up” writes a new report that builds on it."]));
	}

	/** Sets what the request is for, and says so at the top of the box. */
	function setPurpose(next) {
		const isUpdate = Boolean(next.fields?.update);
		if (purpose.fields?.update && !isUpdate) idea.value = draft || idea.value;
		purpose = next;
		// by which the document is found
		idea.readOnly = form.elements.mode.disabled = form.querySelector("#toolset").disabled = isUpdate;
		target.hidden = !next.label;
		fill(target, next.label && [t("span", t("span.strong", next.label), " ", t("bdi", next.name), t("span.meta", ` ${next.effect}`)),
			button("Remove", () => setPurpose({}), { class: "plain" })]);
		before.closest(".field").hidden = Boolean(next.label);
		setText(sendButton, isUpdate ? "Update" : "Explore");
		if (next.label) fill(similar);
		drawExamples();
		idea.focus({ preventScroll: true });
	}
	const choose = (name, value) => { for (const radio of form.elements[name]) radio.checked = radio.value === value; };
	function follow({ id, title: name, idea: text, toolset: used, mode }) {
		choose("toolset", used);
		if (used === "research") form.elements.mode.value = mode;
		setPurpose({ label: "Follow-up on", name: name || cut(text, 90), effect: used === "research" ? "The new report builds on it." : "The conversation goes on.", fields: { continue_from: id } });
		showFields();
	}
	function update({ title: name, idea: text, mode }) {
		if (!text) return fill(said, failure({ title: "This document cannot be updated", message: "It does not say which idea it is about. Explore the idea in a new report instead." }));
		choose("toolset", "research");
		if (mode in FRAMEWORKS) form.elements.mode.value = mode;
		idea.value = text;
		setPurpose({ label: "Update of", name, effect: "New findings are added to the document.", fields: { update: true } });
		showFields();
	}
	/** Starts what the address asks for: `from` an exploration, `update` of one, or of a `document`. */
	async function begin(query) {
		const [from, again, path] = ["from", "update", "document"].map((name) => query.get(name));
		try {
			if (from) {
				follow(await getJson(pathOf(from), { signal }));
				if (query.has("idea")) write(query.get("idea"));
			}
			else if (again) update(await getJson(pathOf(again), { signal }));
			else if (path) update(await getJson(`research/document?path=${encodeURIComponent(path)}`, { signal }));
		} catch (error) {
			if (!signal.aborted) fill(said, failure(error));
		}
		showPrice();
	}
	function write(text) {
		idea.value = draft = text;
		idea.focus();
		drawExamples();
		findSimilar();
		showPrice();
	}

	function readFields() {
		const given = {};
		for (const control of form.elements) {
			const value = control.name && control.value.trim(); // a group of chips has no name
			if (!value || control === before || control.closest("[hidden]") || (control.type === "radio" && !control.checked)) continue;
			given[control.name] = control.type === "number" ? Number(value) : value;
		}
		return given;
	}
	async function readForm() {
		const given = { ...readFields(), ...purpose.fields };
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
		const existing = before.closest("[hidden]") ? "run" : before.value; // other toolsets publish no documents
		if (existing === "reuse") given.if_exists = "reuse";
		if (existing === "update") given.update = true;
		return given;
	}
	/** Shows each error at its field; returns those that belong to no field. */
	function markErrors(details) {
		for (const wrong of form.querySelectorAll(".wrong[id]")) fill(wrong);
		for (const control of form.elements) control.removeAttribute("aria-invalid");
		const left = details.filter(({ field: name, message }) => {
			const found = form.elements[name];
			const control = found instanceof RadioNodeList ? found[0] : found;
			const place = document.getElementById(`${name}-error`);
			if (!control || !place || control.closest("[hidden]")) return true;
			const rule = message.replace(/ \([\w.]+\.\d+\)$|\.$/, ""); // without the number of an item
			fill(place, `${rule[0].toUpperCase()}${rule.slice(1)}.`);
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
			const request = await readForm();
			const text = JSON.stringify(request);
			if (attempt.text !== text) attempt = { text, key: newKey() };
			const result = await post("explorations", request, { headers: { "Idempotency-Key": attempt.key }, signal });
			attempt = {};
			announce(result.reused ? `Reused: ${cut(result.reused, 100)}` : "Submitted.");
			draft = "";
			location.hash = `#/x/${result.id}`;
		} catch (error) {
			if (error.isFinal) attempt = {};
			const left = markErrors(error.details ?? []);
			fill(said, error.details?.length && !left.length ? failure({ title: "Not submitted", message: "Correct the fields that are marked." }) : failure(error));
		} finally {
			sendButton.disabled = false;
		}
	}
	showFields();
	showPrice();
	return { element: form, write, begin };
}

export function showSubmit(root, query, signal) {
	const form = ideaForm(signal);
	root.className = "view new";
	const asked = new URLSearchParams(query);
	const name = asked.has("from") ? "Follow up" : asked.has("update") || asked.has("document") ? "Update a document" : "New idea";
	root.append(title(name), form.element);
	form.element.elements.idea.dataset.first = "";
	return form.begin(asked);
}
