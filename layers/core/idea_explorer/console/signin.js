import { forgetToken, getJson, keepToken } from "./api.js";
import { failure, fill, h, t } from "./dom.js";

export function showSignIn(root, reason) {
	const said = h("div");
	const input = h("input", {
		id: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false",
		maxlength: "1000", "aria-describedby": "token-help",
	});
	const send = async (event) => {
		event.preventDefault();
		const given = input.value.trim();
		if (!given) return;
		if (!/^[\x21-\x7e]+$/.test(given)) {
			fill(said, failure({ title: "That is not a token", message: "A token has letters, digits and signs only." }));
			return;
		}
		keepToken(given);
		try {
			await getJson("explorations?limit=1");
			dispatchEvent(new CustomEvent("signed-in"));
		} catch (error) {
			forgetToken();
			if (error.status !== 401) fill(said, failure(error));
		}
	};
	root.append(
		h("h1", { tabindex: "-1" }, "Sign in"),
		t("p", "Send in an idea, watch it being researched, decide on changes and read the report."),
		said,
		h("form.panel.narrow", { on: { submit: send } },
			h("label", { for: "token" }, "API token"), input,
			h("p", { id: "token-help", class: "hint" }, "It stays in this tab until you close it. On your own machine ",
				t("code", "idea serve"), " prints one; elsewhere ask who runs the service for ",
				t("code", "idea admin token add"), "."),
			t("button.primary", "Sign in")),
	);
	if (reason) {
		fill(said, failure({ title: "You are not signed in", message: "The token is not known here. Check it and try again." }));
	}
}
