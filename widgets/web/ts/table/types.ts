// The data of a table, and functions of it that need no page: kinds of values, their strings, sort orders of saved
// rows. The names are those of Positron's data explorer.

/** A string, or a code for a special value. */
export type Cell = string | number;

export const NULL = 0;
export const NAN = 2;
export const INFINITY = 10;
export const NEGATIVE_INFINITY = 11;

export interface Column {
    column_name: string;
    column_index: number;
    type_name: string;
    type_display: string;
    /** Right-aligned. */
    right?: boolean;
    nulls?: number;
}

/** The data of `application/vnd.onrush.table.v1+json`. */
export interface Saved {
    version: number;
    /** The id of the frame in the kernel; missing in a file that was written without one. */
    frame?: string;
    num_rows: number;
    num_columns: number;
    bytes: number | null;
    location: string;
    columns: Column[];
    rows: Cell[][];
}

export interface SortKey {
    column_index: number;
    ascending: boolean;
}

export interface Filter {
    filter_id: string;
    filter_type: string;
    column_schema: Column;
    condition: "and" | "or";
    params?: Record<string, unknown>;
}

export interface Stats {
    num_rows: number;
    num_nan: number;
    num_unique: number | null;
    num_unique_exact: boolean;
    min: string | null;
    max: string | null;
    number_stats?: { mean: string | null; stdev: string | null };
    string_stats?: { num_empty: number };
}

export interface Profile {
    null_count?: number;
    summary_stats?: Stats;
    small_histogram?: { bin_edges: string[]; bin_counts: number[] };
    small_frequency_table?: { values: Cell[]; counts: number[]; other_count: number };
}

export type Kind = "plain" | "null" | "special" | "blank" | "missing";

/** The display of a cell: empty or blank strings, null, NaN and infinity are distinguishable from other values. */
export function shown(cell: Cell | undefined): { text: string; kind: Kind } {
    if (cell === undefined) return { text: "", kind: "missing" };
    if (typeof cell === "number") {
        if (cell === NAN) return { text: "NaN", kind: "special" };
        if (cell === INFINITY) return { text: "∞", kind: "special" };
        if (cell === NEGATIVE_INFINITY) return { text: "−∞", kind: "special" };
        return { text: "null", kind: "null" };
    }
    if (cell === "") return { text: '""', kind: "blank" };
    if (cell.trim() === "") return { text: `"${spaces(cell)}"`, kind: "blank" };
    return { text: visible(cell), kind: "plain" };
}

/** White space as visible signs. */
export function spaces(text: string): string {
    return text.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\s/g, "␣");
}

