import { getJson, post, upload } from "./api.js";
import { announce, button, cut, facts, failure, field, fill, h, limits, link, notice, select, t, title } from "./dom.js";

const PAUSE_MS = 700;
const input = (attributes) => h("input", attributes);
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");

export function showSubmit(root, from, signal) {
	let key = newKey();
	const uploaded = new WeakMap();
	let timer;
	const idea = h("textarea", { rows: "4", required: true, maxlength: "10000",
		input: () => { clearTimeout(timer); timer = setTimeout(look, PAUSE_MS); },
		keydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(); } });
	const toolset = select({ research: "Research: a cited report", assistant: "Assistant: web, files, sums",
		code: "Code: read, propose edits", discover: "Discover: music, playlists" });
	const before = select({ run: "Start a new document", reuse: "Reuse it, if there is one", update: "Update the newest one" });
	const files = input({ type: "file", multiple: true });
	const similar = h("div.similar", { "aria-live": "polite" });
	const said = t("div");
	// what only one toolset knows of
	const only = {
		research: field("mode", "Framework", select({ business: "Business: market and verdict", exploration: "Exploration: directions and questions" })),
		code: t("div.pair", field("repository", "Repository", input({ placeholder: "owner/name" }), "Empty: the configured one."),
			field("ref", "Branch, tag or commit", input())),
		assistant: field("files", "Files", files, "Up to 20, 20 MB each. Optional."),
	};
	const earlier = t("details", t("summary", "Earlier research and notification"),
		field("before", "If there is research on the same idea", before),
		field("continue_from", "Follow up on exploration", input({ value: from, spellcheck: "false" }), "The id of a finished one. It is built on, in a new document."),
		field("webhook_url", "Tell this address when done", input({ type: "url", placeholder: "https://…" })),
		field("callback_secret", "Secret that signs the message", input({ type: "password", autocomplete: "new-password", maxlength: "256" })));
	const sendButton = t("button.primary", "Explore");
	const form = h("form.panel", { novalidate: true, submit: (event) => { event.preventDefault(); send(); } },
		field("idea", "Your idea or question", idea, "What is it, for whom, and what do you want to know?"), similar,
		t("div.pair", field("toolset", "Toolset", toolset), only.research,
			field("model", "Model", select({ sonnet: "Sonnet: balanced", opus: "Opus: more thorough", haiku: "Haiku: cheapest" })),
			field("effort", "Effort", select({ "": "As usual", low: "Low: quicker", medium: "Medium", high: "High: thinks longer" }))),
		only.code,
		field("context", "Context", h("textarea", { rows: "3", maxlength: "50000" }), "What the model should know beforehand. Optional."),
		only.assistant, limits(), earlier, said, sendButton);
	root.append(title(from ? "Follow up" : "New idea"), form);
	earlier.open = Boolean(from);

	const fit = () => {
		for (const [name, element] of Object.entries(only)) element.hidden = toolset.value !== name;
	};
	fit();
	toolset.addEventListener("change", fit);

	async function look() {
		const text = idea.value.trim();
		if (text.length < 8 || toolset.value !== "research") return fill(similar);
		try {
			const found = await post("similar", { idea: text }, { signal });
			if (idea.value.trim() === text) await offer(found.similar.slice(0, 5));
		} catch {
			fill(similar); // it is an offer: what is wrong is said when the idea is sent
		}
	}
	async function offer(list) {
		if (!list.length) return fill(similar);
		const mine = await getJson("explorations?status=completed&limit=100", { signal });
		const choose = (values, told) => {
			for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
			earlier.open = true;
			announce(told);
		};
		fill(similar, t("p.strong", "Similar research is there already"), t("ul", list.map((item) => {
			const id = mine.explorations.find((e) => e.path?.endsWith(item.path))?.id;
			return t("li", link(item.url, item.title ?? item.path), " ", t("span.meta", facts(item.verdict, item.date, item.path)),
				t("span.actions",
					button("Reuse", () => {
						if (id) location.hash = `#/x/${id}/report`;
						else choose({ before: "reuse", continue_from: "" }, "It is reused if the idea is the same.");
					}),
					button("Update", () => choose({ before: "update", continue_from: "" }, "It will be updated.")),
					id && button("Follow up", () => choose({ before: "run", continue_from: id }, "It will be built on."))));
		})));
	}

	async function values() {
		const given = {};
		for (const control of form.elements) {
			const value = control.value.trim();
			if (!control.name || !value || control === before || control.closest("[hidden]")) continue;
			given[control.name] = control.type === "number" ? Number(value) : value;
		}
		if (given.files) {
			given.files = [];
			for (const file of files.files) {
				if (!uploaded.has(file)) uploaded.set(file, await upload(file, signal));
				given.files.push(uploaded.get(file));
			}
		}
		const existing = toolset.value === "research" ? before.value : "run"; // nothing else has documents
		if (existing === "reuse") given.if_exists = "reuse";
		if (existing === "update") given.update = true;
		return given;
	}
	/** Says at each field what is wrong with it; gives what belongs to none. */
	function mark(details) {
		for (const wrong of form.querySelectorAll(".wrong")) fill(wrong);
		for (const control of form.elements) control.removeAttribute("aria-invalid");
		const left = details.filter(({ field: name, message }) => {
			const control = form.elements[name];
			if (!control || control.closest("[hidden]")) return true;
			fill(document.getElementById(`${name}-error`), message);
			control.setAttribute("aria-invalid", "true");
			if (earlier.contains(control)) earlier.open = true;
			return false;
		});
		form.querySelector("[aria-invalid]")?.focus();
		return left;
	}
	async function send() {
		mark([]);
		if (!idea.value.trim()) return mark([{ field: "idea", message: "Say what you want explored." }]);
		sendButton.disabled = true;
		fill(said, h("p.loading", { role: "status" }, "Sending …"));
		try {
			const answer = await post("explorations", await values(), { headers: { "Idempotency-Key": key }, signal });
			announce(answer.reused ? `Reused: ${cut(answer.reused, 100)}` : "Sent.");
			location.hash = `#/x/${answer.id}`;
		} catch (error) {
			if (error.status < 500) key = newKey(); // else it may have arrived: the same key starts it once
			const left = mark(error.details ?? []);
			fill(said, error.details?.length && !left.length ? notice("Not sent yet", "Some fields need a change.") : failure(error));
		} finally {
			sendButton.disabled = false;
		}
	}
}
