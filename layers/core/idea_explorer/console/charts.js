// Two small charts, drawn as SVG. Each says the same in words for those who do not see it.

import { money, t } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 280;
const HEIGHT = 72;
const GAP = 3;

function draw(name, attributes, ...children) {
	const element = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
	element.append(...children);
	return element;
}

const day = (date) => new Date(`${date}T00:00:00Z`).toLocaleDateString("en", { timeZone: "UTC", month: "short", day: "numeric" });

/** Dollars of each day as bars. */
export function spendByDay(days) {
	const most = Math.max(...days.map(({ usd }) => usd), 0.01);
	const width = WIDTH / days.length;
	const bars = days.map(({ date, usd, explorations }, n) => {
		const height = usd ? Math.max(2, (usd / most) * HEIGHT) : 1;
		const label = `${day(date)}: ${money(usd)}, ${explorations} exploration${explorations === 1 ? "" : "s"}`;
		return draw("rect", { class: usd ? "bar-spent" : "bar-none", x: n * width + GAP / 2, y: HEIGHT - height, width: width - GAP, height, rx: 2 }, draw("title", {}, label));
	});
	const words = `Spend of the last ${days.length} days. The most on one day: ${money(Math.max(...days.map(({ usd }) => usd)))}.`;
	return t("div.chart", draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words, preserveAspectRatio: "none" }, ...bars),
		t("p.axis", t("span", day(days[0].date)), t("span", day(days.at(-1).date))));
}

/** Dollars of each toolset as lines of a list. */
export function spendByToolset(toolsets, names) {
	const most = Math.max(...toolsets.map(({ usd }) => usd), 0.01);
	return t("ul.shares", toolsets.map(({ toolset, usd, explorations }) => t("li",
		t("span", names[toolset] ?? toolset, " ", t("span.meta", `${explorations}`)), t("span.meta", money(usd)),
		draw("svg", { viewBox: "0 0 100 4", "aria-hidden": "true", preserveAspectRatio: "none" },
			draw("rect", { class: "bar-none", width: 100, height: 4 }), draw("rect", { class: "bar-spent", width: (usd / most) * 100, height: 4 })))));
}
