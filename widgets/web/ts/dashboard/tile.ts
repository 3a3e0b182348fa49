// One view of a dashboard on the page: its picture, and what the pointer and keys select.

import { el, svg as shape } from "../table/dom.ts";
import { extent, ticks } from "./axis.ts";
import {
    type Box,
    type CellsView,
    combine,
    digits,
    ends,
    type Filter,
    isKept,
    type Range,
    type RasterView,
    type SlotsView,
    slotAt,
    thinned,
    toggled,
    type Values,
    type View,
    whole,
} from "./data.ts";
import { picture } from "./svg.ts";

/** Pixels that a drag has at least. */
const DRAG = 4;
/** Most corners of a lasso that the kernel takes. */
const CORNERS = 60;

/** What a tile tells its dashboard. */
export interface Owner {
    readonly isLive: boolean;
    /** The filter of a view has changed. `done`: the user has let go. */
    filter(view: number, filter: Filter | null, done: boolean): void;
    /** The pointer or the focus is in a view. */
    enter(view: number): void;
    say(text: string): void;
}

/** A view on the page. */
export abstract class Tile {
    readonly node = el("div", "tile");
    protected filter: Filter | null = null;

    constructor(
        protected readonly owner: Owner,
        readonly index: number,
        data: View,
    ) {
        this.node.setAttribute("role", "group");
        this.node.setAttribute("aria-label", data.title || data.kind);
        const [, , width, height] = data.place;
        this.node.style.width = `${width}px`;
        this.node.style.minHeight = `${height}px`;
        this.node.addEventListener("pointerenter", () => owner.enter(index));
        this.node.addEventListener("focusin", () => owner.enter(index));
    }

    /** Shows other data of the same view. */
    abstract show(data: View): void;
    abstract mark(filter: Filter | null): void;
    /** Bars while another view is brushed. */
    brushed(_shown: Values): void {}
}

interface Place {
    x: number;
    y: number;
}

/** The place of an event in the picture, in its own pixels. */
function placeIn(svg: SVGElement, event: MouseEvent): Place {
    const rect = svg.getBoundingClientRect();
    const scale = Number(svg.getAttribute("width")) / (rect.width || 1);
    return { x: (event.clientX - rect.left) * scale, y: (event.clientY - rect.top) * scale };
}

/** Follows the pointer from a press to its release. */
function follow(
    node: Element,
    event: PointerEvent,
    move: (event: PointerEvent) => void,
    end: (event: PointerEvent, moved: boolean) => void,
): void {
    node.setPointerCapture(event.pointerId);
    let moved = false;
    const moving = (at: PointerEvent) => {
        moved ||= Math.hypot(at.clientX - event.clientX, at.clientY - event.clientY) >= DRAG;
        if (moved) move(at);
    };
    const ending = (at: PointerEvent) => {
        node.removeEventListener("pointermove", moving as EventListener);
        node.removeEventListener("pointerup", ending as EventListener);
        node.removeEventListener("pointercancel", ending as EventListener);
        end(at, moved);
    };
    node.addEventListener("pointermove", moving as EventListener);
    node.addEventListener("pointerup", ending as EventListener);
    node.addEventListener("pointercancel", ending as EventListener);
}

/** Histograms, bars and lines. */
export class SlotsTile extends Tile {
    private svg: SVGElement;
    private bars: SVGElement[] = [];
    private backs: SVGElement[] = [];
    private labels: SVGElement[] = [];
    private readonly stage = el("div", "stage");
    private readonly controls = el("div", "controls");
    private brushes: SVGElement[] = [];
    private handles: HTMLElement[] = [];

    constructor(
        owner: Owner,
        index: number,
        public data: SlotsView,
    ) {
        super(owner, index, data);
        this.svg = this.drawn();
        this.stage.append(this.svg, this.controls);
        this.node.append(this.stage);
        this.controls.setAttribute("role", "group");
        this.controls.setAttribute("aria-label", `select in ${data.title}`);
        this.build();
    }

