// Changes and plans that need approval. The content is sent back only if it was edited; otherwise what was proposed is approved.

import { getJson, pathOf, post } from "./api.js";
import { announce, button, dateTime, facts, failure, fill, h, setText, t } from "./dom.js";
import { countGaps, countHunks, countLines, drawDiff } from "./diff.js";
import { drawChecks } from "./results.js";
import { drawMarkdown } from "./stream.js";

const PREVIEW_MS = 400;
const VERBS = { delete: "Delete ", move: "Move ", create: "Create " };
let inTwo = false;

/** Buttons to approve and reject. Only who rejects is asked why. */
function decisions(what, approve, reject, more) {
	const reason = h("input", { maxlength: "2000", placeholder: "Optional: the model reads it" });
	const first = button(`Approve${what}`, approve, { class: "primary" });
	const asked = h("form.why", { hidden: true, submit: (event) => {
		event.preventDefault();
		reject(reason.value.trim());
	} }, t("label", "Why?", reason), t("button.danger", what ? `Reject${what}` : "Reject it"), button("Back", () => show(false)));
	const show = (isAsking) => {
		asked.hidden = !isAsking;
		row.hidden = isAsking;
		(isAsking ? reason : first).focus();
	};
	const row = t("div.actions", first, button(`Reject${what}`, () => show(true)), more);
	return { element: t("div.decide", row, asked), first };
}

const counts = ({ added, removed }) => added + removed > 0 && [t("span.plus", `+${added}`), " ", t("span.minus", `−${removed}`)];

