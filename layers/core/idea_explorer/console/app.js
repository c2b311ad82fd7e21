// Shows the view that the address names after #, so that going back and reloading work.

import { forgetToken, isRemembered, noConnection, onTokenChange, storeToken, token } from "./api.js";
import { empty, failure, fill, linkButton, loadStyle, nameTab, t } from "./dom.js";
import { showHome } from "./home.js";
import { showLibrary } from "./library.js";
import { showPortfolio } from "./portfolio.js";
import { readSignInLink, showSignIn } from "./signin.js";
import { showSubmit } from "./submit.js";

// Half of the page is for explorations and reports. It is loaded once the first view is shown, or when it is asked for:
// all files at once, not each when the one that imports it has arrived.
const ofReports = () => [import("./report.js"), import("./markup.js"), import("./footnotes.js"), loadStyle("report.css")];
const LATER = {
	showReport: ofReports,
	showDocument: ofReports,
	showExploration: () => [import("./exploration.js"), import("./timeline.js"), import("./stream.js"), import("./calls.js"), import("./results.js"), import("./plan.js"),
		import("./following.js"), loadStyle("live.css"), ...ofReports()],
};
const load = (name) => Promise.all(LATER[name]()).catch(() => { throw noConnection(); });
const later = (name) => async (...given) => (await load(name))[0][name](...given);

const ROUTES = [
	[/^#\/new(?:\?(.*))?$/, showSubmit, "New idea"],
	[/^#\/ideas(?:\?(.*))?$/, showPortfolio, "Portfolio"],
	[/^#\/research(?:\?(.*))?$/, showLibrary, "Research"],
	[/^#\/research\/(.+)$/, later("showDocument"), "Research"],
	[/^#\/x\/([\w-]+)\/report$/, later("showReport"), "Report"],
	[/^#\/x\/([\w-]+)$/, later("showExploration"), "Exploration"],
	[/^#\/?$|^$/, showHome, "Home"],
];
const LATER_MS = 2000;
const THEME = "idea-explorer-theme";
const page = document.documentElement;
const byId = (id) => document.getElementById(id);
const [main, nav, account, menu, remember, theme] = ["main", "nav", "account", "menu", "remember", "theme"].map(byId);
let current = new AbortController();

const matchRoute = () => {
	for (const [pattern, view, title] of ROUTES) {
		const match = pattern.exec(location.hash);
		if (match) return { view, title, given: match[1] };
	}
	return { view: (root) => root.append(notFound("There is no page at this address.")), title: "Not found" };
};

const notFound = (message) => empty("Not found", message, linkButton("#/", "Go to Home"));

const section = (hash) => hash.split(/[/?]/)[1] ?? "";

function show(message) {
	current.abort();
	current = new AbortController();
	const { signal } = current;
	const { view, title, given } = token() ? matchRoute() : { view: showSignIn, title: "Sign in", given: message };
	nav.hidden = account.hidden = !token();
	for (const a of nav.querySelectorAll("a")) a.ariaCurrent = section(a.hash) === section(location.hash) ? "page" : null;
	nameTab(title);
	const root = t("div.view");
	fill(main, root);
	Promise.resolve(view(root, given, signal)).catch((error) => {
		if (signal.aborted) return;
		root.querySelector(".loading")?.remove();
		if (error.status === 404) fill(root, notFound(error.message));
		else root.append(failure(error, () => show()));
	});
	const target = root.querySelector("[data-first]") ?? root.querySelector("h1") ?? main;
	target.focus({ preventScroll: true });
	scrollTo(0, 0);
}

async function start() {
	show(await readSignInLink());
	// not while the first view is drawn; whoever asks for it learns of a failure
	setTimeout(() => load("showExploration").catch(() => {}), LATER_MS);
}

addEventListener("hashchange", () => (location.hash.startsWith("#/sign-in/") ? start() : show()));
addEventListener("signed-in", () => show());
addEventListener("signed-out", (event) => show(event.detail));
onTokenChange(() => { if (Boolean(token()) === nav.hidden) show(); }); // not while somebody writes in this tab
// Frames around what has the focus are for those who move it with the keyboard.
addEventListener("keydown", (event) => {
	if (event.key === "Tab") page.dataset.keys = "";
});
addEventListener("pointerdown", () => { delete page.dataset.keys; });

menu.addEventListener("beforetoggle", () => { remember.checked = isRemembered(); });
remember.addEventListener("change", () => storeToken(token(), remember.checked));
theme.value = page.dataset.theme = localStorage.getItem(THEME) ?? "";
theme.addEventListener("change", () => {
	page.dataset.theme = theme.value;
	localStorage.setItem(THEME, theme.value);
});
byId("leave").addEventListener("click", () => {
	menu.hidePopover();
	forgetToken();
	show();
});
byId("skip").addEventListener("click", (event) => {
	event.preventDefault();
	main.focus();
});
start();
