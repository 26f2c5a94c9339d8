// Elements of the page. Text is always set as text: nothing that came from a request is read as markup.

/** @typedef {string|number|Node|null|undefined|false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element; attributes that are null or false are left out.
 * @param {string} tag
 * @param {Record<string, string|number|boolean|null|undefined>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
	return /** @type {HTMLElement} */ (filled(document.createElement(tag), attributes, children));
}

/**
 * An element of a drawing.
 * @param {string} tag
 * @param {Record<string, string|number|boolean|null|undefined>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
	return /** @type {SVGElement} */ (filled(document.createElementNS(SVG, tag), attributes, children));
}

/**
 * @param {Element} element
 * @param {Record<string, string|number|boolean|null|undefined>} attributes
 * @param {Child[]} children
 */
function filled(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value !== null && value !== undefined && value !== false) {
			element.setAttribute(name, value === true ? "" : String(value));
		}
	}
	element.append(...nodes(children));
	return element;
}

/** @param {Child[]} children @returns {(string|Node)[]} */
function nodes(children) {
	const there = children.filter((child) => child !== null && child !== undefined && child !== false);
	return there.map((child) => (child instanceof Node ? child : String(child)));
}

/** Replaces what is in an element. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
	element.replaceChildren(...nodes(children));
}

/** Sets a text, if it is another. @param {Element} element @param {string} text */
export function setText(element, text) {
	if (element.textContent !== text) {
		element.textContent = text;
	}
}

/** The element of this id. @param {string} id @returns {any} */
export function byId(id) {
	return document.getElementById(id);
}
