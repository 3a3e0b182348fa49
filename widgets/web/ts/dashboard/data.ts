// The data of a dashboard, and the arithmetic of brushes.

export type Range = [number, number];
export type Box = [number, number, number, number];

export interface Filter {
    view: number;
    /** Half-open ranges of slots. Those of a filter by values end inside of slots. */
    slots?: Range[];
    /** The values that a cell has written. Only the kernel reads them. */
    exact?: string;
    /** A half-open rectangle of slots: x0, x1, y0, y1. */
    cells?: Box;
    /** x0, y0, x1, y1 in positions of the axes. */
    box?: Box;
    lasso?: [number, number][];
}

/** A value without rows is null. */
export type Values = (number | null)[];

interface Common {
    title: string;
    /** Left, top, width, height in pixels. */
    place: Box;
    svg?: string;
}

export interface SlotsView extends Common {
    kind: "slots";
    form: "bars" | "line";
    axis: "x" | "y";
    frame: Box;
    low: number;
    high: number;
    places: Range[];
    gap: number;
    slots: string[];
    label: string;
    all: Values;
    shown: Values;
    /** Slots are in the order of an axis. */
    ranges: boolean;
}

export interface CellsView extends Common {
    kind: "cells";
    frame: Box;
    places: Range[];
    rows: Range[];
    slots: string[];
    sides: string[];
    label: string;
    all: Values;
    shown: Values;
    map: string[];
    empty: string;
}

export interface RasterView extends Common {
    kind: "raster";
    frame: Box;
    window: Box;
    alt: string;
    x: string;
    y: string;
    size: [number, number];
    /** Another picture for the data area. */
    png?: string;
}

export interface NumbersView extends Common {
    kind: "numbers";
    cells: { name: string; text: string }[];
}

export interface TableView extends Common {
    kind: "table";
    columns: string[];
    rows: string[][];
    right: boolean[];
    caption: string;
}

export interface Unchanged extends Common {
    kind: "unchanged";
}

export type View = SlotsView | CellsView | RasterView | NumbersView | TableView | Unchanged;

export interface State {
    view?: string;
    title: string;
    rows: number;
    selected: number;
    summary: string;
    sentences: string[];
    filters: Filter[];
    width: number;
    views: View[];
    notes: string[];
}

/** Running sums over the slots of the active view: a row for each slot, after a row of zeros. */
export interface Cube {
    counts: Uint32Array;
    sums?: Float64Array;
    valued?: Uint32Array;
}

/** The aggregate of a view. */
export function combine(label: string): string {
    const found = /^(sum|mean|min|max)\(/.exec(label);
    return found?.[1] ?? "count";
}

/** What another view shows while these slots of the active view are kept. Null: without a brush. */
export function brushed(cube: Cube, width: number, ranges: Range[] | null, how: string): Values | null {
    const steps = cube.counts.length / width - 1;
    const parts = ranges ?? [[0, steps] as Range];
    const sum = (sums: ArrayLike<number>, slot: number) => {
        let total = 0;
        for (const [from, to] of parts) total += (sums[to * width + slot] ?? 0) - (sums[from * width + slot] ?? 0);
        return total;
    };
    const slots = Array.from({ length: width }, (_, slot) => slot);
    const { sums, valued } = cube;
    if (how === "count") return slots.map(slot => sum(cube.counts, slot));
    if (!sums || !valued) return null;
    if (how === "sum") return slots.map(slot => sum(sums, slot));
    if (how === "mean") {
        return slots.map(slot => {
            const count = sum(valued, slot);
            return count > 0 ? sum(sums, slot) / count : null;
        });
    }
    return null;
}

/** Whether a part of a slot is kept. */
export function isKept(ranges: Range[] | undefined, slot: number): boolean {
    return !ranges || ranges.some(([from, to]) => slot + 1 > from && slot < to);
}

/** The ranges with whole slots, as a brush has them. */
export function whole(ranges: Range[]): Range[] {
    return ranges.map(([from, to]) => [Math.floor(from), Math.ceil(to)]);
}

/** The places of the ends of a range, which may lie inside of slots. */
export function ends(places: Range[], [from, to]: Range): Range {
    const [first, last] = [Math.floor(from), Math.max(Math.ceil(to) - 1, 0)];
    const within = (slot: number, at: number) => {
        const [start, end] = places[slot] ?? [0, 0];
        return start + (end - start) * (at - slot);
    };
    return [within(first, from), within(last, to)];
}

/** The slot at a place, or the nearest one. */
export function slotAt(places: Range[], at: number): number {
    for (let slot = 0; slot < places.length; slot++) {
        if (at < places[slot]![1]) return slot;
    }
    return places.length - 1;
}

/** The ranges with one slot in or out. */
export function toggled(ranges: Range[], slot: number, count: number): Range[] {
    const kept = Array.from({ length: count }, (_, at) => isKept(ranges, at) && ranges.length > 0);
    kept[slot] = !kept[slot];
    return rangesOf(kept);
}

export function rangesOf(kept: boolean[]): Range[] {
    const ranges: Range[] = [];
    kept.forEach((is, slot) => {
        const last = ranges.at(-1);
        if (!is) return;
        if (last && last[1] === slot) last[1] = slot + 1;
        else ranges.push([slot, slot + 1]);
    });
    return ranges;
}

/** The filters of all views but one, as a key. */
export function others(filters: Filter[], view: number): string {
    return JSON.stringify(filters.filter(filter => filter.view !== view));
}

/** Fewer corners of a path, at most `most`. */
export function thinned(path: [number, number][], most: number): [number, number][] {
    if (path.length <= most) return path;
    return Array.from({ length: most }, (_, at) => path[Math.floor((at * path.length) / most)]!);
}

/** `1 234`, with the kernel's narrow space. */
export function digits(value: number): string {
    const text = String(Math.round(Math.abs(value))).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return value < 0 ? `-${text}` : text;
}
