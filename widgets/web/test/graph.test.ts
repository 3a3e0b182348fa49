// The parts of the graph view that need no browser. Expected values are counted or computed by hand.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { Connection } from "../ts/connection.ts";
import { between, Camera, type Rect } from "../ts/graph/camera.ts";
import { Graph, integers, type SavedPoints, search } from "../ts/graph/data.ts";
import { Texts } from "../ts/graph/draw.ts";
import { hit, inBox } from "../ts/graph/hit.ts";
import { type Candidate, overlap, place } from "../ts/graph/labels.ts";
import { Layout } from "../ts/graph/layout.ts";
import { covers, flipped, Raster } from "../ts/graph/raster.ts";
import type { Stage } from "../ts/graph/stage.ts";

const base64 = (bytes: ArrayLike<number>) => btoa(String.fromCharCode(...Array.from(bytes)));
const shorts = (values: number[]) => base64(values.flatMap(value => [value & 255, value >> 8]));
const words = (values: number[]) => base64(values.flatMap(value => [value & 255, value >> 8, 0, 0]));

/** Nodes at positions between 0 and 1, with y upwards. */
function graphOf(nodes: { id: string; x: number; y: number; label?: string }[], links: [number, number][]): Graph {
    const degree = (node: number) => links.flat().filter(end => end === node).length;
    const saved: SavedPoints = {
        ids: nodes.map(node => node.id),
        labels: nodes.some(node => node.label) ? nodes.map(node => node.label ?? "") : [],
        x: shorts(nodes.map(node => Math.round(node.x * 65535))),
        y: shorts(nodes.map(node => Math.round(node.y * 65535))),
        degrees: words(nodes.map((_, i) => degree(i))),
        radii: base64(nodes.map(() => 28)),
        palette: ["#0072b2"],
        colors: base64(nodes.map(() => 0)),
        links: shorts(links.flat()),
        widths: base64(links.map(() => 12)),
        key: null,
        size: null,
        columns: [{ name: "club", values: nodes.map(node => `club of ${node.id}`) }],
    };
    return new Graph(saved);
}

