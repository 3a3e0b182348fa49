// Parses the traceback of an error, which is coloured text. The kernel writes it (widgets/view/src/diagnostic.rs); a
// notebook file may hold anything: unexpected input stays text.

export interface Mark {
    /** In characters of the line; `end` is after the last one. */
    start: number;
    end: number;
    primary: boolean;
}

/** A label under a line of code. */
export interface Words {
    text: string;
    primary: boolean;
}

export type Row =
    | { kind: "code"; number: string; text: string; marks: Mark[] }
    | { kind: "under"; words: Words[] }
    | { kind: "gap" };

export interface Place {
    title: string;
    /** Of `In [3]`. */
    cell: number | null;
    line: number;
    column: number;
}

export interface Snippet {
    place: Place;
    rows: Row[];
}

export interface Item {
    name: string;
    text: string;
}

export interface Call {
    place: Place;
    text: string;
}

export interface Diagnostic {
    isError: boolean;
    code: string;
    message: string;
    snippets: Snippet[];
    items: Item[];
    trace: Call[];
}

interface Piece {
    style: string;
    text: string;
}

const RED = "1;31";
const YELLOW = "1;33";
const BLUE = "1;34";
const BOLD = "1";
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins a colour.
const COLOUR = /\x1b\[([0-9;]*)m/;

/** The start of a continuation line, where the kernel had to wrap. */
const GOES_ON = "\x1b[0m";

function pieces(line: string): Piece[] {
    const found: Piece[] = [];
    let style = "";
    line.split(COLOUR).forEach((part, at) => {
        if (at % 2 === 1) style = part === "0" ? "" : part;
        else if (part) found.push({ style, text: part });
    });
    return found;
}

const plain = (all: Piece[]) => all.map(one => one.text).join("");

/** `In [1], line 6` and what follows. */
function placeOf(text: string): [Place, string] | null {
    const found = /^(.*?), line (\d{1,9})(?:, column (\d{1,9}))?(.*)$/su.exec(text);
    if (!found) return null;
    const title = found[1] ?? "";
    const cell = /^In \[(\d{1,9})\]$/.exec(title);
    const place = {
        title,
        cell: cell ? Number(cell[1]) : null,
        line: Number(found[2]),
        column: Number(found[3] ?? 1),
    };
    return [place, found[4] ?? ""];
}

function callOf(text: string): Call {
    const found = placeOf(text);
    if (found) return { place: found[0], text: found[1].replace(/^, /, "") };
    return { place: { title: text, cell: null, line: 0, column: 0 }, text: "" };
}

/** Width in terminal cells: the unit of the kernel's underlines. */
export function width(character: string): number {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x300) return 1;
    if (/^\p{M}$|^\p{Cf}$/u.test(character)) return 0;
    const wide =
        (code >= 0x1100 && code <= 0x115f) ||
        (code >= 0x2e80 && code <= 0xa4cf) ||
        (code >= 0xac00 && code <= 0xd7a3) ||
        (code >= 0xf900 && code <= 0xfaff) ||
        (code >= 0xfe30 && code <= 0xfe6f) ||
        (code >= 0xff00 && code <= 0xff60) ||
        (code >= 0xffe0 && code <= 0xffe6) ||
        (code >= 0x1f300 && code <= 0x1f64f) ||
        (code >= 0x1f900 && code <= 0x1f9ff) ||
        (code >= 0x20000 && code <= 0x3fffd);
    return wide ? 2 : 1;
}

/** The offset in a text of a cell; past the end of the text cells are counted on. */
function offsetAt(text: string, cell: number): number {
    let at = 0;
    let offset = 0;
    for (const character of text) {
        if (at >= cell) return offset;
        at += width(character);
        offset += character.length;
    }
    return offset + Math.max(0, cell - at);
}

const isUnderline = (piece: Piece) =>
    (piece.style === BLUE && /^-+$/.test(piece.text)) ||
    ((piece.style === RED || piece.style === YELLOW) && /^\^+$/.test(piece.text));

/** Marks of the line of code above, and the remaining text. */
function underlines(all: Piece[], code: string): { marks: Mark[]; words: Words[] } {
    const marks: Mark[] = [];
    const words: Words[] = [];
    let cell = 0;
    for (const piece of all) {
        const primary = piece.style !== BLUE;
        if (isUnderline(piece)) {
            const start = offsetAt(code, cell);
            marks.push({ start, end: Math.max(start + 1, offsetAt(code, cell + piece.text.length)), primary });
            words.push({ text: " ".repeat(piece.text.length), primary });
            cell += piece.text.length;
        } else {
            words.push({ text: piece.text, primary });
            for (const character of piece.text) cell += width(character);
        }
    }
    return { marks, words: words.some(one => one.text.trim()) ? words : [] };
}

const HEAD = /^(error|warning)(?:\[(.*)\])?$/su;

function headOf(all: Piece[]): Diagnostic | null {
    const [first, second] = all;
    const head = first && [RED, YELLOW].includes(first.style) ? HEAD.exec(first.text) : null;
    if (!head || all.length > 2 || (second && second.style !== BOLD)) return null;
    return {
        isError: head[1] === "error",
        code: head[2] ?? "",
        message: second?.text.replace(/^: /, "") ?? "",
        snippets: [],
        items: [],
        trace: [],
    };
}

