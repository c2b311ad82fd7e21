import { forgetToken, getJson, redeem, storeToken } from "./api.js";
import { failure, field, fill, h, t, title } from "./dom.js";

const LINK = /^#\/sign-in\/([\w-]{1,200})$/;

/** Signs in by a link of `idea serve`, if the address is one. Resolves to the error if the link no longer works. */
export async function readSignInLink() {
	const [, code] = LINK.exec(location.hash) ?? [];
	if (!code) return undefined;
	history.replaceState(null, "", `${location.pathname}#/`); // before anything else: the code is not to stay in the address
	try {
		storeToken(await redeem(code));
		return undefined;
	} catch (error) {
		return error.status === 403 || error.status === 404 ? { title: "This link no longer works", message: "Each sign-in link works once. The terminal in which idea serve runs shows the next one." } : error;
	}
}

export function showSignIn(root, reason) {
	const said = t("div");
	const input = h("input", { type: "password", autocomplete: "off", required: true, "data-first": true, spellcheck: "false", maxlength: "1000" });
	const remember = h("input", { type: "checkbox", id: "stay" });
	const send = async (event) => {
		event.preventDefault();
		const given = input.value.trim();
		if (!given) return;
		if (!/^[\x21-\x7e]+$/.test(given)) {
			fill(said, failure({ title: "That is not a token", message: "A token contains only letters, digits and symbols." }));
			return;
		}
		storeToken(given, remember.checked);
		try {
			await getJson("explorations?limit=1");
			dispatchEvent(new CustomEvent("signed-in"));
		} catch (error) {
			forgetToken();
			if (error.status !== 401) fill(said, failure(error));
		}
	};
	root.className = "view signin";
	root.append(h("img", { src: "console/icon.svg", alt: "", width: "56", height: "56" }), title("Sign in to Idea Explorer"),
		t("p.lead", "Send in an idea. Get a researched, cited report a few minutes later."), said,
		h("form.panel", { submit: send },
			field("token", "API token", input),
			t("p", h("label.inline", { for: "stay" }, remember, " Stay signed in on this device")),
			t("button.primary", "Sign in")),
		t("p.hint", "On this machine, ", t("code", "idea serve"), " prints a sign-in link and a token. For a deployment, ask its operator to run ",
			t("code", "idea admin token add"), "."));
	if (reason) fill(said, failure(reason.status === 401 ? { title: "You are not signed in", message: "The server does not recognize this token. Check it and try again." } : reason));
}
