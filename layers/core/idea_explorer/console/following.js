// Keeps the newest output in view until somebody scrolls up, and then offers a way back.

import { button, t } from "./dom.js";

const BEHIND_MS = 200;

export class Following {
	isOn = true;
	isAtEnd = true;
	isOver = false;
	next = 0;

	/** `end` is the last element of the output. */
	constructor(end, signal) {
		this.end = end;
		this.element = t("div.jump", button("Jump to latest", () => {
			this.isOn = true;
			this.show();
		}));
		this.element.hidden = true;
		let before = { at: scrollY, height: 0 };
		addEventListener("scroll", () => {
			const height = document.documentElement.scrollHeight;
			// a page that became shorter moves by itself
			if (scrollY < before.at - 2 && height >= before.height) this.isOn = false;
			before = { at: scrollY, height };
		}, { signal, passive: true });
		const observer = new IntersectionObserver(([entry]) => {
			this.isAtEnd = entry.isIntersecting;
			if (this.isAtEnd) this.isOn = true;
			this.show(); // what was added last may have moved the end out of view
		});
		observer.observe(end);
		signal.addEventListener("abort", () => observer.disconnect());
	}

	/** To be called after something was added. Scrolling costs a frame more than drawing, so it is done seldom while
	 *  more waits to be drawn. */
	show(isBehind = false) {
		this.element.hidden = this.isOn || this.isOver;
		if (!this.isOn || this.isAtEnd || this.isOver || isBehind && performance.now() < this.next) return;
		this.next = performance.now() + BEHIND_MS;
		this.end.scrollIntoView({ block: "end" });
	}

	/** Follows from here on, as at the beginning. */
	start() {
		this.isOver = false;
		this.isOn = true;
		this.show();
	}

	stop() {
		this.isOver = true;
		this.element.hidden = true;
	}
}