function change(approval, decide, preview, onChange) {
	const { id, danger, kind, path } = approval;
	const proposed = approval.content ?? ""; // null if it was too large to send; then it cannot be edited here
	const isPlan = kind === "plan";
	const isCommands = kind === "checks";
	const isFile = !isPlan && !isCommands;
	const total = kind === "edit" ? countHunks(approval.diff) : 0;
	const taken = new Set(Array.from({ length: total }, (_, n) => n + 1));
	const opened = new Set(); // gaps between hunks
	let review = null; // the diff of what the person wrote
	let timer;
	const pick = h("input", { type: "checkbox", checked: !danger, hidden: !!danger, change: () => onChange() });
	const sure = h("input", { type: "checkbox" });
	const warning = danger && t("p.danger", `This file ${danger}. `, t("label.inline", sure, " I have read it"));
	const content = h("textarea.code", { id: `content-${id}`, rows: "14", spellcheck: "false" });
	content.value = proposed;
	const asTyped = content.value; // a text area knows LF alone; the server restores the line ends of the file
	const editor = h("div.field", { hidden: true }, h("label", { for: content.id }, isPlan ? "The plan, as Markdown" : "New content of the whole file"), content);
	const [shown, size] = [t("div"), t("span.size")];
	const edited = h("p.event", { hidden: true, role: "status" });
	const said = h("p.wrong", { role: "alert" });
	const isEdited = () => content.value !== asTyped;
	const edit = () => ({ content: content.value, ...(!isPlan && { keep_line_ends: true }) });
	const choice = total > 1 && {
		has: (n) => taken.has(n),
		set(n, take) { taken[take ? "add" : "delete"](n); redraw(); },
	};
	const diff = () => (isEdited() && review ? review.diff : approval.diff);
	const whole = () => (isEdited() && review ? content.value : approval.content);
	const more = button("Show the whole file", () => {
		const all = countGaps(diff(), whole());
		if (opened.size >= all) opened.clear();
		else for (let n = 0; n <= countHunks(diff()); n++) opened.add(n);
		draw();
	}, { class: "plain" });
	const drawn = () => {
		if (isPlan) return drawMarkdown(content.value.replace(/^# .*\n/, "")); // the heading says so
		if (isCommands) return h("pre.code", { dir: "ltr", tabindex: "0" }, proposed);
		if (kind === "move" && !countHunks(approval.diff) && !isEdited()) return t("p.meta", "Its content stays as it is.");
		return drawDiff({ diff: diff(), path, inTwo, choice: !isEdited() && choice, content: kind === "delete" ? null : whole(), opened,
			onOpen: (n) => { opened.add(n); draw(); } });
	};
	const draw = () => {
		fill(shown, drawn());
		if (isFile) fill(size, counts(countLines(diff(), isEdited() ? null : choice && taken)));
		more.hidden = !isFile || kind === "delete" || !countGaps(diff(), whole());
		setText(more, opened.size ? "Show only the changes" : "Show the whole file");
		edited.hidden = !isEdited() || isPlan;
		setText(edited, review ? "This is the change with your edits." : "Working out the change with your edits …");
		setText(row.first, choice && !isEdited() && taken.size < total ? `Approve ${taken.size} of ${total} hunks` : isEdited() ? "Approve as edited" : "Approve");
		row.first.disabled = (total > 0 && !taken.size && !isEdited()) || (isFile && isEdited() && !review);
	};
	const redraw = () => {
		draw();
		onChange();
	};
	async function showEdit() {
		const typed = content.value;
		try {
			const found = await preview(id, edit());
			if (content.value !== typed) return;
			review = found;
			opened.clear();
			redraw();
		} catch (error) {
			setText(said, error.message);
		}
	}
	content.addEventListener("input", () => {
		review = null;
		setText(said, "");
		clearTimeout(timer);
		if (isFile && isEdited()) timer = setTimeout(showEdit, PREVIEW_MS);
		redraw();
	});
	const approve = () => {
		if (isEdited() && !review && isFile) throw new Error(`Look at your edit of ${path} before you approve it.`);
		return decide(id, { decision: "approve", ...(isEdited() ? edit() : choice && taken.size < total && { hunks: [...taken] }),
			...(review && { content_hash: review.content_hash }), ...(danger && { confirm_danger: sure.checked }) });
	};
	const reject = (reason) => decide(id, { decision: "reject", ...(reason && { reason }) });
	const act = (action) => async (given) => {
		setText(said, "");
		try {
			await action(given);
			onChange(true);
		} catch (error) {
			setText(said, error.message);
		}
	};
	// a text area would turn a carriage return alone into a line end
	const isEditable = approval.content != null && kind !== "delete" && !isCommands && !/\r(?!\n)/.test(proposed);
	const editButton = isEditable && button(isPlan ? "Edit the plan" : "Edit", (event) => {
		editor.hidden = !editor.hidden;
		event.target.setAttribute("aria-expanded", String(!editor.hidden));
		if (!editor.hidden) content.focus();
	}, { "aria-expanded": "false" });
	const row = decisions("", act(approve), act(reject), editButton);
	const element = h("article.change", { "aria-labelledby": isPlan ? "approvals-title" : `path-${id}` },
		!isPlan && t("div.heading", isFile && t("label.inline", pick, h("span.unseen", {}, `Select ${path}`)),
			h("h3.path", { id: `path-${id}` }, VERBS[kind], t("bdi", path), approval.new_path && [" to ", t("bdi", approval.new_path)]),
			size, more),
		!isPlan && t("p", approval.description), approval.checks?.length > 0 && drawChecks(approval.checks), shown, edited, editor, warning, said, row.element);
	draw();
	return { element, approve, reject, picked: () => isFile && pick.checked && !danger, isPlan, isCommands, draw, count: () => countLines(diff(), isEdited() ? null : choice && taken) };
}

const outcome = ({ status, edited, applied_at, commit }) => (status === "stale" ? "not written" : status !== "approved" ? status
	: [edited ? "approved with edits" : "approved", applied_at && "and written", commit && `(${commit.slice(0, 7)})`].filter(Boolean).join(" "));

const ended = (approval) => t("li", t("bdi.path", approval.path), " ", outcome(approval),
	(approval.reason || approval.message) && `: ${approval.reason || approval.message}`, " ",
	t("span.meta", facts(approval.decided_by, approval.decided_at && dateTime(approval.decided_at))));

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
		const onChange = (isDecided) => (isDecided ? this.load() : this.drawBar?.());
		for (const a of waiting) if (!open.has(a.id)) open.set(a.id, change(a, decide, preview, onChange));
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
		const summary = plans ? "The plan needs your approval" : commands ? "The repository’s checks need your approval" : `${changes.length} ${changes.length > 1 ? "changes need" : "change needs"} your approval`;
		this.drawBar = null;
		const bar = changes.length > 1 && this.makeBar(changes, together);
		fill(root,
			changes.length > 0 && h("section.panel.approvals", { "aria-labelledby": "approvals-title" },
				t("div.heading", h("h2", { id: "approvals-title" }, summary), !plans && !commands && t("label.inline.sides", two, " Side by side")),
				plans && t("p.meta", "Nothing is searched until you approve the plan. You can edit its questions first."),
				changes.map((c) => c.element), said, bar),
			done.length > 0 && t("section.panel", t("h2", "Decisions"), t("ul.decisions", done.map(ended))));
		if (changes.length) announce(summary);
	}

	/** The bar for many changes, which stays in view. */
	makeBar(changes, together) {
		const text = t("span");
		const { element, first } = decisions(" selected", together((c) => c.approve()), together((c, reason) => c.reject(reason)));
		this.drawBar = () => {
			const picked = changes.filter((c) => c.picked());
			const sum = picked.map((c) => c.count()).reduce((a, b) => ({ added: a.added + b.added, removed: a.removed + b.removed }), { added: 0, removed: 0 });
			fill(text, `${picked.length} of ${changes.length} selected `, counts(sum));
			first.disabled = !picked.length;
		};
		this.drawBar();
		return t("div.bulk", text, element);
	}
}
