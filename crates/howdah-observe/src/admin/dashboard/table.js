// A table that is sorted by its headings and filtered by a text. Rows are updated in place, so that the scroll position
// and a selected text stay.

import { h, setText } from "./dom.js";

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: any) => string} text
 * @property {(row: any) => number|string} [by] what it is sorted by; else the text
 * @property {boolean} [number] stands right
 * @property {boolean} [wide] only on wide screens
 * @property {boolean} [long] a text that may be cut
 * @property {(row: any) => string|null} [kind] a class
 */

export class Table {
	/**
	 * A `stacked` one has a line for each value on a phone.
	 * @param {Column[]} columns
	 * @param {{sort?: number, down?: boolean, empty: string, filter?: boolean, most?: number, stacked?: boolean}} options
	 */
	constructor(columns, options) {
		this.columns = columns;
		this.options = options;
		this.sort = options.sort ?? -1;
		this.down = options.down ?? false;
		/** @type {any[]} */
		this.rows = [];
		this.heads = columns.map((column, index) => this.head(column, index));
		this.body = h("tbody");
		this.table = h("table", { class: options.stacked ? "stacked" : null }, h("thead", {}, h("tr", {}, ...this.heads)), this.body);
		this.empty = h("p", { class: "empty" }, options.empty);
		this.input = /** @type {HTMLInputElement} */ (
			h("input", { type: "search", name: "filter", placeholder: "Filter", "aria-label": "Filter" })
		);
		this.input.addEventListener("input", () => this.draw());
		this.shown = h("span", { class: "muted" });
		const bar = options.filter ? h("div", { class: "bar" }, this.input, this.shown) : null;
		this.element = h("div", {}, bar, h("div", { class: "scroll" }, this.table), this.empty);
	}

	/** @param {Column} column @param {number} index */
	head(column, index) {
		const button = h("button", { type: "button" }, column.label);
		button.addEventListener("click", () => {
			this.down = this.sort === index ? !this.down : Boolean(column.number);
			this.sort = index;
			this.draw();
		});
		return h("th", { class: classes(column), scope: "col" }, button);
	}

	/** @param {any[]} rows */
	update(rows) {
		this.rows = rows;
		this.draw();
	}

	draw() {
		const wanted = this.input.value.trim().toLowerCase();
		const fits = (/** @type {any} */ row) =>
			this.columns.some((column) => column.text(row).toLowerCase().includes(wanted));
		let rows = wanted === "" ? [...this.rows] : this.rows.filter(fits);
		const found = rows.length;
		const column = this.columns[this.sort];
		if (column) {
			const by = column.by ?? column.text;
			const sign = this.down ? -1 : 1;
			rows.sort((a, b) => sign * compare(by(a), by(b)));
		}
		rows = rows.slice(0, this.options.most ?? 1000);
		this.heads.forEach((head, index) => {
			const order = this.down ? "descending" : "ascending";
			head.setAttribute("aria-sort", index === this.sort ? order : "none");
		});
		while (this.body.rows.length > rows.length) {
			this.body.deleteRow(-1);
		}
		rows.forEach((row, index) => this.drawRow(this.body.rows[index] ?? this.addRow(), row));
		this.table.hidden = rows.length === 0;
		this.empty.hidden = rows.length > 0;
		setText(this.empty, wanted === "" ? this.options.empty : "Nothing matches the filter.");
		setText(this.shown, found > 0 ? `${found} of ${this.rows.length}` : "");
	}

	addRow() {
		const row = h("tr", {}, ...this.columns.map((column) => h("td", { "data-label": column.label })));
		this.body.append(row);
		return /** @type {HTMLTableRowElement} */ (row);
	}

	/** @param {HTMLTableRowElement} element @param {any} row */
	drawRow(element, row) {
		this.columns.forEach((column, index) => {
			const cell = element.cells[index];
			const text = column.text(row);
			const kind = [classes(column), column.kind?.(row)].filter(Boolean).join(" ");
			if (cell.className !== kind) {
				cell.className = kind;
			}
			setText(cell, text);
			if (column.long && cell.title !== text) {
				cell.title = text;
			}
		});
	}
}

/** @param {Column} column */
function classes(column) {
	return ["number", "wide", "long"].filter((name) => column[/** @type {"wide"} */ (name)]).join(" ");
}

/** @param {number|string} a @param {number|string} b */
function compare(a, b) {
	return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}
