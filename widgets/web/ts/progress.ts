// Lines of progress with a stop button. Data from the kernel becomes text, never markup.

import { Connection } from "./connection.ts";
import type { Drawn } from "./renderers.ts";
import type { SessionContext } from "./session.ts";

export const PROGRESS = "application/vnd.onrush.progress.v1+json";
const TARGET = "onrush.progress";

interface Line {
    depth: number;
    title: string;
    /** From 0 to 1; null if unknown. */
    part: number | null;
    facts: string[];
    /** The task id of the session; null: a loop of the cell, which is stopped as a whole. */
    task: number | null;
    /** Trials of a search, or the last points of a curve. */
    table: { head: string[]; rows: string[][] } | null;
}

interface Progress {
    ended: string | null;
    lines: Line[];
    more: string | null;
}

/** Unexpected fields are dropped: a notebook file may hold anything. */
function read(data: unknown): Progress {
    const from = (data ?? {}) as Record<string, unknown>;
    const text = (value: unknown) => (typeof value === "string" ? value : null);
    const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);
    const list = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
    const table = (value: unknown) => {
        const { head, rows } = (value ?? {}) as Record<string, unknown>;
        return Array.isArray(rows) && rows.length > 0 ? { head: list(head), rows: rows.slice(0, 50).map(list) } : null;
    };
    const all = Array.isArray(from.lines) ? (from.lines as Record<string, unknown>[]) : [];
    const lines = all
        .filter(line => line && typeof line === "object")
        .map(line => ({
            depth: Math.min(8, Math.max(0, number(line.depth) ?? 0)),
            title: text(line.title) ?? "",
            part: number(line.part),
            facts: Array.isArray(line.facts) ? line.facts.map(String) : [],
            task: number(line.task),
            table: table(line.table),
        }));
    return { ended: text(from.ended), lines, more: text(from.more) };
}

/** One line; its elements are reused, so that a button can be pressed while numbers change. */
class Row {
    readonly node = document.createElement("div");
    readonly table = document.createElement("table");
    private readonly bar = document.createElement("progress");
    private readonly percent = document.createElement("span");
    private readonly title = document.createElement("b");
    private readonly facts = document.createElement("span");
    private readonly button = document.createElement("button");
    private line: Line | null = null;

    constructor(stop: (task: number | null) => Promise<unknown>) {
        this.node.className = "onrush-progress-line";
        this.node.style.cssText =
            "display:flex;align-items:center;gap:.6em;white-space:nowrap;line-height:1.7;font-size:.9em";
        // The line is cut rather than its button pushed out of sight.
        this.facts.style.cssText = "min-width:0;overflow:hidden;text-overflow:ellipsis";
        this.bar.max = 1;
        this.bar.style.width = "8em";
        this.button.type = "button";
        this.button.textContent = "Stop";
        this.button.className = "onrush-progress-stop";
        // Browsers and themes draw the borders of buttons differently.
        this.button.style.cssText =
            "font:inherit;font-size:.85em;padding:0 .6em;cursor:pointer;color:inherit;background:transparent;border:1px solid currentColor;border-radius:3px;flex-shrink:0";
        this.button.addEventListener("click", () => {
            this.button.disabled = true;
            this.button.textContent = "Stopping…";
            stop(this.line?.task ?? null).catch(() => {
                this.button.disabled = false;
                this.button.textContent = "Stop";
            });
        });
        this.node.append(this.bar, this.percent, this.title, this.facts, this.button);
    }

    update(line: Line, canStop: boolean): void {
        if (this.line && this.line.task !== line.task) {
            this.button.disabled = false;
            this.button.textContent = "Stop";
        }
        this.line = line;
        this.drawTable(line.table);
        this.node.style.paddingLeft = `${line.depth * 1.5}em`;
        this.bar.hidden = line.part === null;
        this.percent.hidden = line.part === null;
        if (line.part !== null) {
            this.bar.value = line.part;
            this.percent.textContent = `${Math.floor(line.part * 100)} %`;
        }
        this.title.textContent = line.title;
        this.facts.textContent = line.facts.join(" · ");
        this.button.hidden = !canStop;
        this.button.setAttribute("aria-label", `Stop ${line.title}`);
    }

    private drawTable(table: Line["table"]): void {
        this.table.hidden = table === null;
        this.table.className = "onrush-progress-table";
        this.table.style.cssText = "border-collapse:collapse;font-size:.85em;font-variant-numeric:tabular-nums";
        if (table === null) {
            this.table.replaceChildren();
            return;
        }
        const row = (cells: string[], tag: "th" | "td") => {
            const node = document.createElement("tr");
            for (const cell of cells) {
                const one = document.createElement(tag);
                one.textContent = cell;
                one.style.cssText = "text-align:right;padding:0 .6em;font-weight:" + (tag === "th" ? "600" : "400");
                node.append(one);
            }
            return node;
        };
        this.table.replaceChildren(row(table.head, "th"), ...table.rows.map(cells => row(cells, "td")));
    }
}

function note(text: string): HTMLElement {
    const node = document.createElement("div");
    node.style.cssText = "font-size:.9em;opacity:.65";
    node.textContent = text;
    return node;
}

export function drawProgress(node: HTMLElement, data: unknown): Drawn {
    let connection: Connection | null = null;
    let progress = read(data);
    const rows: Row[] = [];
    const above = document.createElement("div");
    const middle = document.createElement("div");
    const below = document.createElement("div");
    node.append(above, middle, below);

    const stop = (task: number | null) =>
        connection?.request("stop", { task }) ?? Promise.reject(new Error("no kernel"));
    const draw = () => {
        above.replaceChildren(...(progress.ended === null ? [] : [note(progress.ended)]));
        below.replaceChildren(...(progress.more === null ? [] : [note(progress.more)]));
        while (rows.length < progress.lines.length) {
            const row = new Row(stop);
            rows.push(row);
            middle.append(row.node, row.table);
        }
        for (const row of rows.splice(progress.lines.length)) {
            row.node.remove();
            row.table.remove();
        }
        rows.forEach((row, at) => {
            const line = progress.lines[at];
            if (line) row.update(line, connection?.isOpen ?? false);
        });
    };
    draw();
    const end = () => {
        connection?.dispose();
        connection = null;
    };
    return {
        update: next => {
            progress = read(next);
            draw();
        },
        attached: (session: SessionContext | null) => {
            if (session && !connection)
                connection = new Connection(session, TARGET, () => ({}), {
                    opened: () => setTimeout(draw),
                    closed: draw,
                });
            draw();
        },
        detached: end,
        dispose: end,
    };
}
