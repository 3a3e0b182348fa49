// Labels of nodes that do not overlap: the rules of `widgets/view/src/graph/labels.rs`. In each cell of a grid the most
// important node comes first, as in sigma.js.

import type { Rect } from "./camera.ts";

/** Pixels of a cell. */
const CELL = 60;
/** Nodes of one cell that are tried, if there are many. */
const TRIED = 2;
/** Up to this number of nodes all are tried. */
const FEW = 200;
const MOST = 300;
const GAP = 3;

/** A node that may be labelled, in pixels. Candidates come in the order of importance. */
export interface Candidate {
    node: number;
    x: number;
    y: number;
    radius: number;
    /** Of the text. 0: no label. */
    width: number;
}

export interface Placed {
    node: number;
    rect: Rect;
}

export function overlap(a: Rect, b: Rect): boolean {
    return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/** The labels with their boxes, which lie inside of the area. */
export function place(nodes: readonly Candidate[], height: number, area: Rect): Placed[] {
    const cells = new Map<string, number>();
    const ranks: Candidate[][] = [];
    for (const node of nodes) {
        if (node.width <= 0) continue;
        const cell = `${Math.floor(node.x / CELL)}:${Math.floor(node.y / CELL)}`;
        const rank = cells.get(cell) ?? 0;
        cells.set(cell, rank + 1);
        if (rank >= TRIED && nodes.length > FEW) continue;
        ranks[rank] ??= [];
        ranks[rank].push(node);
    }
    const placed: Placed[] = [];
    const taken = new Buckets();
    for (const candidate of ranks.flat()) {
        if (placed.length === MOST) break;
        let best: Rect | null = null;
        let fewest = Number.POSITIVE_INFINITY;
        for (const rect of sides(candidate, height)) {
            const inside = rect[0] >= area[0] && rect[1] >= area[1] && rect[2] <= area[2] && rect[3] <= area[3];
            if (!inside || taken.has(rect)) continue;
            const hidden = nodes.length > FEW ? 0 : covered(rect, nodes, candidate.node);
            if (hidden < fewest) [best, fewest] = [rect, hidden];
            if (fewest === 0) break;
        }
        if (!best) continue;
        placed.push({ node: candidate.node, rect: best });
        taken.add(best);
    }
    return placed;
}

/** The number of other nodes that a box hides. */
function covered(rect: Rect, nodes: readonly Candidate[], own: number): number {
    let count = 0;
    for (const { node, x, y, radius } of nodes)
        if (node !== own && overlap(rect, [x - radius, y - radius, x + radius, y + radius])) count++;
    return count;
}

/** Right of the node, left, above, below. */
function sides({ x, y, radius, width }: Candidate, height: number): Rect[] {
    const away = radius + GAP;
    const at = (left: number, top: number): Rect => [left, top, left + width, top + height];
    return [
        at(x + away, y - height / 2),
        at(x - away - width, y - height / 2),
        at(x - width / 2, y - away - height + GAP),
        at(x - width / 2, y + away - GAP),
    ];
}

/** Boxes by rows of the grid: an overlap is looked for among near ones. */
class Buckets {
    private readonly rows = new Map<number, Rect[]>();

    private *near(rect: Rect): Iterable<number> {
        for (let row = Math.floor(rect[1] / CELL); row * CELL <= rect[3]; row++) yield row;
    }

    has(rect: Rect): boolean {
        for (const row of this.near(rect)) if (this.rows.get(row)?.some(other => overlap(rect, other))) return true;
        return false;
    }

    add(rect: Rect): void {
        for (const row of this.near(rect)) {
            const boxes = this.rows.get(row);
            if (boxes) boxes.push(rect);
            else this.rows.set(row, [rect]);
        }
    }
}
