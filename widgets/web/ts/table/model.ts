// The state of a table, and its connection to the kernel: loaded rows, filters, sort order, summaries. No drawing.
// Without a kernel only the saved rows are available.

import { type Connection, Failure } from "../connection.ts";
import {
    type Cell,
    type Column,
    copied,
    type Filter,
    isNested,
    nextSort,
    orderOf,
    type Profile,
    type Saved,
    type SortKey,
    shown,
} from "./types.ts";

/** Rows and columns of a request. */
const BLOCK = 100;
const COLUMNS = 16;
/** Maximum number of cached blocks. */
const KEPT = 600;
/** Maximum number of concurrent requests for rows: rows that were scrolled past meanwhile are never requested. */
const UNDER_WAY = 2;

const FORMAT = { large_num_digits: 2, small_num_digits: 4, max_integral_digits: 7, max_value_length: 200 };

export interface Range {
    top: number;
    bottom: number;
    left: number;
    right: number;
}

interface Wanted {
    first: number;
    end: number;
    columns: number[];
}

export class Model {
    columns: Column[];
    /** Rows of the frame. */
    readonly total: number;
    /** Rows that pass the filters. */
    selected: number;
    sort: SortKey[] = [];
    filters: Filter[] = [];
    /** The work in progress. */
    busy = "";
    error = "";
    /** A comm is open. */
    live = false;
    /** There was a comm, and it is closed. */
    wasLive = false;
    private connection: Connection | null = null;
    private blocks = new Map<string, Cell[][]>();
    private positions = new Map<number, number[]>();
    private wanted: Wanted = { first: 0, end: 0, columns: [] };
    private underWay = new Set<string>();
    private epoch = 0;
    private change = 0;
    private order: number[];
    private profiles = new Map<number, Profile>();
    private whole = new Map<number, Profile>();
    private profilesWanted: number[] = [];
    private profileUnderWay: { column: number; callback: string; epoch: number } | null = null;
    private callbacks = 0;
    private sent = { filters: "[]", sort: "[]" };

    constructor(
        readonly saved: Saved,
        private readonly changed: () => void,
        /** The rows or their order have changed: the scroll position has no meaning any more. */
        private readonly rearranged: () => void,
    ) {
        this.columns = saved.columns;
        this.total = saved.num_rows;
        this.selected = saved.num_rows;
        this.order = orderOf(saved.rows, [], saved.columns);
    }

    /** The number of available rows. */
    get rows(): number {
        return this.live ? this.selected : this.saved.rows.length;
    }

    connect(connection: Connection | null): void {
        this.connection = connection;
    }

    /** A comm was opened. The kernel closes it if it does not know the frame, so nothing is enabled before it has answered. */
    async opened(): Promise<void> {
        const connection = this.connection;
        try {
            await this.ask("get_state", {});
        } catch {
            return;
        }
        if (this.connection !== connection) return;
        this.live = true;
        this.forget();
        this.sent = { filters: "[]", sort: "[]" };
        this.selected = this.total;
        this.error = "";
        if (this.columns.length < this.saved.num_columns) this.complete();
        if (this.filters.length > 0 || this.sort.length > 0) this.apply();
        this.changed();
    }

    closed(): void {
        this.wasLive ||= this.live;
        this.live = false;
        this.busy = "";
        this.profileUnderWay = null;
        this.forget();
        this.filters = [];
        this.order = orderOf(this.saved.rows, this.sort, this.columns);
        this.changed();
    }

    /** The cell if it is loaded. */
    cell(row: number, column: number): Cell | undefined {
        if (!this.live) return this.saved.rows[this.order[row] ?? -1]?.[column];
        const block = this.blocks.get(`${Math.floor(row / BLOCK)}:${Math.floor(column / COLUMNS)}`);
        const found = block?.[column % COLUMNS]?.[row % BLOCK];
        // Before the first answer the saved rows are shown.
        return found ?? (this.isPlain ? this.saved.rows[row]?.[column] : undefined);
    }

    /** The position of a row in the frame, from 0. */
    position(row: number): number | undefined {
        if (!this.live) return this.order[row];
        return this.isPlain ? row : this.positions.get(Math.floor(row / BLOCK))?.[row % BLOCK];
    }

    private get isPlain(): boolean {
        return this.sent.filters === "[]" && this.sent.sort === "[]";
    }

    /** Sets the viewport: missing blocks are requested. */
    setViewport(first: number, end: number, columns: number[]): void {
        this.wanted = { first, end, columns };
        this.fetchMissing();
    }

    sortBy(column: number, add: boolean): void {
        this.setSort(nextSort(this.sort, column, add));
    }

    setSort(sort: SortKey[]): void {
        this.sort = sort;
        this.rearranged();
        if (this.live) this.apply();
        else this.order = orderOf(this.saved.rows, sort, this.columns);
        this.changed();
    }

