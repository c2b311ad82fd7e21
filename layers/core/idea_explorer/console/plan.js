// Draws a plan, from its Markdown or from its event. Only headings and lists are drawn as such; the rest is text.

import { h, t } from "./dom.js";

const LISTS = { must_know: "What has to be known to decide", sub_questions: "Questions", known: "What the team already knows", would_turn: "What would turn the verdict" };

const within = (item) => item.querySelector("ul") ?? item.appendChild(t("ul"));

export function drawMarkdown(markdown) {
	const root = h("div.plan", { dir: "auto" });
	let list;
	for (const line of markdown.split("\n")) {
		const [, marks, title] = /^(#+) (.*)/.exec(line) ?? [];
		const [, indent, mark, item] = /^(\s*)([-*+]|\d+[.)]) (.*)/.exec(line) ?? [];
		if (marks) root.append(t(marks.length > 1 ? "h4" : "h3", title));
		else if (item && indent && list) within(list.lastElementChild).append(t("li", item));
		else if (item) (list ?? root.appendChild(list = t(/\d/.test(mark) ? "ol" : "ul"))).append(t("li", item));
		else if (line.trim()) root.append(t("p", line));
		if (!item) list = null;
	}
	return root;
}

const question = ({ question, tool, why }) =>
	t("li", question, t("ul", tool && t("li", `Tool: ${tool}`), why && t("li", `Why: ${why}`)));

export const drawPlan = (plan) => h("div.plan", { dir: "auto" }, Object.entries(LISTS).map(([name, title]) =>
	plan[name]?.length > 0 && [t("h4", title), name === "sub_questions"
		? t("ol", plan[name].map(question)) : t("ul", plan[name].map((item) => t("li", item)))]));