    private drawn(): SVGElement {
        const svg = picture(this.data.svg ?? "");
        for (const brush of svg.querySelectorAll(".brush")) brush.remove();
        this.bars = [...svg.querySelectorAll<SVGElement>(".shown rect")];
        this.backs = [...svg.querySelectorAll<SVGElement>(".all rect")];
        this.labels = [...svg.querySelectorAll<SVGElement>(".values text")];
        svg.setAttribute("aria-hidden", "true");
        svg.addEventListener("pointerdown", event => this.press(event as PointerEvent));
        return svg;
    }

    /** The elements for keys and for readers. */
    private build(): void {
        const { data } = this;
        this.controls.replaceChildren();
        this.handles = [];
        if (data.ranges) {
            for (const which of ["first", "last"] as const) {
                const handle = el("div", "handle");
                handle.tabIndex = 0;
                handle.setAttribute("role", "slider");
                handle.setAttribute("aria-label", `${data.title}: ${which} selected`);
                handle.addEventListener("keydown", event => this.slide(event, which === "first"));
                this.controls.append(handle);
                this.handles.push(handle);
            }
        } else {
            data.slots.forEach((_, slot) => {
                const bar = el("button", "bar");
                bar.type = "button";
                bar.addEventListener("click", event =>
                    this.pick(slot, event.shiftKey || event.ctrlKey || event.metaKey),
                );
                bar.addEventListener("keydown", event => {
                    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
                    if (event.key === "Escape" && this.filter) this.set(null, true);
                    else if (step) this.handles[slot + step]?.focus();
                    else return;
                    event.preventDefault();
                    event.stopPropagation();
                });
                this.controls.append(bar);
                this.handles.push(bar);
            });
        }
        this.mark(this.filter);
    }

    show(data: View): void {
        if (data.kind !== "slots") return;
        const before = this.data;
        if (data.svg && data.svg !== before.svg) {
            this.data = { ...data };
            const svg = this.drawn();
            this.svg.replaceWith(svg);
            this.svg = svg;
            if (data.slots.length !== before.slots.length) this.build();
        } else {
            // Pictures come with the first answer; later ones bring other bars, which stand in the places of that
            // picture.
            const { svg, frame, places, low, high } = before;
            this.data = { ...data, svg, frame, places, low, high };
        }
        this.brushed(this.data.shown);
        this.mark(this.filter);
    }

    override brushed(shown: Values): void {
        const { data } = this;
        this.data.shown = shown;
        // A count is at most that of all rows. A mean may lie anywhere.
        if (combine(data.label) !== "count") {
            const [low, high] = extent(data.all, shown, data.form === "line");
            if (low !== data.low || high !== data.high) this.rescale(low, high);
        }
        this.place(shown, this.bars, "path.shown");
        this.labels.forEach((label, slot) => {
            label.textContent = this.number(shown[slot] ?? null);
        });
    }

    /** Another range of values: draws the axis and what stands for all rows anew. */
    private rescale(low: number, high: number): void {
        const { data } = this;
        Object.assign(data, { low, high });
        this.place(data.all, this.backs, "path.all");
        const axis = this.svg.querySelector("g.axis");
        const [line, text] = [axis?.querySelector("path"), axis?.querySelector("text")];
        if (!axis || !line || !text) return;
        const [left, top, width, height] = data.frame;
        const marks = ticks(low, high, 3).flatMap(({ at, label }) => {
            const y = top + height * (1 - (at - low) / (high - low));
            const [rule, name] = [line.cloneNode() as SVGElement, text.cloneNode() as SVGElement];
            rule.setAttribute("d", `M${left} ${y}L${left + width} ${y}`);
            name.setAttribute("y", String(y + 3.5));
            name.textContent = label;
            // Names may be longer than those that the margin was made for.
            const size = Math.min(10, (left - 6) / (label.length * 0.6));
            name.setAttribute("font-size", String(size));
            return [rule, name];
        });
        axis.replaceChildren(...marks);
    }

