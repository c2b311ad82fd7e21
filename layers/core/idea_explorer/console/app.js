// Shows the view that the address names after #, so that going back and reloading work.

import { forgetToken, token } from "./api.js";
import { failure, fill, nameTab, t } from "./dom.js";
import { showExploration } from "./exploration.js";
import { showList } from "./list.js";
import { showReport } from "./report.js";
import { showSignIn } from "./signin.js";
import { showSubmit } from "./submit.js";

const ROUTES = [
	[/^#\/new(?:\?from=([\w-]+))?$/, showSubmit, "New idea"],
	[/^#\/x\/([\w-]+)\/report$/, showReport, "Report"],
	[/^#\/x\/([\w-]+)$/, showExploration, "Exploration"],
	[/^#\/?$|^$/, showList, "Explorations"],
];
const main = document.getElementById("main");
const nav = document.getElementById("nav");
let current = new AbortController();

const matchRoute = () => {
	for (const [pattern, view, title] of ROUTES) {
		const match = pattern.exec(location.hash);
		if (match) return { view, title, given: match[1] };
	}
	return { view: (root) => root.append(failure({ title: "Not found", message: "This page does not exist." })), title: "Not found" };
};

function show(message) {
	current.abort();
	current = new AbortController();
	const { signal } = current;
	const { view, title, given } = token() ? matchRoute() : { view: showSignIn, title: "Sign in", given: message };
	nav.hidden = !token();
	for (const a of nav.querySelectorAll("a")) a.ariaCurrent = a.hash === (location.hash || "#/") ? "page" : null;
	nameTab(title);
	const root = t("div.view");
	fill(main, root);
	Promise.resolve(view(root, given, signal)).catch((error) => {
		if (signal.aborted) return;
		root.querySelector(".loading")?.remove();
		root.append(failure(error, () => show()));
	});
	const target = root.querySelector("[required]") ?? root.querySelector("h1") ?? main;
	target.focus({ preventScroll: true });
	scrollTo(0, 0);
}

addEventListener("hashchange", () => show());
addEventListener("signed-in", () => show());
addEventListener("signed-out", (event) => show(event.detail));
document.getElementById("leave").addEventListener("click", () => {
	forgetToken();
	show();
});
document.getElementById("skip").addEventListener("click", (event) => {
	event.preventDefault();
	main.focus();
});
show();
