// Calls the API relative to this page. The token is only sent as a header. It stays in this tab, or on this device if the person says so.

const KEY = "idea-explorer-token";
let skew = 0;

export const token = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
export const isRemembered = () => localStorage.getItem(KEY) !== null;
export function forgetToken() {
	sessionStorage.removeItem(KEY);
	localStorage.removeItem(KEY);
}
export function storeToken(value, remember = false) {
	forgetToken();
	(remember ? localStorage : sessionStorage).setItem(KEY, value);
}
/** Calls back when another tab of this device signs in or out. */
export const onTokenChange = (act) => addEventListener("storage", ({ key }) => { if (key === KEY || key === null) act(); });
/** The server's time, because deadlines are by its clock. */
export const now = () => Date.now() + skew;

const OFFLINE = "Cannot reach the server. Check that it is running and that you are online.";

/** An error response, or status 0 if there was no response. */
class ApiError extends Error {
	constructor(status, { message, details } = {}) {
		super(message ?? `The server responded with status ${status}.`);
		Object.assign(this, { status, details });
		this.title = status === 404 ? "Not found" : status >= 500 ? "Server error" : status ? undefined : "No connection";
	}

	/** Whether repeating the call would fail in the same way. */
	get isFinal() {
		return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429;
	}
}

export const noConnection = () => new ApiError(0, { message: OFFLINE });

async function send(path, { method = "GET", body, headers = {}, accept = "application/json", signal } = {}) {
	let response;
	try {
		response = await fetch(path, {
			method,
			signal,
			credentials: "omit",
			redirect: "error",
			headers: {
				Accept: accept,
				Authorization: `Bearer ${token() ?? ""}`,
				...(body && { "Content-Type": "application/json" }),
				...headers,
			},
			body: JSON.stringify(body),
		});
	} catch (error) {
		if (signal?.aborted) throw error;
		throw noConnection();
	}
	const date = Date.parse(response.headers.get("Date"));
	if (date && Math.abs(date - Date.now() - skew) > 1500) skew = date - Date.now();
	if (response.ok) return response;
	const failed = await response.json().catch(() => ({}));
	const error = new ApiError(response.status, failed.error);
	if (response.status === 401) {
		forgetToken();
		dispatchEvent(new CustomEvent("signed-out", { detail: error }));
	}
	throw error;
}

export const getJson = async (path, options) => (await send(path, options)).json();
export const getText = async (path, options) => (await send(path, options)).text();
export const post = (path, body = {}, options = {}) => getJson(path, { method: "POST", body, ...options });

/** The token that a sign-in link of `idea serve` stands for. Each link works once. */
export const redeem = async (code) => (await getJson("sign-in", { method: "POST", headers: { Authorization: `SignIn ${code}` } })).token;

export const pathOf = (id, rest = "") => `explorations/${encodeURIComponent(id)}${rest}`;

/** Upload a file to where the API says; resolves to its id. */
export async function upload(file, signal) {
	const { file_id: id, upload: to } = await post("files", { name: file.name, size: file.size }, { signal });
	const form = new FormData();
	for (const [name, value] of Object.entries({ ...to.fields, file })) form.append(name, value);
	const url = new URL(to.url, document.baseURI);
	const own = url.origin === location.origin ? { Authorization: `Bearer ${token()}` } : {};
	const response = await fetch(url, {
		method: to.method, body: to.method === "POST" ? form : file, headers: own, credentials: "omit", signal,
	});
	if (!response.ok) throw new ApiError(response.status, { message: `${file.name} could not be uploaded.` });
	return id;
}

/** Yields the frames of an event stream. A frame that is cut off is dropped; the next call fetches it again. */
export async function* readFrames(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const parts = (rest + value).split("\n\n");
		rest = parts.pop();
		for (const part of parts) {
			const frame = {};
			for (const line of part.split("\n")) {
				const at = line.indexOf(": ");
				if (at >= 0) frame[line.slice(0, at) || "comment"] = line.slice(at + 2);
			}
			yield frame;
		}
	}
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Resolves once the tab is shown or the signal is aborted. */
const shown = (signal) => new Promise((done) => {
	const look = () => {
		if (document.hidden && !signal.aborted) return;
		document.removeEventListener("visibilitychange", look);
		signal.removeEventListener("abort", look);
		done();
	};
	document.addEventListener("visibilitychange", look);
	signal.addEventListener("abort", look);
	look();
});

/** Calls onEvent with every event after a number, once and in order, asking again when the API says, until the exploration ends.
 *  Not while the tab is hidden: a browser opens six connections to a server, for all its tabs. */
export async function follow(id, after, { onEvent, onState, signal }) {
	let last = after;
	let failures = 0;
	while (!signal.aborted) {
		await shown(signal);
		let wait = 1000;
		const hidden = new AbortController();
		const hide = () => hidden.abort();
		document.addEventListener("visibilitychange", hide);
		try {
			const headers = last ? { "Last-Event-ID": String(last) } : {};
			const response = await send(pathOf(id, "/events"), { accept: "text/event-stream", headers, signal: AbortSignal.any([signal, hidden.signal]) });
			failures = 0;
			if (response.status === 204) return last;
			let comment;
			for await (const frame of readFrames(response.body)) {
				comment = frame.comment ?? comment;
				if (frame.retry) {
					// the last of the frames that belong together; `idea serve` sends more on the same connection
					wait = Number(frame.retry);
					onState(true, comment);
					comment = undefined;
				}
				const number = Number(frame.id);
				if (!(number > last)) continue;
				last = number;
				onEvent(JSON.parse(frame.data));
			}
		} catch (error) {
			if (signal.aborted) return last;
			if (hidden.signal.aborted) continue;
			if (error.isFinal) throw error;
			onState(false);
			wait = Math.min(8000, 400 * 2 ** failures++);
		} finally {
			document.removeEventListener("visibilitychange", hide);
		}
		await pause(wait);
	}
	return last;
}
