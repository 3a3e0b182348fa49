// The visible rows. A cell that stays in view keeps its element, however often the table is drawn. A click is a press
// and a release over one element, and the press alone causes a redraw.

import { el, keep } from "./dom.ts";
import { type Column, grouped, type shown } from "./types.ts";

export interface Placed {
    column: Column;
    /** The index among the scrollable columns. */
    at: number;
    left: number;
    width: number;
    pinned: boolean;
}

interface Line {
    root: HTMLElement;
    number: HTMLElement;
    cells: Map<number, HTMLElement>;
}

/** The content of a row, and its look. */
export interface Content {
    position(row: number): number | undefined;
    cell(row: number, column: number): ReturnType<typeof shown>;
    isChosen(row: number, at: number): boolean;
    isCursor(row: number, at: number): boolean;
}

export class Rows {
    private lines = new Map<number, Line>();

    constructor(private readonly body: HTMLElement) {}

    /** Rows `first` to `end`, the first of them at `top` pixels. Without rows, the text `none`. */
    draw(
        first: number,
        end: number,
        top: number,
        height: number,
        visible: Placed[],
        content: Content,
        none: string,
    ): void {
        const before = this.lines;
        this.lines = new Map();
        const drawn: HTMLElement[] = [];
        for (let row = first; row < end; row++) {
            const line = before.get(row) ?? fresh(row);
            this.lines.set(row, line);
            drawn.push(line.root);
            line.root.style.transform = `translateY(${top + (row - first) * height}px)`;
            const position = content.position(row);
            setText(line.number, position === undefined ? "" : grouped(position));
            drawCells(line, row, visible, content);
        }
        keep(this.body, drawn.length > 0 ? drawn : [el("div", "none", none)]);
    }
}

function fresh(row: number): Line {
    const root = el("div", row % 2 ? "line odd" : "line");
    root.setAttribute("role", "row");
    root.setAttribute("aria-rowindex", String(row + 1));
    const number = el("div", "number");
    number.dataset.row = String(row);
    root.append(number);
    return { root, number, cells: new Map() };
}

function drawCells(line: Line, row: number, visible: Placed[], content: Content): void {
    const before = line.cells;
    line.cells = new Map();
    const drawn: HTMLElement[] = [line.number];
    for (const { column, at, left, width, pinned } of visible) {
        const index = column.column_index;
        const cell = before.get(index) ?? freshCell(row);
        line.cells.set(index, cell);
        drawn.push(cell);
        const { text, kind } = content.cell(row, index);
        setText(cell, text);
        const marks = [
            column.right && "right",
            pinned && "pinned",
            content.isChosen(row, at) && "chosen",
            content.isCursor(row, at) && "cursor",
        ];
        const name = ["cell", kind, ...marks.filter(Boolean)].join(" ");
        if (cell.className !== name) cell.className = name;
        cell.style.width = `${width}px`;
        cell.style.left = `${left}px`;
        cell.dataset.column = String(at);
    }
    keep(line.root, drawn);
}

function freshCell(row: number): HTMLElement {
    const cell = el("div", "cell");
    cell.setAttribute("role", "gridcell");
    cell.dir = "auto";
    cell.dataset.row = String(row);
    return cell;
}

function setText(element: HTMLElement, text: string): void {
    if (element.textContent !== text) element.textContent = text;
}