    /** Bars or a line at the heights of values. */
    private place(values: Values, bars: SVGElement[], line: string): void {
        const { data } = this;
        const [left, top, width, height] = data.frame;
        const span = data.high - data.low || 1;
        const share = (value: number) => Math.min(Math.max((value - data.low) / span, 0), 1);
        if (data.form === "line") {
            let path = "";
            let open = false;
            values.forEach((value, slot) => {
                const [from, to] = data.places[slot]!;
                if (value === null) {
                    open = false;
                    return;
                }
                path += `${open ? "L" : "M"}${(from + to) / 2} ${top + height * (1 - share(value))}`;
                open = true;
            });
            this.svg.querySelector(line)?.setAttribute("d", path);
            return;
        }
        const zero = share(0);
        bars.forEach((bar, slot) => {
            const end = share(values[slot] ?? 0);
            const [low, high] = [Math.min(zero, end), Math.max(zero, end)];
            if (data.axis === "x") {
                bar.setAttribute("y", String(top + height * (1 - high)));
                bar.setAttribute("height", String(height * (high - low)));
            } else {
                bar.setAttribute("x", String(left + width * low));
                bar.setAttribute("width", String(width * (high - low)));
            }
        });
    }

    private number(value: number | null): string {
        if (value === null) return "";
        return combine(this.data.label) === "count" || Number.isInteger(value) ? digits(value) : value.toPrecision(3);
    }

    mark(filter: Filter | null): void {
        this.filter = filter;
        const { data } = this;
        const ranges = filter?.slots;
        this.bars.forEach((bar, slot) => {
            if (isKept(ranges, slot)) bar.removeAttribute("fill-opacity");
            else bar.setAttribute("fill-opacity", "0.4");
        });
        for (const brush of this.brushes) brush.remove();
        const [left, top, width, height] = data.frame;
        this.brushes = data.ranges
            ? (ranges ?? []).map(range => {
                  const [x0, x1] = ends(data.places, range);
                  return shape("rect", { class: "brush", x: x0, y: top, width: x1 - x0, height });
              })
            : [];
        this.svg.append(...this.brushes);
        const scale = (value: number) => `${value}px`;
        if (data.ranges) {
            const kept: Range = ranges?.length ? [ranges[0]![0], ranges.at(-1)![1]] : [0, data.slots.length];
            const edges = ends(data.places, kept);
            this.ends().forEach((slot, at) => {
                const handle = this.handles[at]!;
                const place = edges[at]!;
                Object.assign(handle.style, { left: scale(place - 12), top: scale(top), height: scale(height) });
                handle.setAttribute("aria-valuemin", "0");
                handle.setAttribute("aria-valuemax", String(data.slots.length - 1));
                handle.setAttribute("aria-valuenow", String(slot));
                handle.setAttribute("aria-valuetext", data.slots[slot] ?? "");
            });
        } else {
            this.handles.forEach((bar, slot) => {
                const [from, to] = data.places[slot]!;
                const lies = data.axis === "y";
                Object.assign(bar.style, {
                    left: scale(lies ? 0 : from),
                    top: scale(lies ? from : top),
                    width: scale(lies ? left + width : to - from),
                    height: scale(lies ? to - from : height),
                });
                const pressed = ranges !== undefined && isKept(ranges, slot);
                bar.setAttribute("aria-pressed", String(pressed));
                bar.setAttribute("aria-label", `${data.slots[slot]}: ${this.number(data.shown[slot] ?? null)}`);
            });
        }
    }

    /** The first and the last selected slot. */
    private ends(): Range {
        const ranges = whole(this.filter?.slots ?? []);
        if (!ranges.length) return [0, this.data.slots.length - 1];
        return [ranges[0]![0], ranges.at(-1)![1] - 1];
    }

    private set(ranges: Range[] | null, done: boolean): void {
        const all = this.data.slots.length;
        const isAll = ranges?.length === 1 && ranges[0]![0] === 0 && ranges[0]![1] === all;
        const filter = !ranges || ranges.length === 0 || isAll ? null : { view: this.index, slots: ranges };
        this.mark(filter);
        this.owner.filter(this.index, filter, done);
    }

