import { forgetToken, getJson, keepToken } from "./api.js";
import { failure, field, fill, h, t, title } from "./dom.js";

export function showSignIn(root, reason) {
	const said = t("div");
	const input = h("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false", maxlength: "1000" });
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
	root.append(title("Sign in"),
		t("p", "Send in an idea, watch it being researched, decide on changes and read the report."), said,
		h("form.panel.narrow", { submit: send },
			field("token", "API token", input, ["It stays in this tab until you close it. On your own machine ", t("code", "idea serve"),
				" prints one; elsewhere ask who runs the service for ", t("code", "idea admin token add"), "."]),
			t("button.primary", "Sign in")));
	if (reason) fill(said, failure({ title: "You are not signed in", message: "The token is not known here. Check it and try again." }));
}
