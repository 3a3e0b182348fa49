// The arithmetic of brushes. Values by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { brushed, combine, digits, others, rangesOf, slotAt, thinned, toggled } from "../ts/dashboard/data.ts";
import { shaded, widened } from "../ts/dashboard/local.ts";

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
