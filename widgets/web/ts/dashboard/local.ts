// A dashboard without a kernel: its rows are in the page, as slots and positions, and every filter is a pass over them.

import { type Cube, combine, digits, type Filter, isKept, type State, type Values, type View } from "./data.ts";
import type { Source } from "./view.ts";

export interface Rows {
    rows: number;
    total: number;
    columns: Map<string, ArrayLike<number>>;
    /** The colours of a raster, from the lowest count to the highest. */
    colors: [number, number, number][];
}

function inside(corners: [number, number][], x: number, y: number): boolean {
    let isInside = false;
    corners.forEach(([xi, yi], at) => {
        const [xj, yj] = corners[(at + 1) % corners.length]!;
        if (yi !== yj && y > yi !== y > yj && x < ((xj - xi) / (yj - yi)) * (y - yi) + xi) isInside = !isInside;
    });
    return isInside;
}

/** The colours of counts by their rank, as pixels. */
export function shaded(counts: Uint32Array, colors: [number, number, number][]): Uint8ClampedArray {
    const ordered = counts.filter(count => count > 0).sort();
    const pixels = new Uint8ClampedArray(counts.length * 4);
    const rank = (count: number) => {
        let [low, high] = [0, ordered.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (ordered[middle]! <= count) low = middle + 1;
            else high = middle;
        }
        return ordered.length > 1 ? (low - 1) / (ordered.length - 1) : 1;
    };
    counts.forEach((count, at) => {
        if (count === 0) return;
        const color = colors[Math.round(rank(count) * (colors.length - 1))]!;
        pixels.set([...color, 255], at * 4);
    });
    return pixels;
}

/** Sparse pixels become larger, so that single rows can be seen. */
export function widened(counts: Uint32Array, width: number): Uint32Array {
    const height = counts.length / width;
    const at = (row: number, column: number) =>
        row >= 0 && row < height && column >= 0 && column < width ? counts[row * width + column]! : 0;
    let [filled, crowded] = [0, 0];
    counts.forEach((count, index) => {
        if (count === 0) return;
        filled++;
        const [row, column] = [Math.floor(index / width), index % width];
        if (at(row, column + 1) || at(row + 1, column) || at(row, column - 1) || at(row - 1, column)) crowded++;
    });
    if (filled === 0 || crowded / filled > 0.5) return counts;
    const wide = counts.slice();
    counts.forEach((count, index) => {
        if (count === 0) return;
        const [row, column] = [Math.floor(index / width), index % width];
        for (let y = Math.max(row - 1, 0); y <= Math.min(row + 1, height - 1); y++) {
            for (let x = Math.max(column - 1, 0); x <= Math.min(column + 1, width - 1); x++) {
                wide[y * width + x] = Math.max(wide[y * width + x]!, count);
            }
        }
    });
    return wide;
}

export class Local implements Source {
    readonly isOpen = true;
    private readonly failed: Uint16Array;
    private readonly scale: number;

    constructor(
        private readonly state: State,
        private readonly rows: Rows,
    ) {
        this.failed = new Uint16Array(rows.rows);
        this.scale = rows.rows > 0 ? rows.total / rows.rows : 1;
    }

    private column(name: string): ArrayLike<number> {
        return this.rows.columns.get(name) ?? [];
    }

    /** Whether each row passes a filter. */
    private passes(filter: Filter): (row: number) => boolean {
        const [x, y] = [this.column(`x_${filter.view}`), this.column(`y_${filter.view}`)];
        const { slots, cells, box, lasso } = filter;
        if (filter.exact !== undefined) {
            const kept = this.column(`kept_${filter.view}`);
            return row => kept[row] === 1;
        }
        if (slots) {
            const view = this.state.views[filter.view];
            const count = view?.kind === "slots" ? view.slots.length : 0;
            const kept = Array.from({ length: count }, (_, slot) => isKept(slots, slot));
            return row => kept[x[row]!] ?? false;
        }
        if (cells) {
            const [x0, x1, y0, y1] = cells;
            return row => x[row]! >= x0 && x[row]! < x1 && y[row]! >= y0 && y[row]! < y1;
        }
        if (box) {
            const [x0, y0, x1, y1] = box;
            return row => x[row]! >= x0 && x[row]! <= x1 && y[row]! >= y0 && y[row]! <= y1;
        }
        return row => !lasso || inside(lasso, x[row]!, y[row]!);
    }