    /** A bar was clicked: it alone, or it and the others. */
    private pick(slot: number, isMore: boolean): void {
        if (!this.owner.isLive) return;
        const ranges = this.filter?.slots ?? [];
        const alone = ranges.length === 1 && ranges[0]![0] === slot && ranges[0]![1] === slot + 1;
        if (isMore) this.set(toggled(ranges, slot, this.data.slots.length), true);
        else this.set(alone ? null : [[slot, slot + 1]], true);
    }

    private slide(event: KeyboardEvent, isFirst: boolean): void {
        if (!this.owner.isLive || event.ctrlKey || event.metaKey || event.altKey) return;
        const count = this.data.slots.length;
        const [first, last] = this.ends();
        const steps: Record<string, number> = {
            ArrowLeft: -1,
            ArrowDown: -1,
            ArrowRight: 1,
            ArrowUp: 1,
            PageDown: -10,
            PageUp: 10,
            Home: -count,
            End: count,
        };
        const step = steps[event.key];
        if (event.key === "Escape") this.set(null, true);
        else if (step === undefined) return;
        else if (isFirst) this.set([[Math.min(Math.max(first + step, 0), last), last + 1]], true);
        else this.set([[first, Math.min(Math.max(last + step, first), count - 1) + 1]], true);
        event.preventDefault();
        event.stopPropagation();
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0 || !this.owner.isLive) return;
        const { data, svg } = this;
        const along = (at: MouseEvent) => placeIn(svg, at)[data.axis];
        const slot = (at: MouseEvent) => slotAt(data.places, along(at));
        const start = slot(event);
        const [left, top, width, height] = data.frame;
        const { x, y } = placeIn(svg, event);
        if (data.ranges && (x < left - 4 || x > left + width + 4 || y < top || y > top + height + 18)) return;
        event.preventDefault();
        if (!data.ranges) {
            const before = this.filter?.slots ?? [];
            follow(
                svg,
                event,
                at => {
                    const now = slot(at);
                    this.set([[Math.min(start, now), Math.max(start, now) + 1]], false);
                },
                (at, moved) => {
                    if (moved) this.set(this.filter?.slots ?? before, true);
                    else this.pick(start, at.shiftKey || at.ctrlKey || at.metaKey);
                },
            );
            return;
        }
        const brush = whole(this.filter?.slots ?? []).find(([from, to]) => start >= from && start < to);
        follow(
            svg,
            event,
            at => {
                const now = slot(at);
                if (!brush) {
                    this.set([[Math.min(start, now), Math.max(start, now) + 1]], false);
                    return;
                }
                // A brush is moved as a whole.
                const length = brush[1] - brush[0];
                const from = Math.min(Math.max(brush[0] + now - start, 0), data.slots.length - length);
                this.set([[from, from + length]], false);
            },
            (_at, moved) => {
                if (moved) this.set(this.filter?.slots ?? null, true);
                else this.set(this.filter ? null : [[start, start + 1]], true);
            },
        );
    }
}

/** Heat maps. */
export class CellsTile extends Tile {
    private svg: SVGElement;
    private cells: SVGElement[] = [];
    private brush: SVGElement | null = null;
    private readonly stage = el("div", "stage");
    private readonly area = el("div", "area");

    constructor(
        owner: Owner,
        index: number,
        public data: CellsView,
    ) {
        super(owner, index, data);
        this.svg = this.drawn();
        const { area } = this;
        area.tabIndex = 0;
        area.setAttribute("role", "application");
        area.setAttribute("aria-label", `${data.title}: arrow keys move a selection, with Shift they change its size`);
        area.addEventListener("keydown", event => this.key(event));
        const [left, top, width, height] = data.frame;
        Object.assign(area.style, {
            left: `${left}px`,
            top: `${top}px`,
            width: `${width}px`,
            height: `${height}px`,
        });
        area.addEventListener("pointerdown", event => this.press(event));
        this.stage.append(this.svg, area);
        this.node.append(this.stage);
    }

