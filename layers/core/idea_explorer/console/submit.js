import { getJson, post, upload } from "./api.js";
import { announce, button, cut, failure, field, fill, h, limits, link, notice, t } from "./dom.js";

const PAUSE_MS = 700;
const NUMBERS = new Set(["max_cost_usd", "max_steps", "deadline_seconds"]);
let similarIsThere = true;

const option = (value, label = value) => h("option", { value }, label);

const select = (...options) => t("select", options);

const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");

export function showSubmit(root, from, signal) {
	let key = newKey();
	const uploaded = new WeakMap();
	const idea = h("textarea", { rows: "4", required: true, maxlength: "10000" });
	const toolset = select(option("research", "Research: a cited report"), option("assistant", "Assistant: web, files, sums"),
		option("code", "Code: read, propose edits"), option("discover", "Discover: music, playlists"));
	const before = select(option("run", "Start a new document"), option("reuse", "Reuse it, if there is one"), option("update", "Update the newest one"));
	const files = h("input", { type: "file", multiple: true });
	const similar = h("div.similar", { "aria-live": "polite" });
	const said = h("div");
	const repository = h("div.pair", { hidden: true },
		field("repository", "Repository", h("input", { placeholder: "owner/name" }), "Empty: the configured one."),
		field("ref", "Branch, tag or commit", h("input")));
	const mode = field("mode", "Framework", select(option("business", "Business: market and verdict"), option("exploration", "Exploration: directions and questions")));
	const sendButton = t("button.primary", "Explore");
	const form = h("form.panel", { novalidate: true, on: { submit: (event) => { event.preventDefault(); send(); } } },
		field("idea", "Your idea or question", idea, "What is it, for whom, and what do you want to know?"), similar,
		t("div.pair", field("toolset", "Toolset", toolset), mode,
			field("model", "Model", select(option("sonnet", "Sonnet: faster, cheaper"), option("opus", "Opus: more thorough")))),
		repository,
		field("context", "Context", h("textarea", { rows: "3", maxlength: "50000" }), "What the model should know beforehand. Optional."),
		field("files", "Files", files, "Up to 20, 20 MB each. Optional."),
		limits(),
		t("details", t("summary", "Earlier research and notification"),
			field("before", "If there is research on the same idea", before),
			field("continue_from", "Follow up on exploration", h("input", { value: from ?? "", spellcheck: "false" }), "The id of a finished one. It is built on, in a new document."),
			field("webhook_url", "Tell this address when done", h("input", { type: "url", placeholder: "https://…" })),
			field("callback_secret", "Secret that signs the message", h("input", { type: "password", autocomplete: "new-password", maxlength: "256" }))),
		said, sendButton);
	root.append(h("h1", { tabindex: "-1" }, from ? "Follow up" : "New idea"), form);
	if (from) form.querySelector("details").open = true;

	toolset.addEventListener("change", () => {
		mode.hidden = toolset.value !== "research";
		repository.hidden = toolset.value !== "code";
	});
	idea.addEventListener("keydown", (event) => {
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
	});
	let timer;
	idea.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(look, PAUSE_MS);
	});

	async function look() {
		const text = idea.value.trim();
		if (!similarIsThere || text.length < 8 || toolset.value !== "research") return fill(similar);
		try {
			const found = await post("similar", { idea: text }, { signal });
			const list = found.similar ?? found ?? [];
			if (idea.value.trim() === text) await offer(Array.isArray(list) ? list : []);
		} catch (error) {
			similarIsThere = error.status !== 404;
			fill(similar);
		}
	}
	async function offer(list) {
		if (!list.length) return fill(similar);
		const mine = await getJson("explorations?status=completed&limit=100", { signal }).catch(() => ({ explorations: [] }));
		const idOf = (path) => mine.explorations.find((e) => e.path?.endsWith(path))?.id;
		const choose = (values, told) => {
			for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
			form.querySelector("details").open = true;
			announce(told);
		};
		fill(similar, t("p.strong", "Similar research is there already"), t("ul", list.slice(0, 5).map((item) => h("li", {},
			link(item.url, item.title ?? item.path), t("span.meta", [item.verdict, item.date, item.path].filter(Boolean).join(" · ")),
			h("span.actions", {},
				button("Reuse", () => {
					if (idOf(item.path)) location.hash = `#/x/${idOf(item.path)}/report`;
					else choose({ before: "reuse", continue_from: "" }, "It is reused if the idea is the same.");
				}),
				button("Update", () => choose({ before: "update", continue_from: "" }, "It will be updated.")),
				idOf(item.path) && button("Follow up", () => choose({ before: "run", continue_from: idOf(item.path) }, "It will be built on.")))))));
	}

	function values() {
		const given = {};
		for (const control of form.elements) {
			const value = control.value?.trim();
			if (!control.name || !value || control === files || control === before) continue;
			if (control.closest("[hidden]")) continue;
			given[control.name] = NUMBERS.has(control.name) ? Number(value) : value;
		}
		if (before.value === "reuse") given.if_exists = "reuse";
		if (before.value === "update") given.update = true;
		return given;
	}
	function mark(details) {
		for (const wrong of form.querySelectorAll(".wrong")) fill(wrong);
		for (const control of form.elements) control.removeAttribute("aria-invalid");
		const left = details.filter(({ field: name, message }) => {
			const place = document.getElementById(`${name}-error`);
			if (!place) return true;
			fill(place, message);
			const control = document.getElementById(name);
			control.setAttribute("aria-invalid", "true");
			const folded = control.closest("details");
			if (folded) folded.open = true;
			return false;
		});
		form.querySelector("[aria-invalid]")?.focus();
		return left;
	}
	async function send() {
		mark([]);
		fill(said);
		if (!idea.value.trim()) return mark([{ field: "idea", message: "Say what you want explored." }]);
		sendButton.disabled = true;
		fill(said, h("p.loading", { role: "status" }, files.files.length ? "Uploading …" : "Sending …"));
		try {
			const body = values();
			if (files.files.length) {
				body.files = [];
				for (const file of files.files) {
					if (!uploaded.has(file)) uploaded.set(file, await upload(file, signal));
					body.files.push(uploaded.get(file));
				}
			}
			const answer = await post("explorations", body, { headers: { "Idempotency-Key": key }, signal });
			announce(answer.reused ? `Reused: ${cut(answer.reused, 100)}` : "Sent.");
			location.hash = `#/x/${answer.id}`;
		} catch (error) {
			if (error.status < 500) key = newKey(); // else it may have arrived: the same key starts it once
			const noFiles = error.status === 404 && files.files.length;
			const left = mark(noFiles ? [{ field: "files", message: "This server takes no files." }] : error.details ?? []);
			fill(said, error.details?.length && !left.length ? notice("Not sent yet", "Some fields need a change.") : failure(error));
		} finally {
			sendButton.disabled = false;
		}
	}
}
