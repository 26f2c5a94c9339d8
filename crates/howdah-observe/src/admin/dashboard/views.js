// The views of the dashboard. Each is built once and updated with every snapshot.

import { ask } from "./api.js";
import { BarChart, LineChart, stack } from "./charts.js";
import { fill, h, setText } from "./dom.js";
import { clock, count, micros, percent, rate, size, time } from "./format.js";
import { Table } from "./table.js";

/** @typedef {import("./api.js").Snapshot} Snapshot */
/** @typedef {{element: HTMLElement, update: (snapshot: Snapshot) => void}} View */

const ENDED = [
	["crashed", "Crashed"],
	["fatal", "Fatal error"],
	["killed", "Killed for a limit"],
	["recycled", "Recycled"],
	["scaled_down", "Scaled down"],
];
const REFUSED = [
	["queue_full", "Queue full"],
	["wait_timeout", "Waited too long"],
	["not_booted", "Not booted"],
	["quarantined", "Quarantined"],
];

/** All pools, those of previous configurations too. @param {Snapshot} snapshot @returns {any[]} */
function pools({ status }) {
	return [...status.pools, ...(status.leaving ?? []).map((/** @type {any} */ pool) => ({ ...pool, name: `${pool.name} (leaving)` }))];
}

/** @param {any} items @param {(item: any) => number} value */
const sum = (items, value) => items.reduce((/** @type {number} */ all, /** @type {any} */ item) => all + value(item), 0);
/** @param {string} title @param {...any} children */
const card = (title, ...children) => h("section", { class: "card" }, h("h2", {}, title), ...children);

/** `starting`, `idle`, `busy`, `retiring` or `stopping`. @param {any} workers */
function states(workers) {
	return ["busy", "idle", "starting", "retiring", "stopping"].map((state) => {
		const value = workers.filter((/** @type {any} */ worker) => worker.state === state).length;
		return { kind: state, value, label: `${value} ${state}` };
	});
}