    private drawn(): SVGElement {
        const svg = picture(this.data.svg ?? "");
        for (const brush of svg.querySelectorAll(".brush")) brush.remove();
        this.cells = [...svg.querySelectorAll<SVGElement>(".shown rect")];
        svg.setAttribute("aria-hidden", "true");
        return svg;
    }

    show(data: View): void {
        if (data.kind !== "cells") return;
        const before = this.data;
        this.data = { ...data, svg: data.svg ?? before.svg };
        if (data.svg && data.svg !== before.svg) {
            const svg = this.drawn();
            this.svg.replaceWith(svg);
            this.svg = svg;
        } else this.brushed(data.shown);
        this.mark(this.filter);
    }

    override brushed(shown: Values): void {
        const { map, empty, label } = this.data;
        this.data.shown = shown;
        const isCount = combine(label) === "count";
        const there = shown.filter((value): value is number => value !== null && !(isCount && value === 0));
        const [low, high] = [isCount ? 0 : Math.min(...there), Math.max(...there)];
        this.cells.forEach((cell, at) => {
            const value = shown[at] ?? null;
            if (value === null || (isCount && value === 0)) {
                cell.setAttribute("fill", empty);
                cell.setAttribute("fill-opacity", "0.06");
                return;
            }
            const level = high > low ? (value - low) / (high - low) : 1;
            cell.setAttribute("fill", map[Math.round(level * (map.length - 1))] ?? empty);
            cell.removeAttribute("fill-opacity");
        });
    }

    mark(filter: Filter | null): void {
        this.filter = filter;
        this.brush?.remove();
        this.brush = null;
        if (!filter?.cells) return;
        const [x0, x1, y0, y1] = filter.cells;
        const { places, rows } = this.data;
        const [left, right] = [places[x0]![0], places[x1 - 1]![1]];
        const [top, bottom] = [rows[y1 - 1]![0], rows[y0]![1]];
        this.brush = shape("rect", { class: "brush box", x: left, y: top, width: right - left, height: bottom - top });
        this.svg.append(this.brush);
    }

    private set(cells: Box | null, done: boolean): void {
        const filter = cells ? { view: this.index, cells } : null;
        this.mark(filter);
        this.owner.filter(this.index, filter, done);
        if (done && cells) {
            const { slots, sides } = this.data;
            const [x0, x1, y0, y1] = cells;
            this.owner.say(`${slots[x0]} to ${slots[x1 - 1]}, ${sides[y0]} to ${sides[y1 - 1]}`);
        }
    }

