// The parts of the graph view that need no browser. Expected values are counted or computed by hand.

import assert from "node:assert/strict";
import test from "node:test";
import { between, Camera, type Rect } from "../ts/graph/camera.ts";
import { Graph, integers, type SavedPoints, search } from "../ts/graph/data.ts";
import { hit, inBox } from "../ts/graph/hit.ts";
import { type Candidate, overlap, place } from "../ts/graph/labels.ts";
import { Layout } from "../ts/graph/layout.ts";
import { covers, flipped } from "../ts/graph/raster.ts";

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
    camera.pan(10, -20);
    // One place has no extent.
    const one = camera.around([0.2, 0.2, 0.2, 0.2], 40);
    assert.deepEqual(one, { x: 0.2, y: 0.2, scale: 1 });
    const look = between({ x: 0, y: 0, scale: 1 }, { x: 2, y: 4, scale: 100 }, 0.5);
    assert.deepEqual([look.x, look.y, Math.round(look.scale)], [1, 2, 10]);
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