/** @returns {View} */
export function overview() {
	const figures = ["Requests/s", "p95, last minute", "5xx, last minute", "Busy workers", "Queue", "Memory of workers"].map((label) => ({
		label,
		value: h("b", {}, "–"),
		note: h("small"),
	}));
	const rates = new LineChart("Requests per second", [
		{ label: "all", kind: "c1", value: (second) => second.requests, area: true },
		{ label: "4xx", kind: "c3", value: (second) => second.client_errors },
		{ label: "5xx", kind: "c4", value: (second) => second.server_errors },
	], (value) => count(value));
	const times = new LineChart("Response time", [
		{ label: "p50", kind: "c2", value: (second) => second.p50_us },
		{ label: "p95", kind: "c1", value: (second) => second.p95_us },
		{ label: "p99", kind: "c3", value: (second) => second.p99_us },
	], (value) => (value === 0 ? "0" : micros(Math.round(value))));
	const load = new LineChart("Workers and queue", [
		{ label: "busy", kind: "c1", value: (second) => second.busy, area: true },
		{ label: "queue", kind: "c3", value: (second) => second.queue },
	], (value) => count(value));
	const bars = new BarChart("Response time in ms, last minute");
	const grid = h("div", { class: "grids" });
	const poolTable = new Table([
		{ label: "Pool", text: (pool) => pool.name },
		{ label: "Mode", text: (pool) => pool.mode, wide: true },
		{ label: "Workers", text: (pool) => count(pool.workers.length), by: (pool) => pool.workers.length, number: true },
		{ label: "Busy", text: (pool) => count(pool.busy), by: (pool) => pool.busy, number: true },
		{ label: "Queue", text: (pool) => count(pool.queue), by: (pool) => pool.queue, number: true },
		{ label: "503", text: (pool) => count(refusals(pool)), by: refusals, number: true, wide: true },
		{ label: "Restarts", text: (pool) => count(failures(pool)), by: failures, number: true, wide: true },
		{ label: "Memory", text: (pool) => size(memory(pool)), by: memory, number: true },
		{ label: "State", text: poolState, kind: (pool) => (pool.failure ? "bad" : null) },
	], { empty: "No PHP pools.", stacked: true });
	const longest = new Table([
		{ label: "Age", text: (request) => time(request.age_ms), number: true },
		{ label: "Phase", text: (request) => request.phase },
		{ label: "Request", text: (request) => `${request.method} ${request.uri}`, long: true },
	], { empty: "No request is in flight.", most: 5, stacked: true });
	const routes = new Table([
		{ label: "Route", text: (route) => route.route, long: true },
		{ label: "Requests/s", text: (route) => rate(route.per_second), number: true },
		{ label: "p95", text: (route) => micros(route.p95_us), number: true },
	], { empty: "No request has ended since the dashboard was opened.", most: 5, stacked: true });
	const warnings = h("ol", { class: "log" });
	const element = h("div", { class: "overview" },
		h("div", { class: "figures" }, ...figures.map(({ label, value, note }) => h("div", { class: "card figure" }, h("h2", {}, label), value, note))),
		h("div", { class: "charts" }, rates.element, times.element, load.element, bars.element),
		card("Workers", grid),
		card("Pools", poolTable.element),
		h("div", { class: "pair" }, card("Routes that take the most time", routes.element), card("Requests that take the longest", longest.element)),
		card("Latest warnings and errors", warnings),
	);
	/** @param {Snapshot} snapshot */
	const update = (snapshot) => {
		const { status, activity, requests } = snapshot;
		const { seconds, latency } = activity;
		const all = pools(snapshot);
		const workers = all.flatMap((pool) => pool.workers);
		const last = seconds.at(-1);
		const minute = seconds.slice(-60);
		const errors = sum(minute, (second) => second.server_errors);
		const busy = sum(all, (pool) => pool.busy);
		const set = (/** @type {number} */ index, /** @type {string} */ value, /** @type {string} */ note, kind = "") => {
			setText(figures[index].value, value);
			setText(figures[index].note, note);
			figures[index].value.className = kind;
		};
		set(0, last ? count(last.requests) : "–", `${count(status.front.requests)} since the start`);
		set(1, latency.requests > 0 ? micros(latency.p95_us) : "–", latency.requests > 0 ? `p50 ${micros(latency.p50_us)}, p99 ${micros(latency.p99_us)}` : "no request yet");
		set(2, count(errors), `${percent(errors, latency.requests)} of ${count(latency.requests)} requests`, errors > 0 ? "bad" : "");
		set(3, `${count(busy)} of ${count(workers.length)}`, `${count(status.front.in_flight)} in flight, ${count(status.front.connections)} connections`);
		const queue = sum(all, (pool) => pool.queue);
		set(4, count(queue), `${count(sum(all, refusals))} refused with 503`, queue > 0 ? "warn" : "");
		set(5, size(sum(all, memory)), workers.length > 0 ? `largest ${size(Math.max(...workers.map((worker) => worker.memory)))}` : "");
		rates.update(seconds);
		times.update(seconds);
		load.update(seconds);
		bars.update(bounds(latency), latency.requests > 0 ? `p50 ${micros(latency.p50_us)} · p95 ${micros(latency.p95_us)} · p99 ${micros(latency.p99_us)} · longest ${micros(latency.largest_us)}` : "No request has ended.");
		fill(grid, ...all.map(workerGrid));
		poolTable.update(all);
		routes.update(activity.routes);
		longest.update(requests);
		const bad = activity.lines.filter((/** @type {any} */ line) => line.level === "warn" || line.level === "error");
		fill(warnings, ...bad.slice(-5).reverse().map(logLine));
		if (bad.length === 0) {
			fill(warnings, h("li", { class: "empty" }, activity.log ? "None." : "The log is not shown over TCP, since PHP runs as a different user."));
		}
	};
	return { element, update };
}

/** @param {any} pool */
const memory = (pool) => sum(pool.workers, (worker) => worker.memory);
/** @param {any} pool */
const refusals = (pool) => sum(Object.values(pool.refused), (number) => number);
/** @param {any} pool */
const failures = (pool) => pool.counters.crashed + pool.counters.fatal + pool.counters.killed + pool.counters.recycled;

/** @param {any} pool */
function poolState(pool) {
	if (pool.failure) {
		return `not booted: ${pool.failure.split("\n")[0]}`;
	}
	const fallback = pool.sequential > 0 ? ", one request at a time" : "";
	return `${pool.reloading ? "reloading" : `generation ${pool.generation}`}${fallback}`;
}