    /** One filter for each column and kind of origin: the same id replaces. */
    setFilter(filter: Filter): void {
        const others = this.filters.filter(one => one.filter_id !== filter.filter_id);
        this.setFilters([...others, filter]);
    }

    setFilters(filters: Filter[]): void {
        this.filters = filters;
        this.rearranged();
        this.apply();
        this.changed();
    }

    /** The summary of the view; of the whole frame for a column with a filter, which would otherwise hide the other choices. */
    profile(column: number): Profile | undefined {
        const own = this.filters.some(filter => filter.column_schema.column_index === column);
        return (own ? this.whole.get(column) : undefined) ?? this.profiles.get(column) ?? this.whole.get(column);
    }

    wantProfiles(columns: number[]): void {
        this.profilesWanted = columns;
        this.pumpProfiles();
    }

    message(data: Record<string, unknown>): void {
        if (data.method !== "return_column_profiles") return;
        const params = data.params as { callback_id: string; profiles: Profile[]; error_message?: string };
        const asked = this.profileUnderWay;
        if (!asked || params.callback_id !== asked.callback) return;
        this.profileUnderWay = null;
        // Cancelled by a newer filter: requested again afterwards.
        if (params.error_message && this.busy) return;
        if (asked.epoch === this.epoch) {
            // The summary of a column that failed is not requested again.
            const profile = params.profiles[0] ?? {};
            this.profiles.set(asked.column, profile);
            if (this.isUnfiltered) this.whole.set(asked.column, profile);
            this.changed();
        }
        this.pumpProfiles();
    }

    /** A full value, as the table truncates it. */
    async value(row: number, column: number): Promise<string> {
        const cell = this.cell(row, column);
        const schema = this.columns[column];
        const isWhole = typeof cell === "number" || (cell !== undefined && cell.length < FORMAT.max_value_length);
        if (!this.live || (isWhole && schema && !isNested(schema)))
            return typeof cell === "string" ? cell : shown(cell).text;
        const answer = (await this.ask("get_value", { row_index: row, column_index: column })) as { text: string };
        return answer.text;
    }

    /** Tab-separated. */
    async copy(range: Range, columns: number[]): Promise<string> {
        const picked = columns.slice(range.left, range.right + 1);
        const rows: string[] = [];
        let complete = true;
        for (let row = range.top; row <= range.bottom && complete; row++) {
            const cells = picked.map(column => this.cell(row, column));
            complete = cells.every(
                cell => cell !== undefined && (typeof cell === "number" || cell.length < FORMAT.max_value_length),
            );
            rows.push(cells.map(copied).join("\t"));
        }
        const one = range.top === range.bottom && range.left === range.right;
        if (complete && one) return copied(this.cell(range.top, picked[0] ?? 0));
        if (complete || !this.live) return rows.join("\n");
        const first = picked[0] ?? 0;
        const together = picked.every((column, i) => column === first + i);
        const selection = together
            ? {
                  kind: "cell_range",
                  selection: {
                      first_row_index: range.top,
                      last_row_index: range.bottom,
                      first_column_index: first,
                      last_column_index: first + picked.length - 1,
                  },
              }
            : {
                  kind: "cell_indices",
                  selection: { row_indices: indices(range.top, range.bottom), column_indices: picked },
              };
        const answer = (await this.ask("export_data_selection", { selection, format: "tsv" })) as { data: string };
        // The first line of the protocol has the names; the copy of a spreadsheet has none.
        return answer.data.slice(answer.data.indexOf("\n") + 1).replace(/\n$/, "");
    }

    async code(): Promise<string> {
        const answer = (await this.ask("convert_to_code", {
            column_filters: [],
            row_filters: this.filters,
            sort_keys: this.sort,
            code_syntax_name: { code_syntax_name: "rust" },
        })) as { converted_code: string[] };
        return answer.converted_code.join("\n    ");
    }

    async exportFile(format: string, columns: number[]): Promise<{ name: string; rows: number; bytes: number }> {
        this.setBusy("writing a file");
        try {
            const answer = await this.ask("export_file", { format, name: "table", column_indices: columns });
            return answer as { name: string; rows: number; bytes: number };
        } finally {
            this.setBusy("");
        }
    }

    fail(why: unknown): void {
        this.error = why instanceof Error ? why.message : String(why);
        this.changed();
    }

    private get isUnfiltered(): boolean {
        return this.sent.filters === "[]";
    }

    private setBusy(what: string): void {
        this.busy = what;
        this.changed();
    }

    private async ask(method: string, params: object): Promise<unknown> {
        if (!this.connection) throw new Failure("no kernel");
        return (await this.connection.request(method, params)).result;
    }

