// The arithmetic of brushes. Values by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { extent, ticks } from "../ts/dashboard/axis.ts";
import {
    brushed,
    combine,
    digits,
    ends,
    isKept,
    others,
    rangesOf,
    type SlotsView,
    type State,
    slotAt,
    thinned,
    toggled,
    whole,
} from "../ts/dashboard/data.ts";
import { Local, shaded, widened } from "../ts/dashboard/local.ts";

test("a brush is a difference of running sums", () => {
    // Three steps of the active view, two slots of the other: 1 2, 3 4, 5 6.
    const cube = { counts: Uint32Array.from([0, 0, 1, 2, 4, 6, 9, 12]) };
    assert.deepEqual(brushed(cube, 2, null, "count"), [9, 12]);
    assert.deepEqual(brushed(cube, 2, [[1, 2]], "count"), [3, 4]);
    assert.deepEqual(
        brushed(
            cube,
            2,
            [
                [0, 1],
                [2, 3],
            ],
            "count",
        ),
        [6, 8],
    );
    const valued = Uint32Array.from([0, 0, 1, 0, 2, 0, 4, 1]);
    const sums = Float64Array.from([0, 0, 2, 0, 5, 0, 11, 7]);
    assert.deepEqual(brushed({ ...cube, sums, valued }, 2, [[1, 3]], "mean"), [3, 7]);
    assert.deepEqual(brushed({ ...cube, sums, valued }, 2, [[0, 2]], "mean"), [2.5, null]);
    assert.deepEqual(brushed({ ...cube, sums, valued }, 2, [[0, 2]], "sum"), [5, 0]);
    assert.equal(brushed(cube, 2, null, "min"), null);
});

test("slots are toggled and joined", () => {
    assert.deepEqual(toggled([], 2, 4), [[2, 3]]);
    assert.deepEqual(toggled([[2, 3]], 1, 4), [[1, 3]]);
    assert.deepEqual(toggled([[0, 3]], 1, 4), [
        [0, 1],
        [2, 3],
    ]);
    assert.deepEqual(toggled([[2, 3]], 2, 4), []);
    assert.deepEqual(rangesOf([true, true, false, true]), [
        [0, 2],
        [3, 4],
    ]);
});

test("a filter by values ends inside of slots", () => {
    // Bins of 10 from 0 on: 18 to below 43 is 1.8 to 4.3.
    const range: [number, number] = [1.8, 4.3];
    assert.deepEqual(
        [0, 1, 2, 3, 4, 5].map(slot => isKept([range], slot)),
        [false, true, true, true, true, false],
    );
    assert.deepEqual(whole([range]), [[1, 5]]);
    const places = Array.from({ length: 6 }, (_, slot) => [slot * 20, slot * 20 + 20] as [number, number]);
    assert.deepEqual(
        ends(places, range).map(place => Math.round(place * 100) / 100),
        [36, 86],
    );
    assert.deepEqual(ends(places, [0, 6]), [0, 120]);
});

test("an axis covers all values", () => {
    assert.deepEqual(extent([5, 26], [47.9, null], false), [0, 47.9]);
    assert.deepEqual(extent([-3, -1], [], false), [-3, 0]);
    assert.deepEqual(extent([0, 100], [200], true), [-12, 212]);
    assert.deepEqual(extent([null], [], false), [0, 1]);
    const labels = (low: number, high: number) => ticks(low, high, 3).map(tick => tick.label);
    assert.deepEqual(labels(0, 47.9), ["0", "20", "40"]);
    assert.deepEqual(labels(-0.1, 0.2), ["\u22120.1", "0", "0.1", "0.2"]);
    assert.deepEqual(labels(0, 3e6), ["0", "1M", "2M", "3M"]);
    assert.deepEqual(labels(0, 45_000), ["0", "20\u202f000", "40\u202f000"]);
    assert.deepEqual(labels(0, 3e-6), ["0", "1e-6", "2e-6", "3e-6"]);
});

test("a page has the rows of a filter by values, and means beyond the first axis", async () => {
    const view = (label: string, all: number[]): SlotsView => ({
        kind: "slots",
        title: label,
        place: [0, 0, 0, 0],
        form: "bars",
        axis: "x",
        frame: [0, 0, 0, 0],
        low: 0,
        high: 10,
        places: [],
        gap: 0,
        slots: ["a", "b"],
        label,
        all,
        shown: all,
        ranges: true,
    });
    const views = [view("rows", [2, 2]), view("mean(v)", [2, 6])];
    const state: State = {
        title: "",
        rows: 4,
        selected: 4,
        summary: "",
        sentences: [],
        filters: [],
        width: 0,
        views,
        notes: [],
    };
    const columns = new Map<string, ArrayLike<number>>([
        ["x_0", [0, 0, 1, 1]],
        ["x_1", [0, 0, 1, 1]],
        ["value_1", [1, 3, 4, 8]],
        ["kept_0", [0, 1, 0, 1]],
    ]);
    const local = new Local(state, { rows: 4, total: 4, columns, colors: [] });
    const kept = await local.views([{ view: 0, slots: [[0.5, 1.5]], exact: "AA==" }]);
    assert.equal(kept.selected, 2);
    assert.deepEqual((kept.views[1] as SlotsView).shown, [3, 8]);
    // A brush has whole slots.
    const brush = await local.views([{ view: 0, slots: [[0, 1]] }]);
    assert.deepEqual((brush.views[1] as SlotsView).shown, [2, null]);
});

test("the slot at a place", () => {
    const places: [number, number][] = [
        [10, 20],
        [20, 30],
        [36, 46],
    ];
    assert.deepEqual(
        [0, 19, 20, 33, 90].map(at => slotAt(places, at)),
        [0, 0, 1, 2, 2],
    );
});

test("small things", () => {
    assert.equal(combine("mean(tip)"), "mean");
    assert.equal(combine("rows"), "count");
    assert.equal(digits(1234567), "1\u202f234\u202f567");
    assert.equal(digits(999), "999");
    const filters = [
        { view: 0, slots: [[0, 1]] as [number, number][] },
        { view: 2, box: [0, 0, 1, 1] as [number, number, number, number] },
    ];
    assert.equal(others(filters, 0), '[{"view":2,"box":[0,0,1,1]}]');
    assert.equal(
        thinned(
            Array.from({ length: 100 }, (_, i) => [i, i]),
            10,
        ).length,
        10,
    );
});

test("pixels are coloured by rank", () => {
    const colors: [number, number, number][] = [
        [0, 0, 0],
        [100, 0, 0],
        [200, 0, 0],
    ];
    const pixels = shaded(Uint32Array.from([0, 1, 5, 900]), colors);
    assert.deepEqual([...pixels.slice(0, 4)], [0, 0, 0, 0]);
    assert.deepEqual(
        [1, 2, 3].map(at => pixels[at * 4]),
        [0, 100, 200],
    );
});

test("single pixels become larger, and crowds do not", () => {
    const alone = Uint32Array.from([0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual([...widened(alone, 4)], [0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 0, 0]);
    const crowd = Uint32Array.from([1, 1, 0, 0]);
    assert.deepEqual([...widened(crowd, 2)], [1, 1, 0, 0]);
});
