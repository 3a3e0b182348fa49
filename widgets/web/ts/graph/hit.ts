// The node at a pixel, and the nodes in a box.

import type { Camera, Rect } from "./camera.ts";
import type { Graph } from "./data.ts";

/** Pixels around a small node that count as the node. */
const AROUND = 4;

/** Radii grow with the zoom, but less than distances do. */
export function growth(zoom: number): number {
    return Math.min(Math.max(Math.sqrt(zoom), 0.6), 3);
}

/** The node at a pixel: the one whose edge is nearest. -1: none. */
export function hit(graph: Graph, camera: Camera, px: number, py: number): number {
    const grown = growth(camera.zoom);
    let found = -1;
    let nearest = AROUND;
    for (let i = 0; i < graph.count; i++) {
        const [x, y] = camera.toScreen(graph.x[i]!, graph.y[i]!);
        const away = Math.hypot(px - x, py - y) - graph.radii[i]! * grown;
        // The smallest of nodes over each other, which is drawn last.
        const inside = away < 0 ? -1 / graph.radii[i]! : away;
        if (inside < nearest) [found, nearest] = [i, inside];
    }
    return found;
}

/** The nodes whose middle lies in a rectangle of the canvas. */
export function inBox(graph: Graph, camera: Camera, [left, top, right, bottom]: Rect): number[] {
    const found: number[] = [];
    for (let i = 0; i < graph.count; i++) {
        const [x, y] = camera.toScreen(graph.x[i]!, graph.y[i]!);
        if (x >= left && x <= right && y >= top && y <= bottom) found.push(i);
    }
    return found;
}
