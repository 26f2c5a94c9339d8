// Numbers as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number} number */
export function count(number) {
	return WHOLE.format(number);
}

/** @param {number} number */
export function rate(number) {
	return number >= 100 ? WHOLE.format(number) : number.toFixed(number >= 10 ? 1 : 2);
}

/** @param {number} bytes */
export function size(bytes) {
	let [value, unit] = [bytes, "B"];
	for (const larger of ["KiB", "MiB", "GiB"]) {
		if (value < 1024) {
			break;
		}
		[value, unit] = [value / 1024, larger];
	}
	return `${unit === "B" || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** Microseconds. @param {number} us */
export function micros(us) {
	if (us < 1000) {
		return `${us} µs`;
	}
	const ms = us / 1000;
	if (ms < 1000) {
		return `${ms >= 100 ? Math.round(ms) : ms.toFixed(1)} ms`;
	}
	return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** An age or a duration in milliseconds. @param {number} ms */
export function time(ms) {
	const s = Math.floor(ms / 1000);
	const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
	if (s < 1) {
		return `${Math.round(ms)} ms`;
	}
	if (s < 60) {
		return `${(ms / 1000).toFixed(1)} s`;
	}
	if (s < 3600) {
		return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
	}
	if (s < 86_400) {
		return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
	}
	return `${Math.floor(s / 86_400)}d ${two(Math.floor((s % 86_400) / 3600))}h`;
}

/** Time of day. @param {number} ms milliseconds since 1970 */
export function clock(ms) {
	return new Date(ms).toLocaleTimeString("en-GB");
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
	const value = whole > 0 ? (part * 100) / whole : 0;
	return `${value === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} %`;
}