/** @param {any} latency */
function bounds(latency) {
	const short = (/** @type {number} */ us) => (us < 1_000_000 ? `${us / 1000}` : `${us / 1_000_000}s`);
	return latency.counts.map((/** @type {number} */ number, /** @type {number} */ index) => {
		const bound = latency.bounds_us[index];
		const label = bound === undefined ? "more" : short(bound);
		const kind = (bound ?? Infinity) <= 100_000 ? "c2" : (bound ?? Infinity) <= 1_000_000 ? "c3" : "c4";
		const title = bound === undefined ? "more than that" : `up to ${micros(bound)}`;
		return { label, count: number, kind, title: `${title}: ${count(number)} requests` };
	});
}

/** @param {any} pool */
function workerGrid(pool) {
	const squares = pool.workers.map((/** @type {any} */ worker) => {
		const doing = worker.request ? `, request for ${time(worker.request.since_ms)}` : "";
		return h("i", { class: worker.state, title: `${pool.name} ${worker.place}: ${worker.state}${doing}, ${size(worker.memory)}, ${count(worker.requests)} requests` });
	});
	const legend = states(pool.workers).filter((state) => state.value > 0);
	return h("div", {},
		h("p", { class: "legend" }, h("b", {}, pool.name), ...legend.map((state) => h("span", {}, h("i", { class: `key ${state.kind}` }), state.label))),
		h("div", { class: "squares" }, ...squares));
}

/** @returns {View} */
export function workers() {
	const table = new Table([
		{ label: "Pool", text: (worker) => worker.pool },
		{ label: "Place", text: (worker) => String(worker.place), by: (worker) => worker.place, number: true },
		{ label: "PID", text: (worker) => String(worker.pid), by: (worker) => worker.pid, number: true, wide: true },
		{ label: "State", text: (worker) => worker.state, kind: (worker) => `state ${worker.state}` },
		{ label: "In hand", text: (worker) => `${worker.in_flight}/${worker.concurrency}`, by: (worker) => worker.in_flight, number: true, wide: true },
		{ label: "Requests", text: (worker) => count(worker.requests), by: (worker) => worker.requests, number: true, wide: true },
		{ label: "Memory", text: (worker) => size(worker.memory), by: (worker) => worker.memory, number: true },
		{ label: "Age", text: (worker) => time(worker.age_ms), by: (worker) => worker.age_ms, number: true, wide: true },
		{ label: "Loop lag", text: (worker) => (worker.concurrency > 1 ? time(worker.longest_hold_ms) : "–"), by: (worker) => worker.longest_hold_ms, number: true, wide: true, kind: (worker) => (worker.longest_hold_ms >= 100 ? "warn" : null) },
		{ label: "For", text: (worker) => (worker.request ? time(worker.request.since_ms) : ""), by: (worker) => worker.request?.since_ms ?? -1, number: true },
		{ label: "Request", text: (worker) => worker.doing, long: true },
	], { empty: "No workers.", filter: true, sort: 9, down: true });
	const note = h("p", { class: "muted" }, "Memory is that of PHP's allocator after the last request. Loop lag is the longest time, in the last minute, that one request of a worker with concurrency kept its others waiting.");
	return {
		element: h("div", {}, card("Workers", table.element, note)),
		update: (snapshot) => {
			const targets = new Map(snapshot.requests.map((request) => [request.id, `${request.method} ${request.uri}`]));
			table.update(pools(snapshot).flatMap((pool) => pool.workers.map((/** @type {any} */ worker) => ({
				...worker,
				pool: pool.name,
				concurrency: pool.concurrency,
				doing: worker.request ? (targets.get(worker.request.id) ?? worker.request.id) : "",
			}))));
		},
	};
}

/** What PHP does for a request, and where; empty if that is not known. @param {any} request */
const doing = ({ wait, top }) => [wait?.text, top].filter(Boolean).join(": ");

/** Where a request is, and whether its client has left it. @param {any} request */
const phase = ({ phase, client }) => (client === "waiting" ? phase : `${phase}, ${client}`);

