// The API, at addresses relative to this page. The token stays in this tab and goes out as a header only.

const KEY = "idea-explorer-token";
const FINAL_ERRORS = (status) => status >= 400 && status < 500 && status !== 408 && status !== 429;
let skew = 0;

export const token = () => sessionStorage.getItem(KEY);
export const keepToken = (value) => sessionStorage.setItem(KEY, value);
export const forgetToken = () => sessionStorage.removeItem(KEY);
/** The server's clock: deadlines are its, not this machine's. */
export const now = () => Date.now() + skew;

export class ApiError extends Error {
	constructor(status, error = {}) {
		super(error.message ?? `The server answered ${status}.`);
		this.status = status;
		this.details = error.details ?? [];
		this.title = status === 404 ? "Not found" : status >= 500 ? "The server has a problem" : undefined;
	}
}

export class OfflineError extends Error {
	constructor() {
		super("The server cannot be reached. Check that it runs and that you are online.");
		this.title = "No connection";
	}
}

async function send(path, { method = "GET", body, headers = {}, accept = "application/json", signal } = {}) {
	let answer;
	try {
		answer = await fetch(path, {
			method,
			signal,
			credentials: "omit",
			redirect: "error",
			headers: {
				Accept: accept,
				Authorization: `Bearer ${token() ?? ""}`,
				...(body === undefined ? {} : { "Content-Type": "application/json" }),
				...headers,
			},
			body: body === undefined ? undefined : JSON.stringify(body),
		});
	} catch (error) {
		if (signal?.aborted) throw error;
		throw new OfflineError();
	}
	const date = Date.parse(answer.headers.get("Date"));
	if (date && Math.abs(date - Date.now() - skew) > 1500) skew = date - Date.now();
	if (answer.ok) return answer;
	const told = await answer.json().catch(() => ({}));
	const error = new ApiError(answer.status, told.error);
	if (answer.status === 401) {
		forgetToken();
		dispatchEvent(new CustomEvent("signed-out", { detail: error }));
	}
	throw error;
}

export const getJson = async (path, options) => (await send(path, options)).json();
export const getText = async (path, options) => (await send(path, options)).text();
export const post = (path, body = {}, options = {}) => getJson(path, { method: "POST", body, ...options });

export const one = (id, rest = "") => `explorations/${encodeURIComponent(id)}${rest}`;

/** Upload a file to where the API says; gives its id. */
export async function upload(file, signal) {
	const { file_id: id, upload: to } = await post("files", { name: file.name, size: file.size }, { signal });
	const fields = Object.entries(to.fields ?? {});
	const form = new FormData();
	for (const [name, value] of [...fields, ["file", file]]) form.append(name, value);
	const url = new URL(to.url, document.baseURI);
	const own = url.origin === location.origin ? { Authorization: `Bearer ${token()}` } : {};
	const answer = await fetch(url, {
		method: to.method, body: to.method === "POST" ? form : file, headers: own, credentials: "omit", signal,
	});
	if (!answer.ok) throw new ApiError(answer.status, { message: `${file.name} could not be uploaded.` });
	return id;
}

/** Frames of a server-sent stream. One that is cut off is not given: it comes again, by its number. */
export async function* frames(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let kept = "";
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const parts = (kept + value).split("\n\n");
		kept = parts.pop();
		for (const part of parts) {
			const frame = {};
			for (const line of part.split("\n")) {
				const at = line.indexOf(": ");
				if (at > 0) frame[line.slice(0, at)] = line.slice(at + 2);
			}
			yield frame;
		}
	}
}

const pause = (ms, signal) =>
	new Promise((done) => {
		const timer = setTimeout(done, ms);
		signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
	});

/** Every event after a number, once and in order, until it is over; through any loss of connection. */
export async function follow(id, after, { onEvent, onState, signal }) {
	let last = after;
	let failures = 0;
	while (!signal.aborted) {
		let wait = 500;
		try {
			const headers = last ? { "Last-Event-ID": String(last) } : {};
			const answer = await send(one(id, "/events"), { accept: "text/event-stream", headers, signal });
			onState("live");
			failures = 0;
			if (answer.status === 204) return last;
			for await (const frame of frames(answer.body)) {
				if (frame.retry) wait = Number(frame.retry);
				const number = Number(frame.id);
				if (!(number > last)) continue;
				last = number;
				onEvent(JSON.parse(frame.data));
			}
		} catch (error) {
			if (signal.aborted) return last;
			if (error instanceof ApiError && FINAL_ERRORS(error.status)) throw error;
			onState("reconnecting");
			wait = Math.min(8000, 400 * 2 ** failures++);
		}
		await pause(wait, signal);
	}
	return last;
}
