// Changes and plans that need approval. The content is sent back only if it was edited; otherwise what was proposed is approved.

import { getJson, pathOf, post } from "./api.js";
import { announce, button, facts, failure, fill, h, setText, t } from "./dom.js";
import { countHunks, drawDiff } from "./diff.js";
import { drawMarkdown } from "./plan.js";
import { drawChecks } from "./results.js";

let inTwo = false;

/** The row of buttons below one change, or below all of them. */
function decisions(what, approve, reject, more) {
	const reason = h("input", { maxlength: "2000" });
	const first = button(`Approve${what}`, approve, { class: "primary" });
	const row = t("div.actions", first, more, t("label", "Reason", reason),
		button(`Reject${what}`, () => reject(reason.value.trim()), { class: "danger" }));
	return { row, first };
}

const VERBS = { delete: "Deletes ", move: "Moves " };

function change(approval, decide, preview, redraw) {
	const { id, danger, kind } = approval;
	const proposed = approval.content ?? ""; // null if it was too large to send; then it cannot be edited here
	const isPlan = kind === "plan";
	const isCommands = kind === "checks";
	const total = kind === "edit" ? countHunks(approval.diff) : 0;
	const taken = new Set(Array.from({ length: total }, (_, n) => n + 1));
	let review = null; // the diff of what the person wrote
	const pick = h("input", { type: "checkbox", checked: !danger, hidden: !!danger });
	const sure = h("input", { type: "checkbox" });
	const warning = danger && t("p.danger", `This file ${danger}. `, t("label.inline", sure, " I have read it"));
	const content = h("textarea.code", { id: `content-${id}`, rows: "14", spellcheck: "false" });
	content.value = proposed;
	const asTyped = content.value; // a text area knows LF alone; the server restores the line ends of the file
	const editor = h("div.field", { hidden: true }, h("label", { for: content.id }, isPlan ? "The plan, as Markdown" : "New content of the whole file"), content);
	const shown = t("div");
	const edited = h("p.event", { hidden: true });
	const said = h("p.wrong", { role: "alert" });
	const isEdited = () => content.value !== asTyped;
	const edit = () => ({ content: content.value, ...(!isPlan && { keep_line_ends: true }) });
	const hunks = total > 1 && {
		has: (n) => taken.has(n),
		set(n, take) { taken[take ? "add" : "delete"](n); draw(); },
	};
	const drawn = () => {
		if (isPlan) return drawMarkdown(proposed);
		if (isCommands) return h("pre.code", { dir: "ltr", tabindex: "0" }, proposed);
		if (isEdited()) return drawDiff((review ?? approval).diff, inTwo);
		return kind === "move" && !countHunks(approval.diff) ? t("p", "Its content stays as it is.") : drawDiff(approval.diff, inTwo, hunks);
	};
	const draw = () => {
		fill(shown, drawn());
		edited.hidden = !isEdited();
		setText(edited, review ? "You edited the content. Shown above is the change as you edited it."
			: "You edited the content. Shown above is what was proposed: look at your edit before you approve it.");
		setText(row.first, isEdited() && !review && !isPlan ? "Show my edit" : hunks && !isEdited() && taken.size < total ? `Approve ${taken.size} of ${total} hunks` : "Approve");
		row.first.disabled = total > 0 && !taken.size && !isEdited();
	};
	content.addEventListener("input", () => {
		review = null;
		draw();
	});
	const approve = () => {
		if (isEdited() && !review && !isPlan) throw new Error(`Look at your edit of ${approval.path} before you approve it.`);
		return decide(id, { decision: "approve", ...(isEdited() ? edit() : hunks && taken.size < total && { hunks: [...taken] }),
			...(review && { content_hash: review.content_hash }), ...(danger && { confirm_danger: sure.checked }) });
	};
	const reject = (reason) => decide(id, { decision: "reject", ...(reason && { reason }) });
	const act = (action) => async (given) => {
		setText(said, "");
		try {
			await action(given);
		} catch (error) {
			setText(said, error.message);
		}
	};
	const approveOrShow = async () => {
		if (isEdited() && !review && !isPlan) {
			const typed = content.value;
			const found = await preview(id, edit());
			if (content.value === typed) review = found;
			draw();
			return;
		}
		await approve();
		await redraw();
	};
	// a text area would turn a carriage return alone into a line end
	const isEditable = approval.content != null && kind !== "delete" && !isCommands && !/\r(?!\n)/.test(proposed);
	const more = isEditable && button("Edit first", (event) => {
		editor.hidden = !editor.hidden;
		event.target.setAttribute("aria-expanded", String(!editor.hidden));
		if (!editor.hidden) content.focus();
	}, { "aria-expanded": "false" });
	const row = decisions("", act(approveOrShow), act(async (reason) => {
		await reject(reason);
		await redraw();
	}), more);
	draw();
	const element = h("article.change", { "aria-labelledby": `path-${id}` },
		t("div.heading", h("h3.path", { id: `path-${id}` }, VERBS[kind], t("bdi", approval.path), approval.new_path && [" to ", t("bdi", approval.new_path)]),
			!isPlan && !isCommands && t("label.inline", pick, " select")),
		t("p", approval.description), approval.checks?.length > 0 && drawChecks(approval.checks), shown, edited, editor, warning, said, row.row);
	return { element, approve, reject, picked: () => pick.checked, isPlan, isCommands, draw };
}

const outcome = ({ status, edited, applied_at, commit }) => (status !== "approved" ? status
	: [edited ? "approved with edits" : "approved", applied_at && "and written", commit && `(${commit.slice(0, 7)})`].filter(Boolean).join(" "));

const ended = (approval) => t("li", t("bdi.path", approval.path), " ", outcome(approval),
	(approval.reason || approval.message) && `: ${approval.reason || approval.message}`, " ",
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
		const at = (approval, more = "") => pathOf(id, `/approvals/${encodeURIComponent(approval)}${more}`);
		const decide = (approval, body) => post(at(approval), body, { signal });
		const preview = (approval, body) => post(at(approval, "/preview"), body, { signal });
		// keep what somebody is editing
		for (const known of open.keys()) if (!waiting.some((a) => a.id === known)) open.delete(known);
		for (const a of waiting) if (!open.has(a.id)) open.set(a.id, change(a, decide, preview, () => this.load()));
		const changes = [...open.values()];
		const together = (action) => async (given) => {
			const failed = [];
			for (const change of changes.filter((c) => c.picked())) {
				try {
					await action(change, given);
				} catch (error) {
					failed.push(error.message);
				}
			}
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
					together((c) => c.approve()), together((c, reason) => c.reject(reason))).row), said),
			done.length > 0 && t("section.panel", t("h2", "Decisions"), t("ul", done.map(ended))));
		if (changes.length) announce(summary);
	}
}