/** @returns {View} */
export function requests() {
	const table = new Table([
		{ label: "Age", text: (request) => time(request.age_ms), by: (request) => request.age_ms, number: true },
		{ label: "Phase", text: phase, kind: (request) => `state ${request.phase}` },
		{ label: "Pool", text: (request) => request.pool ?? "–", wide: true },
		{ label: "Worker", text: (request) => String(request.worker ?? "–"), by: (request) => request.worker ?? -1, number: true, wide: true },
		{ label: "Client", text: (request) => request.remote, wide: true },
		{ label: "Host", text: (request) => request.host, wide: true },
		{ label: "Memory", text: (request) => (request.memory ? size(request.memory) : "–"), by: (request) => request.memory ?? -1, number: true },
		{ label: "Request", text: (request) => `${request.method} ${request.uri}`, long: true },
		{ label: "Route", text: (request) => request.route ?? "–", long: true },
		{ label: "Does", text: doing, long: true, wide: true },
		{ label: "ID", text: (request) => request.id, wide: true },
	], { empty: "No request is in flight.", filter: true, sort: 0, down: true, stacked: true });
	return {
		element: card("Requests in flight", table.element),
		update: (snapshot) => table.update(snapshot.requests),
	};
}

/** The columns of what requests are grouped by, after its name. @param {any[]} first */
function groupTable(...first) {
	const number = (/** @type {string} */ label, /** @type {string} */ key, /** @type {(value: number) => string} */ text, wide = false, kind = "") => ({
		label,
		text: (/** @type {any} */ group) => text(group[key]),
		by: (/** @type {any} */ group) => group[key],
		number: true,
		wide,
		kind: (/** @type {any} */ group) => (kind && group[key] > 0 ? kind : null),
	});
	const bytes = (/** @type {string} */ label, /** @type {string} */ key) => ({
		label,
		text: (/** @type {any} */ group) => (group.memory ? size(group.memory[key]) : "–"),
		by: (/** @type {any} */ group) => group.memory?.[key] ?? -1,
		number: true,
		wide: true,
	});
	const columns = [
		...first,
		number("Requests", "requests", count, true),
		number("/s", "per_second", rate),
		number("p50", "p50_us", micros, true),
		number("p95", "p95_us", micros),
		number("p99", "p99_us", micros, true),
		number("Longest", "largest_us", micros, true),
		number("Total", "total_us", micros, true),
		number("Queue", "queue_mean_us", micros, true),
		number("PHP", "php_mean_us", micros, true),
		number("4xx", "client_errors", count, true, "warn"),
		number("5xx", "server_errors", count, false, "bad"),
		bytes("Memory", "mean"),
		bytes("Peak", "largest"),
		number("Size", "sent_mean", size, true),
	];
	const sort = columns.findIndex(({ label }) => label === "Total");
	return new Table(columns, { empty: "No request has ended since the dashboard was opened.", filter: true, sort, down: true });
}

/** @returns {View} */
export function routes() {
	const table = groupTable(
		{ label: "Route", text: (/** @type {any} */ route) => route.route, long: true },
		{ label: "Pool", text: (/** @type {any} */ route) => route.pool ?? "–", wide: true },
	);
	const note = h("p", { class: "muted" });
	return {
		element: card("Routes, last five minutes", table.element, note),
		update: ({ activity }) => {
			const missed = activity.missed > 0 ? ` ${count(activity.missed)} more requests arrived than can be counted by route.` : "";
			setText(note, `Requests of the last ${time(activity.collected_s * 1000)}; they are counted while the dashboard is open. Queue, PHP, memory and size are means. Memory is what PHP's allocator used at most during a request, and peak the largest of these.${missed}`);
			table.update(activity.routes);
		},
	};
}

/** @returns {View} */
export function hosts() {
	const table = groupTable({ label: "Host", text: (/** @type {any} */ host) => host.host, long: true });
	return {
		element: card("Hosts, last five minutes", table.element),
		update: ({ activity }) => table.update(activity.hosts ?? []),
	};
}

