// What a table knows without a page: values, orders, filters in words, scroll bars of a billion rows.

import assert from "node:assert/strict";
import test from "node:test";
import type { Connection, Reply } from "../ts/connection.ts";
import { facts } from "../ts/table/column_header.ts";
import { Model } from "../ts/table/model.ts";
import {
    brushed,
    type Cell,
    type Column,
    copied,
    type Filter,
    filterText,
    grouped,
    named,
    nextSort,
    orderOf,
    type Saved,
    short,
    shown,
} from "../ts/table/types.ts";
import { Scroll, TALLEST } from "../ts/table/virtual_scroll.ts";

const column = (index: number, name: string, display: string): Column => ({
    column_index: index,
    column_name: name,
    type_name: display,
    type_display: display,
});

test("values that are no texts look like nothing else", () => {
    const kinds = [0, 2, 10, 11, "", " \t", "a\nb", "0", undefined].map(cell => shown(cell as Cell));
    assert.deepEqual(
        kinds.map(one => `${one.kind} ${one.text}`),
        [
            "null null",
            "special NaN",
            "special ∞",
            "special −∞",
            'blank ""',
            'blank "␣⇥"',
            "plain a⏎b",
            "plain 0",
            "missing ",
        ],
    );
    assert.deepEqual([0, 2, "", 'say "x"', "a\tb"].map(copied), ["", "NaN", "", '"say ""x"""', '"a\tb"']);
});

test("names and values stay on their line, and nothing in them is unseen", () => {
    const names = ["net\nsales", "a\tb\r\nc", "", " ", "\u202eevil", "a\u0007", "a\u2028b", "日本 語", "👩\u200d🚀"];
    const expected = [
        "net⏎sales",
        "a⇥b⏎c",
        '""',
        '"␣"',
        "\\u{202e}evil",
        "a\\u{7}",
        "a\\u{2028}b",
        "日本 語",
        "👩\u200d🚀",
    ];
    assert.deepEqual(names.map(named), expected);
    assert.equal(shown("\u202eevil").text, "\\u{202e}evil");
});

test("saved rows are sorted as the session sorts: nulls last, NaN above all numbers, ties as they were", () => {
    const rows: Cell[][] = [["2"], [0], ["10"], [2], ["-1"], [10], [11], ["2"]];
    const numbers = [column(0, "n", "integer")];
    const order = (ascending: boolean) => orderOf(rows, [{ column_index: 0, ascending }], numbers);
    assert.deepEqual(order(true), [6, 4, 0, 7, 2, 5, 3, 1]);
    assert.deepEqual(order(false), [3, 5, 2, 0, 7, 4, 6, 1]);
    const both: Cell[][] = [
        ["b", "1"],
        ["a", "2"],
        ["b", "0"],
    ];
    const keys = [
        { column_index: 0, ascending: false },
        { column_index: 1, ascending: true },
    ];
    assert.deepEqual(orderOf(both, keys, [column(0, "t", "string"), column(1, "n", "integer")]), [2, 0, 1]);
});

test("clicks on a head give rising, falling and no order, with Shift beside the others", () => {
    let sort = nextSort([], 3, false);
    assert.deepEqual(sort, [{ column_index: 3, ascending: true }]);
    sort = nextSort(sort, 1, true);
    sort = nextSort(sort, 3, true);
    assert.deepEqual(
        sort.map(key => [key.column_index, key.ascending]),
        [
            [3, false],
            [1, true],
        ],
    );
    sort = nextSort(sort, 3, true);
    assert.deepEqual(nextSort(sort, 1, false), [{ column_index: 1, ascending: false }]);
    assert.deepEqual(nextSort([{ column_index: 1, ascending: false }], 1, false), []);
});

test("filters are said in words", () => {
    const filter = (filter_type: string, params: Record<string, unknown>, of = column(0, "c", "string")): Filter => ({
        filter_id: "f",
        filter_type,
        column_schema: of,
        condition: "and",
        params,
    });
    assert.equal(filterText(filter("set_membership", { values: ["UA"], inclusive: true })), 'is "UA"');
    assert.equal(
        filterText(filter("set_membership", { values: ["a", "b", "c", "d"], inclusive: false })),
        'is not one of "a", "b", "c" and 1 more',
    );
    assert.equal(filterText(filter("compare", { op: ">=", value: "5" }, column(0, "n", "integer"))), "≥ 5");
    assert.equal(filterText(filter("search", { search_type: "starts_with", term: "x" })), 'starts with "x"');
});

test("a brush over whole numbers leaves the next bar's first number out", () => {
    const edges = ["0", "42", "84", "99"];
    assert.deepEqual(brushed(edges, 0, 0, true), { left: "0", right: "41" });
    assert.deepEqual(brushed(edges, 1, 2, true), { left: "42", right: "99" });
    assert.deepEqual(brushed(["0", "0.5", "1"], 0, 0, false), { left: "0", right: "0.5" });
    assert.equal(brushed(edges, 2, 3, true), null);
});

