// Changes that wait for a decision. What is approved is what is shown: the content goes back only if it was edited.

import { getJson, one, post } from "./api.js";
import { announce, button, failure, fill, h, say, t } from "./dom.js";
import { drawDiff } from "./diff.js";

let inTwo = false;

function change(approval, decide, redraw) {
	const id = approval.id;
	const proposed = approval.content ?? ""; // too large to be sent along: then it cannot be edited here
	const pick = h("input", { type: "checkbox", id: `pick-${id}`, checked: true });
	const content = h("textarea", { id: `content-${id}`, class: "code", rows: "14", spellcheck: "false" });
	content.value = proposed;
	const reason = h("input", { id: `reason-${id}`, maxlength: "2000" });
	const editor = h("div.field", { hidden: true }, h("label", { for: content.id }, "New content of the whole file"), content);
	const shown = t("div", drawDiff(approval.diff, inTwo));
	const edited = h("p.event", { hidden: true }, "You changed the content; the diff shows what was proposed.");
	const said = h("p.wrong", { role: "alert" });
	// text areas know one kind of line end; the file's stays
	const crlf = proposed.includes("\r\n");
	const value = () => (crlf ? content.value.replace(/\n/g, "\r\n") : content.value);
	const isEdited = () => value() !== proposed;
	content.addEventListener("input", () => { edited.hidden = !isEdited(); });
	const self = {
		id,
		picked: () => pick.checked,
		approve: () => decide(id, { decision: "approve", ...(isEdited() ? { content: value() } : {}) }),
		reject: (why) => decide(id, { decision: "reject", ...((why ?? reason.value.trim()) ? { reason: why ?? reason.value.trim() } : {}) }),
		draw: () => fill(shown, drawDiff(approval.diff, inTwo)),
	};
	const act = (deed) => async () => {
		say(said, "");
		try {
			await deed();
			await redraw();
		} catch (error) {
			say(said, error.message);
		}
	};
	self.element = h("article.change", { "aria-labelledby": `path-${id}` },
		t("div.heading", h("h3", { id: `path-${id}`, class: "path" }, t("bdi", approval.path)),
			h("label.inline", { for: pick.id }, pick, " select")),
		t("p", approval.description), shown, edited, editor, said,
		h("div.actions", {},
			button("Approve", act(self.approve), { class: "primary" }),
			approval.content != null && button("Edit first", (event) => {
				editor.hidden = !editor.hidden;
				event.target.setAttribute("aria-expanded", String(!editor.hidden));
				if (!editor.hidden) content.focus();
			}, { "aria-expanded": "false" }),
			h("label", { for: reason.id }, "Reason"), reason,
			button("Reject", act(() => self.reject()), { class: "danger" })));
	return self;
}

const ended = (approval) => t("li", t("bdi.path", approval.path), " ",
	approval.edited ? "approved after an edit" : approval.status,
	approval.reason && `: ${approval.reason}`, " ", t("span.meta", [approval.decided_by, approval.decided_at && new Date(approval.decided_at).toLocaleString()].filter(Boolean).join(" · ")));

export class Approvals {
	constructor(root, id, signal) {
		Object.assign(this, { root, id, signal, open: new Map() });
	}

	async load() {
		let told;
		try {
			told = await getJson(one(this.id, "/approvals"), { signal: this.signal });
		} catch (error) {
			if (!this.signal.aborted) fill(this.root, failure(error, () => this.load()));
			return;
		}
		const all = told.approvals ?? [];
		const waiting = all.filter((approval) => approval.status === "pending");
		const decide = (approval, body) => post(one(this.id, `/approvals/${encodeURIComponent(approval)}`), body, { signal: this.signal });
		// what somebody is editing stays as it is
		for (const known of this.open.keys()) if (!waiting.some((a) => a.id === known)) this.open.delete(known);
		for (const a of waiting) if (!this.open.has(a.id)) this.open.set(a.id, change(a, decide, () => this.load()));
		const changes = [...this.open.values()];
		const done = all.filter((approval) => approval.status !== "pending");
		const said = h("p.wrong", { role: "alert" });
		const together = (deed) => async () => {
			const failed = [];
			for (const one of changes.filter((c) => c.picked())) await deed(one).catch((error) => failed.push(error.message));
			await this.load();
			if (failed.length) say(said, failed.join(" "));
		};
		const why = h("input", { id: "all-reason", maxlength: "2000" });
		const two = h("input", { type: "checkbox", id: "two", checked: inTwo, on: { change: (event) => {
			inTwo = event.target.checked;
			changes.forEach((c) => c.draw());
		} } });
		fill(this.root,
			changes.length > 0 && h("section.panel.approvals", { "aria-labelledby": "approvals-title" },
				t("div.heading", h("h2", { id: "approvals-title" }, `${changes.length} ${changes.length > 1 ? "changes wait" : "change waits"} for you`),
					h("label.inline", { for: "two" }, two, " side by side")),
				changes.map((c) => c.element),
				changes.length > 1 && h("div.actions.together", {},
					button("Approve selected", together((c) => c.approve()), { class: "primary" }),
					h("label", { for: "all-reason" }, "Reason"), why,
					button("Reject selected", together((c) => c.reject(why.value.trim())), { class: "danger" })), said),
			done.length > 0 && t("section.panel", t("h2", "Decided changes"), t("ul", done.map(ended))));
		if (changes.length) announce(`${changes.length} changes wait for your approval.`);
	}
}