    private forget(): void {
        this.epoch++;
        this.blocks.clear();
        this.positions.clear();
        this.underWay.clear();
        this.profiles.clear();
    }

    /** Columns beyond those that were saved. */
    private async complete(): Promise<void> {
        const rest = indices(this.columns.length, this.saved.num_columns - 1);
        try {
            const answer = (await this.ask("get_schema", { column_indices: rest })) as { columns: Column[] };
            const right = ["integer", "floating", "decimal", "interval"];
            const more = answer.columns.map(column => ({ ...column, right: right.includes(column.type_display) }));
            this.columns = [...this.saved.columns, ...more];
            this.changed();
        } catch (why) {
            this.fail(why);
        }
    }

    /** Sends filters and sort order to the session, if they have changed. */
    private async apply(): Promise<void> {
        const change = ++this.change;
        const before = { ...this.sent };
        const good = { filters: this.sent.filters, sort: this.sent.sort };
        this.error = "";
        try {
            const filters = JSON.stringify(this.filters);
            if (filters !== before.filters) {
                this.setBusy("filtering");
                const result = (await this.ask("set_row_filters", { filters: this.filters })) as {
                    selected_num_rows: number;
                };
                if (change !== this.change) return;
                this.sent.filters = filters;
                this.selected = result.selected_num_rows;
                this.forget();
            }
            const sort = JSON.stringify(this.sort);
            if (sort !== this.sent.sort) {
                this.setBusy("sorting");
                await this.ask("set_sort_columns", { sort_keys: this.sort });
                if (change !== this.change) return;
                const profiles = this.profiles;
                this.sent.sort = sort;
                this.forget();
                // The same rows: summaries stay valid.
                this.profiles = profiles;
            }
        } catch (why) {
            if (change !== this.change) return;
            if (!this.live) return;
            this.filters = JSON.parse(good.filters) as Filter[];
            this.sort = JSON.parse(good.sort) as SortKey[];
            // The session took the failed request for the current view.
            this.ask("set_row_filters", { filters: this.filters }).catch(() => {});
            this.fail(why);
        }
        this.setBusy("");
    }

    private fetchMissing(): void {
        if (!this.live) return;
        const { first, end, columns } = this.wanted;
        const parts = [...new Set(columns.map(column => Math.floor(column / COLUMNS)))];
        if (parts.length === 0) parts.push(0);
        for (let block = Math.floor(first / BLOCK); block * BLOCK < end; block++) {
            for (const part of parts) {
                if (this.underWay.size >= UNDER_WAY) return;
                const key = `${block}:${part}`;
                if (!this.blocks.has(key) && !this.underWay.has(key)) this.load(key, block, part);
            }
        }
    }

    private async load(key: string, block: number, part: number): Promise<void> {
        const epoch = this.epoch;
        this.underWay.add(key);
        const spec = { first_index: block * BLOCK, last_index: Math.min(block * BLOCK + BLOCK, this.selected) - 1 };
        const last = Math.min(part * COLUMNS + COLUMNS, this.columns.length) - 1;
        const columns = indices(part * COLUMNS, last).map(column_index => ({ column_index, spec }));
        try {
            const answer = await this.ask("get_data_values", { columns, format_options: FORMAT });
            if (epoch !== this.epoch) return;
            const page = answer as { columns: Cell[][]; positions: number[] };
            this.blocks.set(key, page.columns);
            this.positions.set(block, page.positions);
            const oldest = this.blocks.keys().next().value;
            if (this.blocks.size > KEPT && oldest !== undefined) this.blocks.delete(oldest);
        } catch (why) {
            if (epoch === this.epoch && this.live) {
                // No retry: until the view changes the rows stay blank.
                this.blocks.set(key, []);
                this.fail(why);
            }
        }
        if (epoch === this.epoch) {
            this.underWay.delete(key);
            this.changed();
            this.fetchMissing();
        }
    }

    private pumpProfiles(): void {
        if (!this.live || this.profileUnderWay || this.busy) return;
        const column = this.profilesWanted.find(one => !this.profiles.has(one));
        if (column === undefined) return;
        const callback = `p${++this.callbacks}`;
        this.profileUnderWay = { column, callback, epoch: this.epoch };
        const profiles = [
            { profile_type: "null_count" },
            { profile_type: "summary_stats" },
            { profile_type: "small_histogram", params: { method: "fixed", num_bins: 24 } },
            { profile_type: "small_frequency_table", params: { limit: 8 } },
        ];
        const params = {
            callback_id: callback,
            profiles: [{ column_index: column, profiles }],
            format_options: FORMAT,
        };
        this.ask("get_column_profiles", params).catch(() => {
            if (this.profileUnderWay?.callback === callback) this.profileUnderWay = null;
        });
    }
}

export function indices(first: number, last: number): number[] {
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}