/** @returns {View} */
export function slow() {
	const list = h("div", { class: "slow" });
	/** @type {Map<string, HTMLDetailsElement>} */
	const known = new Map();
	return {
		element: card("Slow requests", list),
		update: ({ activity }) => {
			const all = activity.slow ?? [];
			const isFirst = known.size === 0;
			/** @type {Map<string, number>} */
			const runs = new Map();
			// The newest is first. A request that runs again has the same id.
			for (const { id } of all) {
				runs.set(id, (runs.get(id) ?? 0) + 1);
			}
			const elements = all.map((/** @type {any} */ request, /** @type {number} */ index) => {
				const run = runs.get(request.id) ?? 1;
				runs.set(request.id, run - 1);
				const key = `${request.id} ${run}`;
				const element = known.get(key) ?? /** @type {HTMLDetailsElement} */ (h("details", { open: isFirst && index === 0 }));
				const drawn = `${request.age_ms} ${request.outcome} ${request.places.length}`;
				if (element.dataset.drawn !== drawn) {
					element.dataset.drawn = drawn;
					fill(element, ...slowRequest(request));
				}
				return [key, element];
			});
			known.clear();
			elements.forEach(([id, element]) => known.set(id, element));
			const shown = elements.map(([, element]) => element);
			// Moved elements would lose the focus.
			if (shown.length === 0 || shown.some((element, index) => list.children[index] !== element) || list.children.length !== shown.length) {
				const why = activity.log ? "No request was slow. Set slow_log in the Caddyfile to sample slow requests." : "Not shown over TCP, since PHP runs as a different user.";
				fill(list, ...(shown.length > 0 ? shown : [h("p", { class: "empty" }, why)]));
			}
		},
	};
}

/** How a slow request ended, unless it simply finished. @param {any} request */
const outcome = ({ outcome, client_disconnected, repeated }) => [
	outcome && outcome !== "finished" ? outcome.replaceAll("_", " ") : "",
	client_disconnected ? "client disconnected" : "",
	repeated ? "runs again" : "",
].filter(Boolean).join(", ");

/** @param {any} request */
function slowRequest(request) {
	const when = request.ended_ms === null ? "runs" : `ended ${clock(request.ended_ms)}`;
	const how = outcome(request);
	const places = request.places.map((/** @type {any} */ place) => {
		const bar = h("i");
		const whole = Math.max(1, request.age_ms);
		bar.style.marginLeft = `${Math.min(99, (place.from_ms / whole) * 100)}%`;
		bar.style.width = `${Math.max(1, ((place.to_ms - place.from_ms) / whole) * 100)}%`;
		const from = place.samples > 1 ? `${time(place.from_ms)} to ${time(place.to_ms)}` : `at ${time(place.from_ms)}`;
		return h("li", {}, h("code", {}, place.place), h("small", {}, `${from}, ${place.samples} ${place.samples === 1 ? "sample" : "samples"}`), h("span", { class: "track" }, bar));
	});
	return [
		h("summary", {}, h("b", {}, time(request.age_ms)), h("code", {}, request.title || "(no sample yet)"), how ? h("span", { class: "warn" }, how) : null, h("small", {}, `${request.pool}, ${when}, ${request.id}`)),
		h("ol", {}, ...places),
	];
}

/** The end of the path says most. @param {any} leak */
function declared({ path, member, file, line }) {
	const place = file ? `${file.split("/").slice(-2).join("/")}:${line ?? ""}` : "";
	return [member === path ? "" : member, place].filter(Boolean).join(" ");
}

/** @returns {View} */
export function leaks() {
	const table = new Table([
		{ label: "Where", text: (leak) => leak.path, long: true },
		{ label: "Kind", text: (leak) => leak.kind },
		{ label: "Why", text: (leak) => leak.why },
		{ label: "Value", text: (leak) => leak.value, wide: true },
		{ label: "Size", text: (leak) => (leak.count === undefined ? "" : `${leak.count_before ?? "–"} → ${leak.count}`), by: (leak) => leak.count ?? -1, number: true, wide: true },
		{ label: "Declared", text: declared, long: true, wide: true },
		{ label: "Request", text: (leak) => `${leak.method} ${leak.uri}`, long: true },
		{ label: "Pool", text: (leak) => leak.pool, wide: true },
	], { empty: "No leak was found. Set detect_leaks in a worker block, or start with --detect-leaks, to look for state that requests leave behind.", filter: true, stacked: true });
	return {
		element: card("State that requests left behind", table.element),
		update: (snapshot) => table.update(pools(snapshot).flatMap((pool) => pool.leaks.findings.map((/** @type {any} */ leak) => ({ ...leak, pool: pool.name })))),
	};
}

/** @param {any} line */
function logLine(line) {
	const fields = Object.entries(line.fields).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
	return h("li", { class: line.level },
		h("time", {}, clock(line.ts * 1000)), h("b", {}, line.level), h("span", { class: "msg" }, line.msg), h("small", {}, `${line.logger} ${fields.join(" ")}`));
}