    private cell(event: MouseEvent): Place {
        const { x, y } = placeIn(this.svg, event);
        const { places, rows } = this.data;
        // Rows go upwards.
        const row = rows.findIndex(([top]) => y >= top);
        return { x: slotAt(places, x), y: row < 0 ? rows.length - 1 : row };
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0 || !this.owner.isLive) return;
        const start = this.cell(event);
        const between = (a: number, b: number): Range => [Math.min(a, b), Math.max(a, b) + 1];
        const before = this.filter;
        follow(
            this.area,
            event,
            at => {
                const now = this.cell(at);
                this.set([...between(start.x, now.x), ...between(start.y, now.y)], false);
            },
            (_at, moved) => {
                if (moved) this.set(this.filter?.cells ?? null, true);
                else this.set(before ? null : [...between(start.x, start.x), ...between(start.y, start.y)], true);
            },
        );
    }

    private key(event: KeyboardEvent): void {
        if (!this.owner.isLive || event.ctrlKey || event.metaKey || event.altKey) return;
        const { places, rows } = this.data;
        const moves: Record<string, Range> = {
            ArrowLeft: [-1, 0],
            ArrowRight: [1, 0],
            ArrowUp: [0, 1],
            ArrowDown: [0, -1],
        };
        const move = moves[event.key];
        if (event.key === "Escape") this.set(null, true);
        else if (!move) return;
        else {
            const [x0, x1, y0, y1] = this.filter?.cells ?? [0, 1, 0, 1];
            const shifted = (from: number, to: number, by: number, count: number): Range => {
                if (event.shiftKey) return [from, Math.min(Math.max(to + by, from + 1), count)];
                const start = Math.min(Math.max(from + by, 0), count - (to - from));
                return [start, start + to - from];
            };
            const isFirst = !this.filter;
            this.set(
                isFirst
                    ? [0, 1, 0, 1]
                    : [...shifted(x0, x1, move[0], places.length), ...shifted(y0, y1, move[1], rows.length)],
                true,
            );
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

/** Rasters: a box, or a lasso. */
export class RasterTile extends Tile {
    private svg: SVGElement;
    private brush: SVGElement | null = null;
    private readonly stage = el("div", "stage");
    private readonly area = el("div", "area");
    private isLasso = false;

    constructor(
        owner: Owner,
        index: number,
        public data: RasterView,
    ) {
        super(owner, index, data);
        this.svg = this.drawn();
        const { area } = this;
        area.tabIndex = 0;
        area.setAttribute("role", "application");
        area.setAttribute(
            "aria-label",
            `${data.title}: Enter selects a box, arrow keys move it, + and - change its size`,
        );
        area.addEventListener("keydown", event => this.key(event));
        area.addEventListener("pointerdown", event => this.press(event));
        const lasso = el("button", "lasso", "◌");
        lasso.type = "button";
        lasso.title = "Select with a lasso (or drag with Alt)";
        lasso.setAttribute("aria-label", lasso.title);
        lasso.setAttribute("aria-pressed", "false");
        lasso.addEventListener("click", () => {
            this.isLasso = !this.isLasso;
            lasso.setAttribute("aria-pressed", String(this.isLasso));
        });
        this.stage.append(this.svg, area, lasso);
        this.node.append(this.stage);
        this.layOut();
    }

    private drawn(): SVGElement {
        const svg = picture(this.data.svg ?? "");
        for (const brush of svg.querySelectorAll(".brush")) brush.remove();
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", this.data.alt);
        return svg;
    }

    private layOut(): void {
        const [left, top, width, height] = this.data.frame;
        Object.assign(this.area.style, {
            left: `${left}px`,
            top: `${top}px`,
            width: `${width}px`,
            height: `${height}px`,
        });
    }

    show(data: View): void {
        if (data.kind !== "raster") return;
        const before = this.data;
        this.data = { ...data, svg: data.svg ?? before.svg };
        if (data.svg && data.svg !== before.svg) {
            const svg = this.drawn();
            this.svg.replaceWith(svg);
            this.svg = svg;
            this.layOut();
        }
        if (data.png) this.svg.querySelector("image")?.setAttribute("href", data.png);
        this.mark(this.filter);
    }

    mark(filter: Filter | null): void {
        this.filter = filter;
        this.brush?.remove();
        this.brush = null;
        const corners: [number, number][] | undefined = filter?.box
            ? [
                  [filter.box[0], filter.box[1]],
                  [filter.box[2], filter.box[1]],
                  [filter.box[2], filter.box[3]],
                  [filter.box[0], filter.box[3]],
              ]
            : filter?.lasso;
        if (!corners) return;
        const points = corners.map(([x, y]) => this.inPicture(x, y).join(",")).join(" ");
        this.brush = shape("polygon", { class: "brush box", points });
        this.svg.append(this.brush);
    }

    private inPicture(x: number, y: number): Range {
        const { frame, window } = this.data;
        const [x0, y0, x1, y1] = window;
        return [frame[0] + ((x - x0) / (x1 - x0)) * frame[2], frame[1] + ((y1 - y) / (y1 - y0)) * frame[3]];
    }

    /** The position of an event on the axes. */
    private position(event: MouseEvent): Range {
        const { x, y } = placeIn(this.svg, event);
        const { frame, window } = this.data;
        const [x0, y0, x1, y1] = window;
        const inside = (share: number) => Math.min(Math.max(share, 0), 1);
        return [x0 + inside((x - frame[0]) / frame[2]) * (x1 - x0), y1 - inside((y - frame[1]) / frame[3]) * (y1 - y0)];
    }

    private set(filter: Filter | null, done: boolean): void {
        this.mark(filter);
        this.owner.filter(this.index, filter, done);
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0 || !this.owner.isLive) return;
        const start = this.position(event);
        const path: [number, number][] = [start];
        const isLasso = this.isLasso || event.altKey;
        const view = this.index;
        follow(
            this.area,
            event,
            at => {
                const now = this.position(at);
                if (isLasso) {
                    path.push(now);
                    this.mark({ view, lasso: path });
                    return;
                }
                const box: Box = [
                    Math.min(start[0], now[0]),
                    Math.min(start[1], now[1]),
                    Math.max(start[0], now[0]),
                    Math.max(start[1], now[1]),
                ];
                this.set({ view, box }, false);
            },
            (_at, moved) => {
                if (!moved) this.set(null, true);
                else if (isLasso) this.set(path.length > 2 ? { view, lasso: thinned(path, CORNERS) } : null, true);
                else this.set(this.filter, true);
            },
        );
    }

    private key(event: KeyboardEvent): void {
        if (!this.owner.isLive || event.ctrlKey || event.metaKey || event.altKey) return;
        const [x0, y0, x1, y1] = this.data.window;
        const box = this.filter?.box;
        const [dx, dy] = [(x1 - x0) / 20, (y1 - y0) / 20];
        const moves: Record<string, Range> = {
            ArrowLeft: [-dx, 0],
            ArrowRight: [dx, 0],
            ArrowUp: [0, dy],
            ArrowDown: [0, -dy],
        };
        const move = moves[event.key];
        const middle: Box = [x0 + (x1 - x0) / 4, y0 + (y1 - y0) / 4, x1 - (x1 - x0) / 4, y1 - (y1 - y0) / 4];
        let next: Box | null = null;
        if (event.key === "Escape") next = null;
        else if (event.key === "Enter" || (move && !box)) next = middle;
        else if (move && box) next = [box[0] + move[0], box[1] + move[1], box[2] + move[0], box[3] + move[1]];
        else if ((event.key === "+" || event.key === "=") && box)
            next = [box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy];
        else if (event.key === "-" && box && box[2] - box[0] > 2 * dx && box[3] - box[1] > 2 * dy)
            next = [box[0] + dx, box[1] + dy, box[2] - dx, box[3] - dy];
        else return;
        this.set(next ? { view: this.index, box: next } : null, true);
        event.preventDefault();
        event.stopPropagation();
    }
}

/** Cards and tables: what the kernel writes, as text. */
export class TextTile extends Tile {
    constructor(owner: Owner, index: number, data: View) {
        super(owner, index, data);
        this.show(data);
    }

    show(data: View): void {
        if (data.kind === "numbers") {
            const cards = data.cells.map(cell => {
                const card = el("div", "card");
                card.append(el("div", "value", cell.text), el("div", "name", cell.name));
                return card;
            });
            const row = el("div", "cards");
            row.append(...cards);
            this.node.replaceChildren(row);
        } else if (data.kind === "table") {
            const table = el("table");
            const caption = el("caption", "", data.title ? `${data.title}: ${data.caption}` : data.caption);
            const head = el("tr");
            head.append(
                ...data.columns.map((name, at) => {
                    const cell = el("th", data.right[at] ? "right" : "", name);
                    cell.scope = "col";
                    return cell;
                }),
            );
            const rows = data.rows.map(row => {
                const line = el("tr");
                line.append(...row.map((text, at) => el("td", data.right[at] ? "right" : "", text)));
                return line;
            });
            const [thead, tbody] = [el("thead"), el("tbody")];
            thead.append(head);
            tbody.append(...rows);
            table.append(caption, thead, tbody);
            const scroll = el("div", "scroll");
            scroll.tabIndex = 0;
            scroll.append(table);
            this.node.replaceChildren(scroll);
        }
    }

    mark(): void {}
}

export function tile(owner: Owner, index: number, data: View): Tile {
    switch (data.kind) {
        case "slots":
            return new SlotsTile(owner, index, data);
        case "cells":
            return new CellsTile(owner, index, data);
        case "raster":
            return new RasterTile(owner, index, data);
        default:
            return new TextTile(owner, index, data);
    }
}
