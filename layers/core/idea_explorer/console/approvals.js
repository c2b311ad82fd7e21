// Changes and plans that need approval. The content is sent back only if it was edited; otherwise what was proposed is approved.

import { getJson, pathOf, post } from "./api.js";
import { announce, button, facts, failure, fill, h, setText, t } from "./dom.js";
import { drawDiff } from "./diff.js";
import { drawMarkdown } from "./plan.js";
import { drawChecks } from "./results.js";

let inTwo = false;

/** The row of buttons below one change, or below all of them. */
function decisions(what, approve, reject, more) {
	const reason = h("input", { maxlength: "2000" });
	return t("div.actions", button(`Approve${what}`, approve, { class: "primary" }), more, t("label", "Reason", reason),
		button(`Reject${what}`, () => reject(reason.value.trim()), { class: "danger" }));
}

function change(approval, decide, redraw) {
	const id = approval.id;
	const proposed = approval.content ?? ""; // null if it was too large to send; then it cannot be edited here
	const { danger } = approval;
	const isPlan = approval.kind === "plan";
	const isCommands = approval.kind === "checks";
	const drawn = () => (isPlan ? drawMarkdown(proposed) : isCommands ? h("pre.code", { dir: "ltr", tabindex: "0" }, proposed) : drawDiff(approval.diff, inTwo));
	const pick = h("input", { type: "checkbox", checked: !danger, hidden: !!danger });
	const sure = h("input", { type: "checkbox" });
	const warning = danger && t("p.danger", `This file ${danger}. `, t("label.inline", sure, " I have read it"));
	const content = h("textarea.code", { id: `content-${id}`, rows: "14", spellcheck: "false" });
	content.value = proposed;
	const editor = h("div.field", { hidden: true }, h("label", { for: content.id }, isPlan ? "The plan, as Markdown" : "New content of the whole file"), content);
	const shown = t("div", drawn());
	const edited = h("p.event", { hidden: true }, "You edited the content. Shown above is what was proposed.");
	const said = h("p.wrong", { role: "alert" });
	// a textarea normalizes line endings; keep those of the file
	const crlf = proposed.includes("\r\n");
	const value = () => (crlf ? content.value.replace(/\n/g, "\r\n") : content.value);
	const isEdited = () => value() !== proposed;
	content.addEventListener("input", () => { edited.hidden = !isEdited(); });
	const approve = () => decide(id, { decision: "approve", ...(isEdited() && { content: value() }), ...(danger && { confirm_danger: sure.checked }) });
	const reject = (reason) => decide(id, { decision: "reject", ...(reason && { reason }) });
	const act = (action) => async (given) => {
		setText(said, "");
		try {
			await action(given);
			await redraw();
		} catch (error) {
			setText(said, error.message);
		}
	};
	const edit = approval.content != null && !isCommands && button("Edit first", (event) => {
		editor.hidden = !editor.hidden;
		event.target.setAttribute("aria-expanded", String(!editor.hidden));
		if (!editor.hidden) content.focus();
	}, { "aria-expanded": "false" });
	const element = h("article.change", { "aria-labelledby": `path-${id}` },
		t("div.heading", h("h3.path", { id: `path-${id}` }, t("bdi", approval.path)), !isPlan && !isCommands && t("label.inline", pick, " select")),
		t("p", approval.description), approval.checks?.length > 0 && drawChecks(approval.checks), shown, edited, editor, warning, said,
		decisions("", act(approve), act(reject), edit));
	return { element, approve, reject, picked: () => pick.checked, isPlan, isCommands, draw: () => fill(shown, drawn()) };
}

const ended = (approval) => t("li", t("bdi.path", approval.path), " ",
	approval.edited ? "approved with edits" : approval.status, approval.reason && `: ${approval.reason}`, " ",
	t("span.meta", facts(approval.decided_by, approval.decided_at && new Date(approval.decided_at).toLocaleString())));

export class Approvals {
	constructor(root, id, signal) {
		Object.assign(this, { root, id, signal, open: new Map(), said: h("p.wrong", { role: "alert" }) });
	}

	async load() {
		const { root, id, signal, open, said } = this;
		let all;
		try {
			({ approvals: all } = await getJson(pathOf(id, "/approvals"), { signal }));
		} catch (error) {
			if (!signal.aborted) fill(root, failure(error, () => this.load()));
			return;
		}
		const waiting = all.filter((approval) => approval.status === "pending");
		const done = all.filter((approval) => approval.status !== "pending");
		const decide = (approval, body) => post(pathOf(id, `/approvals/${encodeURIComponent(approval)}`), body, { signal });
		// keep what somebody is editing
		for (const known of open.keys()) if (!waiting.some((a) => a.id === known)) open.delete(known);
		for (const a of waiting) if (!open.has(a.id)) open.set(a.id, change(a, decide, () => this.load()));
		const changes = [...open.values()];
		const together = (action) => async (given) => {
			const failed = [];
			for (const change of changes.filter((c) => c.picked())) await action(change, given).catch((error) => failed.push(error.message));
			setText(said, failed.join(" "));
			await this.load();
		};
		const two = h("input", { type: "checkbox", id: "two", checked: inTwo, change: (event) => {
			inTwo = event.target.checked;
			changes.forEach((c) => c.draw());
		} });
		const plans = changes.some((c) => c.isPlan);
		const commands = changes.every((c) => c.isCommands);
		const summary = plans ? "The plan needs your approval" : commands ? "The repository's checks need your approval" : `${changes.length} ${changes.length > 1 ? "changes need" : "change needs"} your approval`;
		fill(root,
			changes.length > 0 && h("section.panel.approvals", { "aria-labelledby": "approvals-title" },
				t("div.heading", h("h2", { id: "approvals-title" }, summary), !plans && !commands && t("label.inline", two, " side by side")),
				changes.map((c) => c.element),
				changes.length > 1 && t("div.together", decisions(" selected",
					together((c) => c.approve()), together((c, reason) => c.reject(reason)))), said),
			done.length > 0 && t("section.panel", t("h2", "Decisions"), t("ul", done.map(ended))));
		if (changes.length) announce(summary);
	}
}