/** Knuth's MMIX generator, as far as 32 bits of it are kept. */
function random(seed: number): () => number {
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

const square = () =>
    graphOf(
        [
            { id: "a", x: 0, y: 0 },
            { id: "b", x: 1, y: 0 },
            { id: "c", x: 1, y: 1 },
            { id: "d", x: 0, y: 1 },
        ],
        [
            [0, 1],
            [1, 2],
            [2, 0],
            [2, 2],
        ],
    );

test("packed numbers are unpacked", () => {
    assert.deepEqual([...integers("AAD//wEA", 2)], [0, 65535, 1]);
    assert.deepEqual([...integers("AQAAAAABAAA=", 4)], [1, 256]);
    const graph = square();
    assert.deepEqual([...graph.x], [0, 1, 1, 0]);
    // The canvas has y downwards.
    assert.deepEqual([...graph.y].map(Math.abs), [0, 0, 1, 1]);
    assert.ok(graph.y[2] === -1);
    assert.equal(graph.radii[0], 7);
    assert.deepEqual([...graph.neighbors(2)].sort(), [0, 1, 2, 2]);
    assert.deepEqual([...graph.neighbors(3)], []);
    // By degree: a loop counts twice.
    assert.deepEqual([...graph.order], [2, 0, 1, 3]);
    assert.deepEqual(graph.facts(3), [
        ["degree", "0"],
        ["club", "club of d"],
    ]);
});

test("the search finds ids and labels, the best first", () => {
    const graph = graphOf(
        [
            { id: "1", x: 0, y: 0, label: "Newark" },
            { id: "2", x: 0, y: 0, label: "New York" },
            { id: "new", x: 0, y: 0, label: "Other" },
            { id: "4", x: 0, y: 0, label: "Renewal" },
        ],
        [
            [3, 1],
            [3, 1],
        ],
    );
    assert.deepEqual(search(graph, " NEW ", 10), [2, 1, 0, 3]);
    assert.deepEqual(search(graph, "new", 2), [2, 1]);
    assert.deepEqual(search(graph, "", 10), []);
    assert.deepEqual(search(graph, "<script>", 10), []);
});

test("the camera goes to the plane and back, and zooms at a pixel", () => {
    const camera = new Camera({ width: 640, height: 480 });
    camera.fit([0, -1, 1, 0], 40);
    // 400 of 480 pixels are for one unit.
    assert.equal(camera.scale, 400);
    assert.deepEqual(camera.toScreen(0.5, -0.5), [320, 240]);
    assert.deepEqual(camera.toScreen(0, 0), [120, 440]);
    const before = camera.toPlane(100, 50);
    camera.zoomAt(100, 50, 3);
    const after = camera.toScreen(...before);
    assert.ok(Math.hypot(after[0] - 100, after[1] - 50) < 1e-9);
    assert.ok(Math.abs(camera.zoom - 3) < 1e-12);
    camera.zoomAt(0, 0, 1e9);
    assert.ok(camera.zoom <= 4000);
    // The plane follows the pointer: what was at a pixel is 10 pixels to the right of it, and 20 above it.
    const held = camera.toPlane(300, 200);
    camera.pan(10, -20);
    const panned = camera.toScreen(...held);
    assert.ok(Math.hypot(panned[0] - 310, panned[1] - 180) < 1e-6, String(panned));
    // One place has no extent.
    const one = camera.around([0.2, 0.2, 0.2, 0.2], 40);
    assert.deepEqual(one, { x: 0.2, y: 0.2, scale: 1 });
    const middle = between({ x: 0, y: 0, scale: 1 }, { x: 2, y: 4, scale: 100 }, 0.5);
    assert.deepEqual([middle.x, middle.y, Math.round(middle.scale)], [1, 2, 10]);
});

test("the node at a pixel, and nodes in a box", () => {
    const graph = square();
    const camera = new Camera({ width: 480, height: 480 });
    camera.fit(graph.bounds(), 40);
    // a is at the lower left; its radius is 7 pixels, and 4 more count.
    assert.equal(hit(graph, camera, 40, 440), 0);
    assert.equal(hit(graph, camera, 50, 440), 0);
    assert.equal(hit(graph, camera, 52, 440), -1);
    assert.equal(hit(graph, camera, 240, 240), -1);
    assert.deepEqual(inBox(graph, camera, [0, 0, 480, 240]), [2, 3]);
    assert.deepEqual(inBox(graph, camera, [100, 100, 300, 300]), []);
});

test("labels overlap neither each other nor the edge", () => {
    const next = random(7);
    const area: Rect = [0, 0, 640, 400];
    for (const count of [1, 10, 199, 201, 5000])
        for (const spread of [1, 20, 600]) {
            const nodes: Candidate[] = Array.from({ length: count }, (_, node) => ({
                node,
                x: 20 + next() * spread,
                y: 20 + next() * Math.min(spread, 370),
                radius: 1 + next() * 12,
                width: Math.floor(next() * 120),
            }));
            const placed = place(nodes, 13, area);
            for (const [i, one] of placed.entries()) {
                const [left, top, right, bottom] = one.rect;
                assert.ok(left >= 0 && top >= 0 && right <= 640 && bottom <= 400);
                assert.equal(Math.round(right - left), nodes[one.node]!.width);
                for (const other of placed.slice(i + 1))
                    assert.ok(one.node !== other.node && !overlap(one.rect, other.rect));
            }
        }
});

test("the first node of a cell has a label, at its right if nothing is there", () => {
    const crowd: Candidate[] = Array.from({ length: 12 }, (_, i) => ({
        node: i,
        x: 100,
        y: 100,
        radius: 4,
        width: 50,
    }));
    const placed = place([...crowd, { node: 99, x: 400, y: 100, radius: 4, width: 50 }], 13, [0, 0, 640, 200]);
    assert.equal(placed[0]?.node, 0);
    assert.deepEqual(placed.find(one => one.node === 99)?.rect, [407, 93.5, 457, 106.5]);
    assert.ok(placed.length < 13);
    // The same places as those of the static picture: see labels.rs.
    const two: Candidate[] = [
        { node: 0, x: 100, y: 100, radius: 5, width: 40 },
        { node: 1, x: 130, y: 100, radius: 5, width: 0 },
    ];
    assert.deepEqual(place(two, 13, [0, 0, 300, 200]), [{ node: 0, rect: [52, 93.5, 92, 106.5] }]);
});

/** Two groups whose nodes have four links to others of their group, and one link between the groups; at random places. */
function groups(size: number): Graph {
    const next = random(3);
    const links: [number, number][] = [[0, size]];
    for (let i = 0; i < 2 * size; i++) {
        const first = i < size ? 0 : size;
        for (let k = 0; k < 4; k++) links.push([i, first + Math.floor(next() * size)]);
    }
    const nodes = Array.from({ length: 2 * size }, (_, i) => ({ id: String(i), x: next(), y: next() }));
    return graphOf(nodes, links);
}

function separation(graph: Graph): number {
    const half = graph.count / 2;
    const middle = (from: number) => {
        let [x, y] = [0, 0];
        for (let i = from; i < from + half; i++) [x, y] = [x + graph.x[i]! / half, y + graph.y[i]! / half];
        return [x, y] as const;
    };
    const [a, b] = [middle(0), middle(half)];
    const [x0, y0, x1, y1] = graph.bounds();
    return Math.hypot(a[0] - b[0], a[1] - b[1]) / Math.max(x1 - x0, y1 - y0);
}

test("the layout pulls what is linked together, exactly and by a grid", () => {
    for (const size of [20, 300]) {
        const graph = groups(size);
        const before = separation(graph);
        const layout = new Layout(graph);
        layout.pinned[5] = 1;
        const held = [graph.x[5], graph.y[5]];
        for (let i = 0; i < 200 && !layout.isFinished; i++) layout.step();
        assert.ok([...graph.x, ...graph.y].every(Number.isFinite));
        assert.deepEqual([graph.x[5], graph.y[5]], held);
        assert.ok(before < 0.2 && separation(graph) > 0.4, `${size}: ${before} ${separation(graph)}`);
    }
});

test("nodes on one place part, and the layout ends", () => {
    const same = graphOf(
        Array.from({ length: 5 }, (_, i) => ({ id: String(i), x: 0.5, y: 0.5 })),
        [[0, 1]],
    );
    const layout = new Layout(same);
    while (!layout.isFinished) layout.step();
    const places = new Set(Array.from(same.x, (x, i) => `${x.toFixed(4)}:${same.y[i]!.toFixed(4)}`));
    assert.equal(places.size, 5);
    const empty = new Layout(graphOf([], []));
    empty.step();
    assert.ok(empty.isFinished);
});

test("rasters have y upwards, and the plane downwards", () => {
    assert.deepEqual(flipped([0, 1, 4, 3]), [0, -3, 4, -1]);
    assert.deepEqual(flipped(flipped([0, 1, 4, 3])), [0, 1, 4, 3]);
    assert.ok(covers([0, 0, 4, 4], [1, 1, 4, 4]) && !covers([0, 0, 4, 4], [1, 1, 5, 4]));
});

test("long ids are shown in 80 characters, and a graph without ids has its labels", () => {
    const long = "é".repeat(2000);
    const graph = graphOf([{ id: long, x: 0, y: 0 }], []);
    assert.equal(graph.label(0), `${"é".repeat(79)}…`);
    assert.deepEqual(graph.facts(0)[0], ["degree", "0"]);
    assert.equal(graph.saved.ids[0], long);
    const exact = graphOf([{ id: "🦀".repeat(80), x: 0, y: 0, label: "crabs" }], []);
    assert.deepEqual(exact.facts(0)[0], ["node", "🦀".repeat(80)]);
    const unnamed = new Graph({ ...square().saved, ids: [], labels: ["a", "b", "c", "d"] });
    assert.deepEqual([unnamed.count, unnamed.label(3), unnamed.facts(3)[0]?.[0]], [4, "d", "degree"]);
});

test("a text is cut once, by a binary search", () => {
    const measured: string[] = [];
    // Letters of 7 pixels.
    const context = {
        measureText: (text: string) => {
            measured.push(text);
            return { width: 7 * text.length } as TextMetrics;
        },
    };
    const texts = new Texts();
    // 140 pixels are 19 letters and the ellipsis.
    const name = "abcdefghijklmnopqrstuvwxyz".repeat(40);
    assert.deepEqual(texts.cut(context, name), { cut: "abcdefghijklmnopqrs…", width: 140 });
    // The whole text, the cut text, and the 8 steps of a search among 140 prefixes.
    assert.ok(measured.length <= 10, `${measured.length} measurements`);
    const before = measured.length;
    texts.cut(context, name);
    assert.equal(measured.length, before);
    // Prefixes are not kept: one that was measured for the search is a text as any other.
    const prefix = measured.find(text => text.endsWith("…"))!;
    texts.cut(context, prefix);
    assert.ok(measured.length > before);
    assert.deepEqual(texts.cut(context, " short\n"), { cut: "short", width: 35 });
    // A letter that is wider than a label stays.
    const wide = { measureText: (text: string) => ({ width: 200 * text.length }) as TextMetrics };
    assert.equal(new Texts().cut(wide, "wide").cut, "w…");
});

/** A raster with pictures that count how many of them are open; PNGs are not decoded. */
function rasterOf(t: TestContext, png: string) {
    const counts = { open: 0, asked: 0, redrawn: 0 };
    const answers: ((buffers: DataView[]) => void)[] = [];
    const page = globalThis as { createImageBitmap?: unknown; devicePixelRatio?: number };
    page.devicePixelRatio = 1;
    page.createImageBitmap = async (blob: Blob) => {
        if (blob.size === 0) throw new Error("no picture");
        counts.open++;
        return { close: () => counts.open-- };
    };
    t.after(() => {
        delete page.createImageBitmap;
        delete page.devicePixelRatio;
    });
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const stage = { camera: new Camera({ width: 10, height: 10 }), redraw: () => counts.redrawn++ };
    const raster = new Raster({ window: [0, 0, 1, 1], width: 1, height: 1, png }, stage as unknown as Stage);
    const connection = {
        request: () => {
            counts.asked++;
            return new Promise(resolve => answers.push(buffers => resolve({ result: {}, buffers })));
        },
    };
    return { raster, counts, answers, connection: connection as unknown as Connection };
}

const settled = () => new Promise(resolve => setImmediate(resolve));

test("a disposed raster asks nothing and holds no picture", async t => {
    const { raster, counts, answers, connection } = rasterOf(t, "AA==");
    await settled();
    assert.deepEqual(counts, { open: 1, asked: 0, redrawn: 1 });
    raster.connect(connection);
    t.mock.timers.tick(100);
    answers[0]!([new DataView(new ArrayBuffer(1))]);
    await settled();
    assert.deepEqual(counts, { open: 2, asked: 1, redrawn: 2 });
    // One part is on its way, and another one is waited for.
    raster.moved();
    t.mock.timers.tick(100);
    raster.moved();
    raster.dispose();
    assert.equal(counts.open, 0);
    answers[1]!([new DataView(new ArrayBuffer(1))]);
    t.mock.timers.tick(100);
    raster.connect(connection);
    raster.moved();
    t.mock.timers.tick(100);
    await settled();
    assert.deepEqual(counts, { open: 0, asked: 2, redrawn: 2 });
});

test("a picture that is decoded after its raster was disposed is closed", async t => {
    const { raster, counts } = rasterOf(t, "AA==");
    raster.dispose();
    await settled();
    assert.deepEqual(counts, { open: 0, asked: 0, redrawn: 0 });
});

test("an empty PNG shows nothing, and no promise is rejected unhandled", async t => {
    // The runner fails a test with an unhandled rejection.
    const { raster, counts } = rasterOf(t, "");
    await settled();
    assert.deepEqual(counts, { open: 0, asked: 0, redrawn: 0 });
    raster.draw({} as CanvasRenderingContext2D);
});
