// What the lists of explorations share.

import { age, cut, facts } from "./dom.js";

const LIVE_MS = 2500;
const QUIET_MS = 15000;

export const TOOLSETS = { research: "Research", assistant: "Assistant", code: "Code", discover: "Music" };

export const nameIdea = (item) => item.title || cut(item.idea, 140);

export const describe = (item) => facts(TOOLSETS[item.toolset], item.toolset === "research" && item.mode, item.model === "offline" ? "offline model" : item.model);

/** The day and the age of a date, such as 2026-03-11. */
export function dated(date, now) {
	const days = Math.floor((now - Date.parse(date)) / 864e5);
	return date && facts(date, days < 1 ? "today" : days < 2 ? "yesterday" : age(date, now));
}

/** Loads again and again: often while `load` resolves to true, seldom otherwise, and never while the tab is hidden. */
export function keepFresh(load, signal) {
	const turn = async () => {
		if (signal.aborted) return;
		const isLive = !document.hidden && await load();
		setTimeout(turn, isLive ? LIVE_MS : QUIET_MS);
	};
	setTimeout(turn, LIVE_MS);
}
