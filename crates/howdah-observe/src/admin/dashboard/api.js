// What the admin API reports, asked for every second.

/**
 * @typedef {object} Snapshot
 * @property {any} status
 * @property {any[]} requests
 * @property {any} activity
 */

const INTERVAL = 1000;
const BACKOFF_MAX = 15_000;
const TIMEOUT = 10_000;
/** Lines of the log that the page keeps. */
const LINES_MAX = 500;

/** The response to a request, or an error that says what is wrong. @param {string} method @param {string} target */
export async function ask(method, target, limit = TIMEOUT) {
	const signal = limit > 0 ? AbortSignal.timeout(limit) : undefined;
	const response = await fetch(target, { method, signal, cache: "no-store" });
	const body = await response.json().catch(() => null);
	if (!response.ok) {
		throw new Error(body?.error ?? `the server responded with ${response.status}`);
	}
	return body;
}

/** Asks again and again; not while the page is hidden or paused. */
export class Poller {
	/**
	 * @param {(snapshot: Snapshot) => void} onData
	 * @param {(problem: string|null, retry: number) => void} onProblem
	 */
	constructor(onData, onProblem) {
		this.onData = onData;
		this.onProblem = onProblem;
		this.isPaused = false;
		this.isAsking = false;
		/** PHP processes are asked what they do for their requests. */
		this.wantsDetail = false;
		this.failures = 0;
		this.last = 0;
		/** @type {any[]} */
		this.lines = [];
		/** @type {number|undefined} */
		this.timer = undefined;
		document.addEventListener("visibilitychange", () => this.again());
	}

	/** @param {boolean} isPaused */
	pause(isPaused) {
		this.isPaused = isPaused;
		this.again();
	}

	/** @param {boolean} isWanted */
	detail(isWanted) {
		const isNew = isWanted && !this.wantsDetail;
		this.wantsDetail = isWanted;
		if (isNew) {
			this.again();
		}
	}

	/** Asks at once, if it is to ask at all. */
	again() {
		clearTimeout(this.timer);
		if (!this.isPaused && !document.hidden && !this.isAsking) {
			this.look();
		}
	}

	async look() {
		this.isAsking = true;
		let wait = INTERVAL;
		try {
			const [status, requests, activity] = await Promise.all([
				ask("GET", "/status"),
				ask("GET", this.wantsDetail ? "/requests?detail" : "/requests"),
				ask("GET", `/activity?log=${this.last}`),
			]);
			this.failures = 0;
			// Paused meanwhile, the next look asks for the same lines.
			if (!this.isPaused) {
				this.keep(activity.log);
				this.onProblem(null, 0);
				this.onData({ status, requests: requests.requests, activity: { ...activity, lines: this.lines } });
			}
		} catch (error) {
			this.failures += 1;
			wait = Math.min(INTERVAL * 2 ** this.failures, BACKOFF_MAX);
			this.onProblem(error instanceof Error ? error.message : String(error), wait);
		}
		this.isAsking = false;
		if (!this.isPaused && !document.hidden) {
			this.timer = setTimeout(() => this.look(), wait);
		}
	}

	/** @param {any} log */
	keep(log) {
		if (!log) {
			return;
		}
		// Another server counts from the beginning.
		const known = log.last < this.last ? [] : this.lines;
		this.lines = [...known, ...log.lines].slice(-LINES_MAX);
		this.last = log.last;
	}
}
