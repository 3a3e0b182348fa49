import assert from "node:assert/strict";
import { test } from "node:test";

import { inPixels, moved, scaled, type Window, within } from "../ts/raster/window.ts";

// By hand: a window of 10 x 4 with y upwards.
const window: Window = [0, 0, 10, 4];

test("a drag to the right shows what is at the left", () => {
    assert.deepEqual(moved(window, [-0.1, 0.5]), [-1, -2, 9, 2]);
});

test("zooming keeps the place under the pointer", () => {
    assert.deepEqual(scaled(window, 0.5, [0, 0]), [0, 2, 5, 4]);
    assert.deepEqual(scaled(window, 2, [1, 1]), [-10, 0, 10, 8]);
    assert.deepEqual(scaled([1, 1, 1 + 1e-13, 2], 0.5, [0.5, 0.5]), [1, 1, 1 + 1e-13, 2]);
});

test("a box is a window, however it was drawn", () => {
    assert.deepEqual(within(window, [0.5, 0.75], [0.1, 0.25]), [1, 1, 5, 3]);
    assert.deepEqual(within(window, [-1, 0], [2, 1]), window);
});

test("the last picture is moved and scaled to the wanted window", () => {
    assert.deepEqual(inPixels([0, 0, 100, 40], window, window), [0, 0, 1, 1]);
    assert.deepEqual(inPixels([0, 0, 100, 40], window, [0, 2, 5, 4]), [0, 0, 2, 2]);
    assert.deepEqual(inPixels([0, 0, 100, 40], window, [5, 0, 15, 4]), [-50, 0, 1, 1]);
});