/** @returns {View} */
export function log() {
	const level = /** @type {HTMLSelectElement} */ (h("select", { name: "level", "aria-label": "Level" },
		h("option", { value: "" }, "All levels"), h("option", { value: "info" }, "info and above"), h("option", { value: "warn" }, "warn and above"), h("option", { value: "error" }, "error")));
	const filter = /** @type {HTMLInputElement} */ (h("input", { type: "search", name: "filter", placeholder: "Filter", "aria-label": "Filter" }));
	const list = h("ol", { class: "log whole", tabindex: "0" });
	const order = ["debug", "info", "warn", "error"];
	/** @type {any[]} */
	let lines = [];
	let drawn = "";
	let why = "";
	const draw = () => {
		const wanted = filter.value.trim().toLowerCase();
		const least = order.indexOf(level.value);
		const shown = lines.filter((line) => order.indexOf(line.level) >= least && (wanted === "" || JSON.stringify(line).toLowerCase().includes(wanted)));
		const key = `${level.value} ${wanted} ${shown.at(-1)?.number} ${shown.length}`;
		if (key === drawn) {
			return;
		}
		drawn = key;
		const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
		fill(list, ...(shown.length > 0 ? shown.map(logLine) : [h("li", { class: "empty" }, why)]));
		if (follows) {
			list.scrollTop = list.scrollHeight;
		}
	};
	level.addEventListener("change", draw);
	filter.addEventListener("input", draw);
	return {
		element: card("Log", h("div", { class: "bar" }, filter, level), list),
		update: ({ activity }) => {
			lines = activity.lines;
			why = activity.log ? "No line." : "The log is not shown over TCP, since PHP runs as a different user. Use a Unix socket and howdah top.";
			draw();
		},
	};
}

/** @param {[string, string|Node][]} rows */
const facts = (rows) => h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

/** How long a certificate is valid, and whether it should have been renewed. @param {any} certificate */
const expiry = ({ left, overdue }) => (left > 0 ? `${time(left)}${overdue ? ", renewal overdue" : ""}` : "expired");

