// Charts as drawings: lines over the last two minutes, bars, and squares for workers.

import { fill, h, setText, svg } from "./dom.js";

/** Seconds from the left to the right edge. */
const SPAN = 120;
const HEIGHT = 132;
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 6, 8, 20];

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} kind
 * @property {(second: any) => number} value
 * @property {boolean} [area]
 */

/** Values of the last seconds as lines. */
export class LineChart {
	/** @param {string} title @param {Line[]} lines @param {(value: number) => string} unit */
	constructor(title, lines, unit) {
		this.lines = lines;
		this.unit = unit;
		this.values = lines.map(() => h("b"));
		const legend = lines.map((line, index) =>
			h("span", {}, h("i", { class: `key ${line.kind}` }), `${line.label} `, this.values[index]),
		);
		this.drawing = svg("svg", { role: "img", "aria-label": title, height: HEIGHT });
		this.element = h("section", { class: "card" }, h("h2", {}, title), h("p", { class: "legend" }, ...legend), this.drawing);
		/** @type {any[]} */
		this.seconds = [];
		new ResizeObserver(() => this.draw()).observe(this.element);
	}

	/** @param {any[]} seconds */
	update(seconds) {
		this.seconds = seconds;
		const last = seconds.at(-1);
		this.lines.forEach((line, index) => {
			setText(this.values[index], last ? this.unit(line.value(last)) : "–");
		});
		this.draw();
	}

	draw() {
		const width = this.drawing.clientWidth;
		if (width === 0) {
			return;
		}
		this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
		const last = this.seconds.at(-1)?.at ?? 0;
		const values = this.seconds.flatMap((second) => this.lines.map((line) => line.value(second)));
		// Half of it is shown too: of counts, no half.
		const top = ceiling(Math.max(2, ...values));
		const x = (/** @type {any} */ second) => LEFT + ((SPAN - last + second.at) / SPAN) * (width - LEFT - RIGHT);
		const y = (/** @type {number} */ value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
		const marks = [0, top / 2, top].map((value) => [
			svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
			svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, this.unit(value)),
		]);
		const times = [SPAN, SPAN / 2, 0].map((ago) => {
			const at = LEFT + ((SPAN - ago) / SPAN) * (width - LEFT - RIGHT);
			const anchor = ago === SPAN ? "start" : ago === 0 ? "end" : "middle";
			return svg("text", { x: at, y: HEIGHT - 4, "text-anchor": anchor }, ago === 0 ? "now" : `−${ago} s`);
		});
		const shown = this.seconds.filter((second) => second.at > last - SPAN);
		const drawn = this.lines.flatMap((line) => {
			const points = shown.map((second) => `${x(second).toFixed(1)},${y(line.value(second)).toFixed(1)}`);
			if (points.length === 0) {
				return [];
			}
			const [first, end] = [x(shown[0]).toFixed(1), x(shown.at(-1)).toFixed(1)];
			const area = `${first},${y(0)} ${points.join(" ")} ${end},${y(0)}`;
			return [
				line.area ? svg("polygon", { class: `area ${line.kind}`, points: area }) : null,
				svg("polyline", { class: `line ${line.kind}`, points: points.join(" ") }),
			];
		});
		fill(this.drawing, ...marks.flat(), ...times, ...drawn);
	}
}

/** The next round number whose half is one too. @param {number} value */
function ceiling(value) {
	const power = 10 ** Math.floor(Math.log10(value));
	const step = [1, 2, 4, 6, 8, 10].find((step) => value <= step * power) ?? 10;
	return step * power;
}

/** Counts side by side. */
export class BarChart {
	/** @param {string} title */
	constructor(title) {
		this.note = h("p", { class: "legend" });
		this.bars = h("ol", { class: "bars" });
		this.element = h("section", { class: "card" }, h("h2", {}, title), this.note, this.bars);
	}

	/** @param {{label: string, count: number, title: string, kind: string}[]} bars @param {string} note */
	update(bars, note) {
		const largest = Math.max(1, ...bars.map((bar) => bar.count));
		setText(this.note, note);
		const drawn = bars.map((bar) => {
			const fillIn = h("i", { class: bar.kind });
			fillIn.style.height = `${bar.count === 0 ? 0 : Math.max(2, (bar.count / largest) * 100)}%`;
			return h("li", { title: bar.title }, h("span", { class: "column" }, fillIn), h("small", {}, bar.label));
		});
		fill(this.bars, ...drawn);
	}
}

/** A bar of parts. @param {{kind: string, value: number, label: string}[]} parts @param {number} [whole] */
export function stack(parts, whole) {
	const sum = whole ?? parts.reduce((sum, part) => sum + part.value, 0);
	const title = parts.map((part) => part.label).join(", ");
	const drawn = parts.filter((part) => part.value > 0).map((part) => {
		const piece = h("i", { class: part.kind });
		piece.style.width = `${(part.value / Math.max(1, sum)) * 100}%`;
		return piece;
	});
	return h("span", { class: "stack", title, role: "img", "aria-label": title }, ...drawn);
}
