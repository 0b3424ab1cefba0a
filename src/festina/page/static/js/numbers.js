/** Numbers as people read them, as inputs hold them, and as sliders place them. */

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
export const SLIDER_STEPS = 1000;

/** A number for reading: few digits, powers of ten where they are needed, a true minus sign. */
export function readable(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "—";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const front = String(Number(mantissa));
  const power = `10${[...String(Number(exponent))].map((letter) => SUPERSCRIPTS[letter]).join("")}`;
  if (front === "1") return power;
  return `${front === "-1" ? "−" : `${front} × `}${power}`.replace("-", "−");
}

/** Text in which numbers such as 1e-08 and -3 are set as 10⁻⁸ and −3. */
export function readableText(text) {
  return String(text ?? "").replace(/(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])/gi, (found) =>
    /e/i.test(found) ? readable(Number(found)) : found.replace("-", "−"),
  );
}

/** A name as it is printed: −3, 10⁻⁸ and ∞ as numbers, z₁ with its index, task 1 as two words, ReLU as it is called. */
export function typeset(name) {
  return readableText(name)
    .replace(/(?<![\w.])inf(?!\w)/g, "∞")
    .replace(/\brelu\b/g, "ReLU")
    .replace(/\b([a-z]{2,})(\d+)\b/g, "$1 $2")
    .replace(/\b([a-z])(\d)\b/g, (_, letter, digit) => letter + SUBSCRIPTS[digit]);
}

/** A value as inputs, addresses and commands hold it. */
export function plain(value) {
  if (Array.isArray(value)) return value.some(Array.isArray) ? JSON.stringify(value) : value.map(plain).join(",");
  if (value === Infinity || value === "Infinity") return "inf";
  if (value === -Infinity || value === "-Infinity") return "-inf";
  return String(value);
}

/** A value as a box shows it: digits that say nothing are left out. */
export function inBox(value) {
  const isFraction = typeof value === "number" && Number.isFinite(value) && !Number.isInteger(value);
  return plain(isFraction ? shortest(Number(value.toPrecision(4))) : value);
}

/** The shorter way to write a small number: 4e-5 instead of 0.00004. */
function shortest(value) {
  const power = value.toExponential();
  return Math.abs(value) < 1e-3 && power.length < String(value).length ? power : value;
}

/** A number with no more digits than a slider can set. */
export function rounded(value, digits = 3) {
  return Number(value.toPrecision(digits));
}

/** The value at a place of a slider, 0 to `SLIDER_STEPS`; both ends are exact. */
export function valueAt(slider, place) {
  if (place <= 0) return slider.from;
  if (place >= SLIDER_STEPS) return slider.to;
  return rounded(between(slider.from, slider.to, place / SLIDER_STEPS, slider.scale));
}

/** The place of a value on a slider; values beyond its ends sit at them. */
export function placeOf(slider, value) {
  const log = slider.scale === "log";
  if (log && value <= 0) return 0;
  const [low, high, at] = log ? [slider.from, slider.to, value].map(Math.log) : [slider.from, slider.to, value];
  const share = high === low ? 0 : (at - low) / (high - low);
  return Math.round(SLIDER_STEPS * Math.min(1, Math.max(0, share)));
}

/** What lies at a share of the way from one number to another, evenly or by equal factors. */
export function between(from, to, share, scale) {
  return scale === "log" ? from * (to / from) ** share : from + (to - from) * share;
}

/** Seconds as people say them. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "an unknown time";
  if (seconds < 100) return `${readable(seconds, 2)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
