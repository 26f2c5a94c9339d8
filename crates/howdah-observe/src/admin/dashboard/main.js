// The dashboard: tabs, orders to the server, and the poll that feeds the views.

import { Poller, ask } from "./api.js";
import { byId, fill, h, setText } from "./dom.js";
import { time } from "./format.js";
import * as views from "./views.js";

/** @type {[string, () => views.View][]} */
const TABS = [
	["Overview", views.overview],
	["Workers", views.workers],
	["Requests", views.requests],
	["Routes", views.routes],
	["Slow", views.slow],
	["Leaks", views.leaks],
	["Log", views.log],
	["Server", views.server],
	["Hosts", views.hosts],
	["Config", views.config],
];

/** @type {Map<string, views.View>} */
const built = new Map();
/** @type {import("./api.js").Snapshot|undefined} */
let newest;
/** @type {views.View|undefined} */
let shown;

const buttons = TABS.map(([name, build]) => {
	const button = h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view" }, name, h("small"));
	button.addEventListener("click", () => {
		location.hash = name.toLowerCase();
	});
	return { name, build, button };
});

function show() {
	const wanted = location.hash.slice(1);
	const tab = buttons.find(({ name }) => name.toLowerCase() === wanted) ?? buttons[0];
	for (const { button } of buttons) {
		const isChosen = button === tab.button;
		button.setAttribute("aria-selected", String(isChosen));
		button.tabIndex = isChosen ? 0 : -1;
	}
	shown = built.get(tab.name) ?? tab.build();
	built.set(tab.name, shown);
	byId("view").setAttribute("aria-labelledby", tab.button.id);
	fill(byId("view"), shown.element);
	if (newest) {
		shown.update(newest);
	}
	poller.detail(tab.name === "Requests");
}

/** @param {import("./api.js").Snapshot} snapshot */
function update(snapshot) {
	newest = snapshot;
	const { status, requests, activity } = snapshot;
	setText(byId("about"), `${status.version} · PHP ${status.php} · process ${status.pid}`);
	const reloads = status.pools.some((/** @type {any} */ pool) => pool.reloading);
	const ill = status.pools.some((/** @type {any} */ pool) => pool.failure);
	say(status.stopping ? "stopping" : reloads ? "reloading" : ill ? "a pool is not booted" : "live", status.stopping || ill ? "bad" : reloads ? "warn" : "good");
	const leaks = status.pools.reduce((/** @type {number} */ all, /** @type {any} */ pool) => all + pool.leaks.findings.length, 0);
	const numbers = /** @type {Record<string, number>} */ ({ Requests: requests.length, Routes: activity.routes.length, Slow: activity.slow?.length ?? 0, Leaks: leaks });
	for (const { name, button } of buttons) {
		setText(/** @type {Element} */ (button.lastElementChild), numbers[name] ? String(numbers[name]) : "");
	}
	shown?.update(snapshot);
}

/** @param {string} text @param {string} kind */
function say(text, kind) {
	setText(byId("state"), text);
	byId("state").className = kind;
}

/** @param {string|null} problem @param {number} retry */
function tell(problem, retry) {
	const element = byId("problem");
	element.hidden = problem === null;
	if (problem !== null) {
		setText(element, `No answer: ${problem}. Next attempt in ${time(retry)}.`);
		say("not connected", "bad");
	}
}

const poller = new Poller(update, tell);

byId("pause").addEventListener("click", () => {
	const isPaused = !poller.isPaused;
	byId("pause").setAttribute("aria-pressed", String(isPaused));
	setText(byId("pause"), isPaused ? "Continue" : "Pause");
	if (isPaused) {
		say("paused", "warn");
	}
	poller.pause(isPaused);
});

/** Opens a dialog with the pools to choose from. @param {string} id @param {HTMLSelectElement} select @param {HTMLElement[]} first */
function open(id, select, ...first) {
	const names = newest?.status.pools.map((/** @type {any} */ pool) => pool.name) ?? [];
	fill(select, ...first, ...names.map((/** @type {string} */ name) => h("option", { value: name }, `pool ${name}`)));
	byId(id).showModal();
}

for (const dialog of document.querySelectorAll("dialog")) {
	dialog.querySelector("[value=cancel]")?.addEventListener("click", () => dialog.close());
}

byId("reload").addEventListener("click", () => {
	open("ask-reload", byId("reload-pool"), h("option", { value: "" }, "the configuration and all pools"));
});

byId("ask-reload").querySelector("[value=reload]").addEventListener("click", async () => {
	const pool = byId("reload-pool").value;
	byId("ask-reload").close();
	byId("reload").disabled = true;
	say("reloading", "warn");
	try {
		const target = pool === "" ? "/reload" : `/reload?pool=${encodeURIComponent(pool)}`;
		const done = await ask("POST", target, 0);
		const names = done.pools.map((/** @type {any} */ own) => `${own.pool} (generation ${own.generation})`);
		note(`Reloaded ${names.join(", ") || "the configuration"}.`, "good");
	} catch (error) {
		note(`Not reloaded: ${error instanceof Error ? error.message : error}`, "bad");
	}
	byId("reload").disabled = false;
	poller.again();
});

byId("profile").addEventListener("click", () => open("ask-profile", byId("profile-pool")));

byId("profile-form").addEventListener("submit", () => {
	const seconds = Math.min(60, Math.max(1, Number(byId("profile-seconds").value) || 10));
	const query = new URLSearchParams({ seconds: String(seconds), format: "svg" });
	const pool = byId("profile-pool").value;
	if (pool !== "") {
		query.set("pool", pool);
	}
	byId("profile-form").action = `/profile?${query}`;
	byId("ask-profile").close();
});

/** Says what became of an order, for some seconds. @param {string} text @param {string} kind */
function note(text, kind) {
	const element = h("p", { class: `note ${kind}`, role: "status" }, text);
	const close = h("button", { type: "button", "aria-label": "Close" }, "×");
	close.addEventListener("click", () => element.remove());
	element.append(close);
	document.body.append(element);
	if (kind === "good") {
		setTimeout(() => element.remove(), 6000);
	}
}

fill(byId("tabs"), ...buttons.map(({ button }) => button));
byId("tabs").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
	const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
	if (step) {
		const index = buttons.findIndex(({ button }) => button.tabIndex === 0);
		const next = buttons[(index + step + buttons.length) % buttons.length];
		next.button.click();
		next.button.focus();
	}
});
addEventListener("hashchange", show);
show();
poller.again();