class Reader {
    readonly found: Diagnostic[] = [];
    private indent = 0;
    private open: Diagnostic | null = null;

    line(line: string): void {
        const all = pieces(line);
        if (line.startsWith(GOES_ON) && this.open) {
            const last = this.open.items.at(-1);
            const text = ` ${plain(all).trim()}`;
            if (last) last.text += text;
            else this.open.message += text;
            return;
        }
        const head = headOf(all);
        if (head) {
            this.open = head;
            this.found.push(head);
            return;
        }
        const one = this.open;
        if (!one) return;
        if (this.place(one, all) || this.item(one, all) || this.source(one, all)) return;
        const last = one.items.at(-1);
        const text = plain(all);
        if (last) last.text += `\n${text.slice(0, this.indent).trim() ? text : text.slice(this.indent)}`;
        else if (!one.snippets.length) one.message += `\n${text}`;
        else if (text.trim()) one.items.push({ name: "", text });
    }

    private place(one: Diagnostic, all: Piece[]): boolean {
        const arrow = all.findIndex(piece => piece.style === BLUE && ["-->", ":::"].includes(piece.text));
        if (arrow < 0 || arrow > 1 || one.items.length) return false;
        const found = placeOf(plain(all.slice(arrow + 1)).trim());
        if (!found) return false;
        one.snippets.push({ place: found[0], rows: [] });
        return true;
    }

    private item(one: Diagnostic, all: Piece[]): boolean {
        const framed = all.findIndex(piece => piece.style === BLUE && piece.text === "=");
        const at = framed >= 0 && framed <= 1 ? framed + 2 : 0;
        const name = all[at];
        const rest = plain(all.slice(at + 1));
        if (framed >= 0 && framed <= 1 && name?.style !== BOLD) {
            // A label without source.
            one.items.push({ name: "", text: plain(all.slice(framed + 1)).trim() });
            this.indent = plain(all.slice(0, framed + 1)).length + 1;
            return true;
        }
        if (name?.style !== BOLD || !["note", "help", "trace"].includes(name.text) || !rest.startsWith(": "))
            return false;
        one.items.push({ name: name.text, text: rest.slice(2) });
        this.indent = plain(all.slice(0, at + 1)).length + 2;
        return true;
    }

    private source(one: Diagnostic, all: Piece[]): boolean {
        const rows = one.snippets.at(-1)?.rows;
        const [first, second] = all;
        if (!rows || one.items.length || !first) return false;
        const number = first.style === BLUE ? /^ *(\d{1,9}) \|$/.exec(first.text) : null;
        if (number) {
            const text = plain(all.slice(1)).replace(/^ /, "");
            rows.push({ kind: "code", number: number[1] ?? "", text, marks: [] });
            return true;
        }
        if (first.style === BLUE && first.text === "...") {
            rows.push({ kind: "gap" });
            return true;
        }
        if (first.text.trim() || second?.style !== BLUE || second.text !== "|") return false;
        const rest = all.slice(2);
        // One space separates the bar from the text below the code.
        if (rest[0]) rest[0] = { style: rest[0].style, text: rest[0].text.replace(/^ /, "") };
        const last = rows.at(-1);
        const code = last?.kind === "code" ? last : null;
        const { marks, words } = underlines(
            rest.filter(piece => piece.text),
            code?.text ?? "",
        );
        code?.marks.push(...marks);
        if (words.length) rows.push({ kind: "under", words });
        return true;
    }
}

/** The errors and warnings of a failed cell; `null` for an error of another kernel. */
export function read(output: unknown): Diagnostic[] | null {
    const traceback = (output as { traceback?: unknown } | null)?.traceback;
    if (!Array.isArray(traceback) || !traceback.every(line => typeof line === "string")) return null;
    const lines = traceback.flatMap(line => line.split("\n"));
    if (!headOf(pieces(lines[0] ?? ""))) return null;
    const reader = new Reader();
    for (const line of lines) reader.line(line);
    for (const one of reader.found) {
        one.message = one.message.replace(/\n+$/, "");
        for (const item of one.items) item.text = item.text.replace(/\n+$/, "");
        one.trace = one.items.filter(item => item.name === "trace").flatMap(item => item.text.split("\n").map(callOf));
        one.items = one.items.filter(item => item.name !== "trace");
    }
    return reader.found;
}

/** The replacement code, if a help states it. */
export function replacement(help: string): string | null {
    const [said = "", ...more] = help.split("\n");
    if (said.endsWith(":") && more.length) {
        const lines = more.filter(line => !/^[\s+~^-]*$/.test(line));
        const indent = Math.min(...lines.map(line => line.length - line.trimStart().length));
        return lines.length ? lines.map(line => line.slice(indent)).join("\n") : null;
    }
    const quoted = [...help.matchAll(/`([^`]+)`/g)].map(found => found[1] ?? "");
    return quoted.length === 1 && /^(did you mean|add|write|use) `/i.test(help) ? (quoted[0] ?? null) : null;
}
