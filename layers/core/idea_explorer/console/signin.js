import { forgetToken, getJson, storeToken } from "./api.js";
import { failure, field, fill, h, t, title } from "./dom.js";

export function showSignIn(root, reason) {
	const said = t("div");
	const input = h("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false", maxlength: "1000" });
	const send = async (event) => {
		event.preventDefault();
		const given = input.value.trim();
		if (!given) return;
		if (!/^[\x21-\x7e]+$/.test(given)) {
			fill(said, failure({ title: "That is not a token", message: "A token contains only letters, digits and symbols." }));
			return;
		}
		storeToken(given);
		try {
			await getJson("explorations?limit=1");
			dispatchEvent(new CustomEvent("signed-in"));
		} catch (error) {
			forgetToken();
			if (error.status !== 401) fill(said, failure(error));
		}
	};
	root.append(title("Sign in"),
		t("p", "Submit an idea, watch the research live, review proposed changes and read the report."), said,
		h("form.panel.narrow", { submit: send },
			field("token", "API token", input, ["Kept in this tab until you close it. ", t("code", "idea serve"),
				" prints one; for a deployment, ask its operator to run ", t("code", "idea admin token add"), "."]),
			t("button.primary", "Sign in")));
	if (reason) fill(said, failure({ title: "You are not signed in", message: "The server does not recognize this token. Check it and try again." }));
}
