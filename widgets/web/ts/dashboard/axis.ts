// Axes of values: their range, and round ticks, as the kernel draws them (`widgets/view/src/plot/scale.rs`).

import { digits, type Values } from "./data.ts";

export interface Tick {
    at: number;
    label: string;
}

/** The range of an axis, with 0 for what has a length. */
export function extent(all: Values, shown: Values, isLine: boolean): [number, number] {
    let [low, high] = [Infinity, -Infinity];
    for (const value of [...all, ...shown]) {
        if (value === null || !Number.isFinite(value)) continue;
        [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    if (low > high) return [0, 1];
    if (isLine) {
        const space = high > low ? (high - low) * 0.06 : 1;
        return [low - space, high + space];
    }
    [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    return [low, high > low ? high : low + 1];
}

/** Round numbers within a range, `count` or some more. */
export function ticks(low: number, high: number, count: number): Tick[] {
    const rough = (high - low) / count;
    if (!(rough > 0) || !Number.isFinite(rough)) return [];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = ([1, 2, 5].find(times => times * power >= rough * 0.999999) ?? 10) * power;
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    const largest = Math.max(Math.abs(low), Math.abs(high));
    return Array.from({ length: last - first + 1 }, (_, at) => {
        const value = (first + at) * step;
        return { at: value, label: label(value, step, largest) };
    });
}

const UNITS: [number, string][] = [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
];

/** With the digits that the step needs and the unit that suits the largest number. */
function label(value: number, step: number, largest: number): string {
    if (value === 0) return "0";
    if (largest >= 1e15 || largest < 1e-4) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
    const [unit, suffix] = UNITS.find(([least]) => largest >= least) ?? [1, ""];
    const places = step >= unit ? 0 : Math.min(Math.ceil(-Math.log10(step / unit) - 1e-9), 9);
    const [whole, part] = Math.abs(value / unit)
        .toFixed(places)
        .split(".") as [string, string?];
    const grouped = whole.length > 4 ? digits(Number(whole)) : whole;
    return `${value < 0 ? "\u2212" : ""}${grouped}${part ? `.${part}` : ""}${suffix}`;
}
