// The error of a cell: its source with the place underlined, the help, and the calls that led there, folded. Text from
// cells and data only ever becomes text.

import type { Drawn } from "../renderers.ts";
import type { Go } from "../session.ts";
import { button, el, toClipboard } from "../table/dom.ts";
import { type Call, type Diagnostic, type Place, type Row, read, replacement, type Words } from "./parse_traceback.ts";
import css from "./style.css";

/** The internal type of JupyterLab for outputs that nbformat calls `error`; the kernel cannot add another representation. */
export const ERROR = "application/vnd.jupyter.error";

/** A place to jump to, if there is a cell with that number. */
function link(place: Place, text: string, go: Go): HTMLElement {
    const { cell } = place;
    if (cell === null) return el("span", "place", text);
    return button("place", text, `Go to line ${place.line} of In [${cell}]`, () => go(cell, place.line, place.column));
}

/** Text between backticks is code. */
function prose(text: string): HTMLElement {
    const node = el("span", "prose");
    text.split(/(`[^`\n]*`)/).forEach((part, at) => {
        // A column may have no name.
        node.append(at % 2 === 1 ? el("code", "", part.slice(1, -1) || '""') : part);
    });
    return node;
}

function code(row: Extract<Row, { kind: "code" }>, primary: string): HTMLElement {
    const node = el("span", "code");
    const marks = [...row.marks].sort((a, b) => a.start - b.start);
    let at = 0;
    for (const mark of marks) {
        if (mark.start < at) continue;
        node.append(row.text.slice(at, mark.start));
        // Past the end of a line: something is missing there.
        const marked = row.text.slice(mark.start, mark.end) || " ";
        node.append(el("mark", mark.primary ? primary : "second", marked));
        at = mark.end;
    }
    node.append(row.text.slice(at));
    return node;
}

function under(words: Words[], primary: string): HTMLElement {
    const node = el("span", "code under");
    for (const one of words) node.append(el("span", one.primary ? primary : "second", one.text));
    return node;
}

function source(one: Diagnostic, place: Place, rows: Row[], go: Go): HTMLElement {
    const primary = one.isError ? "first" : "first warning";
    const node = el("div", "source");
    for (const row of rows) {
        if (row.kind === "code") {
            const number = Number(row.number);
            const label = link(
                { ...place, line: number, column: number === place.line ? place.column : 1 },
                row.number,
                go,
            );
            label.classList.add("number");
            node.append(label, code(row, primary));
        } else if (row.kind === "gap") node.append(el("span", "number", "⋮"), el("span"));
        else node.append(el("span", "number"), under(row.words, primary));
    }
    return node;
}

function item(name: string, text: string): HTMLElement {
    const node = el("div", "item");
    const [said = "", ...more] = text.split("\n");
    const right = el("div", "said");
    right.append(prose(said));
    if (more.length) right.append(el("pre", "", more.join("\n")));
    const write = name === "help" ? replacement(text) : null;
    if (write !== null) {
        const copy = button("copy", "copy", `Copy: ${write}`, async () => {
            await toClipboard(write);
            copy.textContent = "copied";
            setTimeout(() => (copy.textContent = "copy"), 1500);
        });
        right.firstElementChild?.append(" ", copy);
    }
    node.append(el("b", `name ${name}`, name), right);
    return node;
}

function trace(calls: Call[], go: Go): HTMLElement {
    const node = el("details", "trace");
    node.append(el("summary", "", `trace: ${calls.length} calls`));
    for (const call of calls) {
        const { title, line } = call.place;
        const row = el("div", "call");
        row.append(link(call.place, line ? `${title}, line ${line}` : title, go), " ", prose(call.text));
        node.append(row);
    }
    return node;
}

function diagnostic(one: Diagnostic, go: Go): HTMLElement {
    const node = el("section", one.isError ? "error" : "error warning");
    const [said = "", ...more] = one.message.split("\n");
    const head = el("div", "head");
    head.append(el("b", "kind", one.isError ? "error" : "warning"));
    if (one.code) head.append(el("span", "code-name", one.code));
    const message = prose(said);
    message.classList.add("message");
    head.append(message);
    node.append(head);
    if (more.length) node.append(el("pre", "more", more.join("\n")));
    for (const { place, rows } of one.snippets) {
        const at = el("div", "at");
        at.append(link(place, `${place.title}, line ${place.line}`, go));
        node.append(at);
        if (rows.length) node.append(source(one, place, rows, go));
    }
    for (const { name, text } of one.items) node.append(item(name, text));
    if (one.trace.length) node.append(trace(one.trace, go));
    return node;
}

/** `null`: not an error of Onrush. */
export function drawError(node: HTMLElement, output: unknown): Drawn | null {
    if (!read(output)) return null;
    const root = el("div", "root");
    const shadow = node.shadowRoot ?? node.attachShadow({ mode: "open" });
    shadow.replaceChildren(el("style", "", css), root);
    let go: Go = () => {};
    const draw = (data: unknown) => {
        const here: Go = (cell, line, column) => go(cell, line, column);
        root.replaceChildren(...(read(data) ?? []).map(one => diagnostic(one, here)));
    };
    draw(output);
    return {
        update: draw,
        attached: (_session, editors) => {
            if (editors) go = editors;
        },
        dispose: () => {},
    };
}