/** On one line, in logical order: direction marks and invisible letters are shown by name. */
export function visible(text: string): string {
    return text
        .replace(/\r\n|\n|\r/g, "⏎")
        .replace(/\t/g, "⇥")
        .replace(
            /[\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/gu,
            letter => `\\u{${letter.codePointAt(0)?.toString(16)}}`,
        );
}

/** The display of a column name. */
export function named(name: string): string {
    return name.trim() === "" ? `"${spaces(name)}"` : visible(name);
}

/** A cell as copied: null is empty. */
export function copied(cell: Cell | undefined): string {
    if (cell === undefined || cell === NULL) return "";
    if (cell === NAN) return "NaN";
    if (cell === INFINITY) return "inf";
    if (cell === NEGATIVE_INFINITY) return "-inf";
    const text = String(cell);
    return /[\t\n\r"]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const NUMBERS = new Set(["integer", "floating", "decimal"]);

export function isNumber(column: Column): boolean {
    return NUMBERS.has(column.type_display);
}

export function isTemporal(column: Column): boolean {
    return ["date", "datetime", "time"].includes(column.type_display);
}

export function isNested(column: Column): boolean {
    return ["array", "struct"].includes(column.type_display);
}

/** The sort order of the session: nulls last, NaN above all numbers. */
export function compare(a: Cell, b: Cell, column: Column, ascending: boolean): number {
    const aNull = a === NULL;
    const bNull = b === NULL;
    if (aNull || bNull) return aNull === bNull ? 0 : aNull ? 1 : -1;
    let order: number;
    if (isNumber(column)) {
        const x = number(a);
        const y = number(b);
        order = Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : x - y;
    } else {
        const x = String(a);
        const y = String(b);
        order = x < y ? -1 : x > y ? 1 : 0;
    }
    return ascending ? order : -order;
}

function number(cell: Cell): number {
    if (cell === INFINITY) return Number.POSITIVE_INFINITY;
    if (cell === NEGATIVE_INFINITY) return Number.NEGATIVE_INFINITY;
    return typeof cell === "number" ? Number.NaN : Number(cell);
}

/** Positions of saved rows in a sort order; the sort is stable. */
export function orderOf(rows: Cell[][], sort: SortKey[], columns: Column[]): number[] {
    const order = rows.map((_, i) => i);
    if (sort.length === 0) return order;
    return order.sort((a, b) => {
        for (const key of sort) {
            const column = columns[key.column_index];
            if (!column) continue;
            const x = rows[a]?.[key.column_index] ?? NULL;
            const y = rows[b]?.[key.column_index] ?? NULL;
            const found = compare(x, y, column, key.ascending);
            if (found !== 0 && !Number.isNaN(found)) return found;
        }
        return a - b;
    });
}

/** The sort keys after a click on a column header: ascending, descending, none. With `add` the other keys are kept. */
export function nextSort(sort: SortKey[], column: number, add: boolean): SortKey[] {
    const old = sort.find(key => key.column_index === column);
    const next = !old ? { column_index: column, ascending: true } : old.ascending ? { ...old, ascending: false } : null;
    if (!add) return next ? [next] : [];
    if (!old) return [...sort, next as SortKey];
    return sort.flatMap(key => (key.column_index !== column ? [key] : next ? [next] : []));
}

const COMPARISONS: Record<string, string> = { "=": "=", "!=": "≠", "<": "<", "<=": "≤", ">": ">", ">=": "≥" };
const SEARCHES: Record<string, string> = {
    contains: "contains",
    not_contains: "does not contain",
    starts_with: "starts with",
    ends_with: "ends with",
    regex_match: "matches",
};

/** A short description of a filter, without the column name. */
export function filterText(filter: Filter): string {
    const params = filter.params ?? {};
    const quoted = (value: unknown) => (isNumber(filter.column_schema) ? String(value) : `"${String(value)}"`);
    switch (filter.filter_type) {
        case "is_null":
            return "is null";
        case "not_null":
            return "is not null";
        case "is_empty":
            return 'is ""';
        case "not_empty":
            return 'is not ""';
        case "is_true":
            return "is true";
        case "is_false":
            return "is false";
        case "compare":
            return `${COMPARISONS[String(params.op)] ?? String(params.op)} ${quoted(params.value)}`;
        case "between":
            return `from ${String(params.left_value)} to ${String(params.right_value)}`;
        case "not_between":
            return `not from ${String(params.left_value)} to ${String(params.right_value)}`;
        case "search":
            return `${SEARCHES[String(params.search_type)] ?? String(params.search_type)} "${String(params.term)}"`;
        case "set_membership": {
            const values = (params.values as string[]) ?? [];
            const some =
                values.slice(0, 3).map(quoted).join(", ") + (values.length > 3 ? ` and ${values.length - 3} more` : "");
            const word = params.inclusive === false ? "is not" : "is";
            return values.length === 1 ? `${word} ${some}` : `${word} one of ${some}`;
        }
        default:
            return filter.filter_type;
    }
}

/** The filter for bars `first` to `last` of a histogram. Integer edges: each bar includes its lower edge only. */
export function brushed(
    edges: string[],
    first: number,
    last: number,
    whole: boolean,
): { left: string; right: string } | null {
    const left = edges[first];
    let right = edges[last + 1];
    if (left === undefined || right === undefined) return null;
    if (whole && last + 2 < edges.length) {
        const n = Number(right);
        if (Number.isSafeInteger(n)) right = String(n - 1);
    }
    return { left, right };
}

const thousands = new Intl.NumberFormat("en", { useGrouping: true });

export function grouped(n: number): string {
    return thousands.format(n).replaceAll(",", "\u202f");
}

/** `12.3k`, `4.5M`: for narrow places. */
export function short(n: number): string {
    if (n < 10_000) return grouped(n);
    for (const [size, sign] of [
        [1e9, "G"],
        [1e6, "M"],
        [1e3, "k"],
    ] as const) {
        if (n >= size) return `${(n / size).toPrecision(3).replace(/\.?0+$/, "")}${sign}`;
    }
    return String(n);
}

export function bytes(n: number): string {
    let size = n;
    for (const unit of ["bytes", "kB", "MB", "GB", "TB"]) {
        if (size < 1000 || unit === "TB")
            return `${size < 10 && unit !== "bytes" ? size.toFixed(1) : Math.round(size)} ${unit}`;
        size /= 1000;
    }
    return `${n} bytes`;
}