test("numbers with little room", () => {
    assert.deepEqual([999, 12_345, 4_500_000, 98_900_000].map(short), ["999", "12.3k", "4.5M", "98.9M"]);
    assert.equal(grouped(336_776), "336\u202f776");
    const profile = { null_count: 3, summary_stats: { num_unique: 98_900_000, num_unique_exact: false } };
    assert.equal(facts(column(0, "n", "integer"), profile as never), "3 null · ≈ 98.9M distinct");
});

test("a scroll bar reaches every row of a billion", () => {
    const scroll = new Scroll(1e9, 24, 336);
    assert.equal(scroll.spacer, TALLEST);
    scroll.moved(TALLEST - 336);
    assert.deepEqual(scroll.visible, [1e9 - 14, 1e9]);
    scroll.moved((TALLEST - 336) / 2);
    assert.ok(Math.abs(scroll.top - 5e8) < 100);
    const before = scroll.top;
    scroll.go(before + 1);
    scroll.moved(scroll.position + 0.4);
    assert.equal(scroll.top, before + 1, "what the browser rounds moves nothing");
    scroll.reveal(10);
    assert.equal(scroll.top, 10);
    scroll.reveal(30);
    assert.equal(scroll.top, 17);
    const few = new Scroll(20, 24, 240);
    few.moved(48);
    assert.deepEqual([few.top, few.spacer, few.isCompressed], [2, 480, false]);
});

const saved: Saved = {
    version: 1,
    frame: "7",
    num_rows: 1000,
    num_columns: 1,
    bytes: 8000,
    location: "memory",
    columns: [column(0, "n", "integer")],
    rows: [["5"], ["3"], ["4"]],
};

/** A kernel that answers when it is told to. */
class FakeKernel {
    readonly asked: { method: string; params: never; answer(reply: Reply): void; fail(why: Error): void }[] = [];
    request(method: string, params: never): Promise<Reply> {
        return new Promise((answer, fail) => this.asked.push({ method, params, answer, fail }));
    }
    async answer(method: string, result: unknown): Promise<void> {
        const at = this.asked.findIndex(one => one.method === method);
        assert.notEqual(at, -1, `${method} was not asked for: ${this.asked.map(one => one.method)}`);
        this.asked.splice(at, 1)[0]?.answer({ result, buffers: [] });
        for (let i = 0; i < 5; i++) await Promise.resolve();
    }
}

test("without a kernel the saved rows are sorted; with one nothing is offered before it has answered", async () => {
    const kernel = new FakeKernel();
    const model = new Model(
        saved,
        () => {},
        () => {},
    );
    model.sortBy(0, false);
    assert.deepEqual(
        [0, 1, 2].map(row => model.cell(row, 0)),
        ["3", "4", "5"],
    );
    assert.deepEqual([model.rows, model.position(0)], [3, 1]);
    model.connect(kernel as unknown as Connection);
    model.opened();
    assert.equal(model.live, false);
    await kernel.answer("get_state", {});
    assert.equal(model.live, true);
    // The order that was chosen before is asked for.
    await kernel.answer("set_sort_columns", {});
    assert.equal(model.rows, 1000);
    model.closed();
    assert.deepEqual([model.live, model.wasLive, model.rows, model.filters.length], [false, true, 3, 0]);
});

test("rows that were scrolled past are never asked for", async () => {
    const kernel = new FakeKernel();
    const model = new Model(
        { ...saved, num_rows: 1e8 },
        () => {},
        () => {},
    );
    model.connect(kernel as unknown as Connection);
    model.opened();
    await kernel.answer("get_state", {});
    for (let row = 0; row < 1e7; row += 1e6) model.setViewport(row, row + 14, [0]);
    assert.equal(kernel.asked.filter(one => one.method === "get_data_values").length, 2);
    const page = (first: number) => ({
        columns: [Array.from({ length: 100 }, (_, i) => String(first + i))],
        positions: [],
    });
    await kernel.answer("get_data_values", page(0));
    await kernel.answer("get_data_values", page(1e6));
    const [last] = kernel.asked.filter(one => one.method === "get_data_values");
    assert.equal(
        last && (last.params as { columns: { spec: { first_index: number } }[] }).columns[0]?.spec.first_index,
        9e6,
    );
    await kernel.answer("get_data_values", page(9e6));
    assert.equal(model.cell(9_000_003, 0), "9000003");
    assert.equal(kernel.asked.length, 0);
});

test("a filter that the session refuses is taken back, and its reason said", async () => {
    const kernel = new FakeKernel();
    const model = new Model(
        saved,
        () => {},
        () => {},
    );
    model.connect(kernel as unknown as Connection);
    model.opened();
    await kernel.answer("get_state", {});
    const filter = {
        filter_id: "a",
        filter_type: "is_null",
        column_schema: column(0, "n", "integer"),
        condition: "and",
    } as const;
    model.setFilter(filter);
    kernel.asked.pop()?.fail(new Error("`n` is not a number"));
    for (let i = 0; i < 5; i++) await Promise.resolve();
    assert.deepEqual([model.filters, model.error, model.busy], [[], "`n` is not a number", ""]);
});