/** @returns {View} */
export function server() {
	const opcache = h("div");
	const configuration = h("div");
	const restarts = new Table([
		{ label: "Pool", text: (pool) => pool.name },
		{ label: "Started", text: (pool) => count(pool.counters.spawned), number: true },
		...ENDED.map(([key, label]) => ({ label, text: (/** @type {any} */ pool) => count(pool.counters[key]), number: true, kind: (/** @type {any} */ pool) => (key !== "recycled" && key !== "scaled_down" && pool.counters[key] > 0 ? "bad" : null) })),
		{ label: "Failed boots", text: (pool) => count(pool.counters.boots_failed), number: true },
		{ label: "Reloads", text: (pool) => count(pool.counters.reloads), number: true },
	], { empty: "No PHP pools.", stacked: true });
	const refused = new Table([
		{ label: "Pool", text: (pool) => pool.name },
		...REFUSED.map(([key, label]) => ({ label, text: (/** @type {any} */ pool) => count(pool.refused[key]), number: true, kind: (/** @type {any} */ pool) => (pool.refused[key] > 0 ? "warn" : null) })),
	], { empty: "No PHP pools.", stacked: true });
	const coroutines = new Table([
		{ label: "Pool", text: (pool) => pool.name },
		{ label: "Requests in hand", text: (pool) => `${sum(pool.workers, (worker) => worker.in_flight)} of ${pool.workers.length * pool.concurrency}`, number: true },
		{ label: "Longest loop lag", text: (pool) => time(Math.max(0, ...pool.workers.map((/** @type {any} */ worker) => worker.longest_hold_ms))), number: true },
		{ label: "State", text: (pool) => (pool.sequential > 0 ? `${pool.sequential} workers run one request at a time: ${pool.sequential_cause ?? "the log has the cause"}` : "concurrent"), long: true },
	], { empty: "No pool has concurrency.", stacked: true });
	const crashes = new Table([
		{ label: "Route", text: (crash) => crash.route, long: true },
		{ label: "Crashes", text: (crash) => count(crash.count), by: (crash) => crash.count, number: true },
		{ label: "Quarantine", text: (crash) => (crash.quarantine_ms === null ? "" : `for ${time(crash.quarantine_ms)}`) },
	], { empty: "No process has crashed.", sort: 1, down: true });
	const certificates = new Table([
		{ label: "Host", text: (certificate) => certificate.host },
		{ label: "Expires in", text: expiry, by: (certificate) => certificate.left, number: true, kind: (certificate) => (certificate.overdue ? "bad" : null) },
		{ label: "On", text: (certificate) => new Date(certificate.until * 1000).toISOString().slice(0, 10), wide: true },
	], { empty: "No host has a certificate.", sort: 1 });
	const upstreams = new Table([
		{ label: "Upstream", text: (upstream) => upstream.address },
		{ label: "Handler", text: (upstream) => upstream.handler, wide: true },
		{ label: "State", text: (upstream) => (upstream.healthy ? "healthy" : "unhealthy"), kind: (upstream) => (upstream.healthy ? "good" : "bad") },
		{ label: "In flight", text: (upstream) => count(upstream.in_flight), number: true },
		{ label: "Failures", text: (upstream) => count(upstream.failures), number: true },
	], { empty: "No site has upstreams, or none was used yet.", stacked: true });
	const element = h("div", { class: "server" },
		h("div", { class: "pair" }, card("OPcache", opcache), card("Configuration", configuration)),
		card("Restarts by reason", restarts.element),
		h("div", { class: "pair" }, card("Refused with 503", refused.element), card("Coroutines", coroutines.element)),
		h("div", { class: "pair" }, card("Certificates", certificates.element), card("Upstreams", upstreams.element)),
		card("Crashes by route", crashes.element),
	);
	return {
		element,
		update: (snapshot) => {
			const { status, activity } = snapshot;
			const all = pools(snapshot);
			fill(opcache, opcacheFacts(status.opcache));
			const { last_successful: ok, last_success: at } = activity.configuration;
			fill(configuration, facts([
				["Server", `Howdah ${status.version}, process ${status.pid}`],
				["PHP", status.php],
				["Last reload", ok ? "accepted" : "rejected: the log has the cause"],
				["In force since", at > 0 ? new Date(at * 1000).toLocaleString("en-GB") : "the start"],
				["PHP restarts", count(status.root_restarts ?? 0)],
			]));
			restarts.update(all);
			refused.update(all);
			coroutines.update(all.filter((pool) => pool.concurrency > 1));
			crashes.update(all.flatMap((pool) => pool.crashes));
			certificates.update(activity.certificates.map((/** @type {any} */ certificate) => ({
				...certificate,
				left: certificate.until * 1000 - activity.now_ms,
				overdue: certificate.renewal_deadline * 1000 <= activity.now_ms,
			})));
			upstreams.update(activity.upstreams ?? []);
		},
	};
}

/** @param {any} opcache */
function opcacheFacts(opcache) {
	if (!opcache) {
		return h("p", { class: "empty" }, "OPcache is off.");
	}
	const parts = [["used", "c1", opcache.used], ["wasted", "c4", opcache.wasted], ["free", "free", opcache.free]];
	return h("div", {},
		stack(parts.map(([label, kind, value]) => ({ kind, value, label: `${size(value)} ${label}` }))),
		facts([
			["Memory", parts.map(([label, , value]) => `${size(value)} ${label}`).join(", ")],
			["Hits", opcache.hits + opcache.misses > 0 ? percent(opcache.hits, opcache.hits + opcache.misses) : "–"],
			["Scripts", count(opcache.scripts)],
			["Keys", `${count(opcache.keys)} of ${count(opcache.keys_max)}`],
		]),
		...opcache.advice.map((/** @type {string} */ line) => h("p", { class: "warn" }, line)));
}

/** @returns {View} */
export function config() {
	const text = h("pre", { class: "config", tabindex: "0" });
	const again = h("button", { type: "button" }, "Read again");
	const read = async () => {
		try {
			setText(text, JSON.stringify(await ask("GET", "/config/"), null, 2));
		} catch (error) {
			setText(text, error instanceof Error ? error.message : String(error));
		}
	};
	again.addEventListener("click", read);
	let since = "";
	return {
		element: card("Configuration in force", h("div", { class: "bar" }, again), text),
		update: ({ status, activity }) => {
			// After a reload, or a restart, it is a new one.
			const now = `${status.pid} ${activity.configuration.last_success}`;
			if (now !== since) {
				since = now;
				read();
			}
		},
	};
}