    async views(filters: Filter[]): Promise<State> {
        const { rows, state } = this;
        const failed = this.failed;
        const scale = this.scale;
        failed.fill(0);
        let bits = 0;
        for (const filter of filters) {
            const bit = 1 << filter.view;
            const passes = this.passes(filter);
            bits |= bit;
            for (let row = 0; row < rows.rows; row++) if (!passes(row)) failed[row]! |= bit;
        }
        let selected = 0;
        for (let row = 0; row < rows.rows; row++) if (failed[row] === 0) selected++;
        selected = Math.round(selected * scale);
        const views = state.views.map((view, at) => this.view(view, at, bits & ~(1 << at)));
        const all = filters.length === 0;
        const count = all ? state.rows : selected;
        const summary = all ? `all ${digits(state.rows)} rows` : `${digits(selected)} of ${digits(state.rows)} rows`;
        return { ...state, filters, selected: count, summary, sentences: [], views };
    }

    private view(view: View, at: number, bits: number): View {
        const { rows } = this;
        const failed = this.failed;
        const place = view.place;
        if (view.kind === "slots" || view.kind === "cells") {
            const width = view.kind === "slots" ? 0 : view.slots.length;
            const [x, y] = [this.column(`x_${at}`), this.column(`y_${at}`)];
            const slot = width > 0 ? (row: number) => y[row]! * width + x[row]! : (row: number) => x[row]!;
            const { svg: _svg, ...rest } = view;
            return { ...rest, shown: this.values(slot, view.all.length, at, combine(view.label), bits) };
        }
        // Values that only a session can compute are those of the moment when the page was saved.
        if (view.kind === "numbers") {
            const cells = view.cells.map(cell => ({ ...cell, name: `${cell.name} (when saved)` }));
            return { ...view, cells };
        }
        if (view.kind === "table") return { ...view, caption: `${view.caption} (when saved)` };
        if (view.kind !== "raster") return { kind: "unchanged", title: view.title, place };
        const [width, height] = view.size;
        const [x0, y0, x1, y1] = view.window;
        const [x, y] = [this.column(`x_${at}`), this.column(`y_${at}`)];
        const counts = new Uint32Array(width * height);
        for (let row = 0; row < rows.rows; row++) {
            if ((failed[row]! & bits) !== 0) continue;
            const [across, up] = [(x[row]! - x0) / (x1 - x0), (y[row]! - y0) / (y1 - y0)];
            if (!(across >= 0 && across <= 1 && up >= 0 && up <= 1)) continue;
            const column = Math.min(Math.floor(across * width), width - 1);
            const line = height - 1 - Math.min(Math.floor(up * height), height - 1);
            counts[line * width + column]!++;
        }
        const { svg: _svg, ...rest } = view;
        return { ...rest, png: png(shaded(widened(counts, width), rows.colors), width, height) };
    }

    private values(slot: (row: number) => number, count: number, at: number, how: string, bits: number): Values {
        const { rows } = this;
        const failed = this.failed;
        const scale = this.scale;
        const value = this.column(`value_${at}`);
        const counts = new Float64Array(count);
        const kept = new Float64Array(count).fill(how === "min" ? Infinity : how === "max" ? -Infinity : 0);
        for (let row = 0; row < rows.rows; row++) {
            if ((failed[row]! & bits) !== 0) continue;
            const cell = slot(row);
            if (how === "count") {
                counts[cell]!++;
                continue;
            }
            const one = value[row]!;
            if (Number.isNaN(one)) continue;
            counts[cell]!++;
            if (how === "min") kept[cell] = Math.min(kept[cell]!, one);
            else if (how === "max") kept[cell] = Math.max(kept[cell]!, one);
            else kept[cell]! += one;
        }
        if (how === "count") return Array.from(counts, number => number * scale);
        if (how === "sum") return Array.from(kept, number => number * scale);
        return Array.from(kept, (number, cell) => {
            const there = counts[cell]!;
            if (there === 0) return null;
            return how === "mean" ? number / there : number;
        });
    }

    /** A pass is fast enough here. */
    async cubes(): Promise<Map<number, Cube>> {
        return new Map();
    }
}

function png(pixels: Uint8ClampedArray, width: number, height: number): string {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const data = new ImageData(width, height);
    data.data.set(pixels);
    context?.putImageData(data, 0, 0);
    return canvas.toDataURL("image/png");
}
