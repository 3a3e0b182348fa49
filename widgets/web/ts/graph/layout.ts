// A live layout: ForceAtlas2 (Jacomy et al. 2014) with Gephi's rule for the speed. The repulsion of nodes far away is
// that of the middle of their cell of a grid.

import type { Graph } from "./data.ts";

const REPULSION = 2;
const GRAVITY = 1;
/** Up to this number of nodes each acts on each. */
const EXACT = 400;
const MOST = 500;
/** The layout is finished after this number of steps in which nodes move by less than `SMALL` of the graph's extent. */
const CALM = 20;
const SMALL = 2e-4;

export class Layout {
    readonly pinned: Uint8Array;
    steps = 0;
    private calm = 0;
    private speed = 1;
    private readonly mass: Float64Array;
    private readonly fx: Float64Array;
    private readonly fy: Float64Array;
    private readonly oldX: Float64Array;
    private readonly oldY: Float64Array;
    /** Units of the forces for one of the plane. */
    private readonly unit: number;

    constructor(private readonly graph: Graph) {
        const n = graph.count;
        this.pinned = new Uint8Array(n);
        this.mass = Float64Array.from({ length: n }, (_, i) => graph.neighbors(i).length + 1);
        [this.fx, this.fy, this.oldX, this.oldY] = [0, 0, 0, 0].map(() => new Float64Array(n)) as [
            Float64Array,
            Float64Array,
            Float64Array,
            Float64Array,
        ];
        this.unit = this.balance();
        this.part();
    }

    get isFinished(): boolean {
        return this.steps >= MOST || this.calm >= CALM;
    }

    /**
     * The scale at which a layout neither grows nor shrinks as a whole: forces along links times distances grow with its square,
     * those between nodes do not depend on it.
     */
    private balance(): number {
        const { graph, mass } = this;
        let links = 0;
        for (let i = 0; i + 1 < graph.links.length; i += 2) {
            const [a, b] = [graph.links[i]!, graph.links[i + 1]!];
            links += (graph.x[a]! - graph.x[b]!) ** 2 + (graph.y[a]! - graph.y[b]!) ** 2;
        }
        const sum = mass.reduce((a, b) => a + b, 0);
        const squares = mass.reduce((a, b) => a + b * b, 0);
        const pairs = (REPULSION * (sum * sum - squares)) / 2;
        return links > 0 && pairs > 0 ? Math.sqrt(pairs / links) : Math.sqrt(graph.count) * 20 || 1;
    }

    /** Nodes on one place would never part. */
    private part(): void {
        const { graph } = this;
        const seen = new Set<string>();
        for (let i = 0; i < graph.count; i++) {
            const key = `${graph.x[i]}:${graph.y[i]}`;
            if (seen.has(key)) {
                const angle = i * 2.399963;
                graph.x[i]! += (Math.cos(angle) * (1 + (i % 7))) / this.unit;
                graph.y[i]! += (Math.sin(angle) * (1 + (i % 7))) / this.unit;
            }
            seen.add(key);
        }
    }

    step(): void {
        const { mass, fx, fy, oldX, oldY, unit } = this;
        const graph = this.graph;
        const n = graph.count;
        if (n === 0) {
            this.steps = MOST;
            return;
        }
        oldX.set(fx);
        oldY.set(fy);
        fx.fill(0);
        fy.fill(0);
        this.repel();
        let [mx, my] = [0, 0];
        for (let i = 0; i < n; i++) {
            mx += graph.x[i]! / n;
            my += graph.y[i]! / n;
        }
        for (let i = 0; i < n; i++) {
            const [x, y] = [(graph.x[i]! - mx) * unit, (graph.y[i]! - my) * unit];
            const away = Math.hypot(x, y) || 1;
            fx[i]! -= (GRAVITY * mass[i]! * x) / away;
            fy[i]! -= (GRAVITY * mass[i]! * y) / away;
        }
        for (let i = 0; i + 1 < graph.links.length; i += 2) {
            const [a, b] = [graph.links[i]!, graph.links[i + 1]!];
            const [dx, dy] = [(graph.x[b]! - graph.x[a]!) * unit, (graph.y[b]! - graph.y[a]!) * unit];
            fx[a]! += dx;
            fy[a]! += dy;
            fx[b]! -= dx;
            fy[b]! -= dy;
        }
        this.move();
        this.steps++;
    }

    private move(): void {
        const { graph, mass, fx, fy, oldX, oldY, unit } = this;
        let [swing, traction] = [0, 0];
        for (let i = 0; i < graph.count; i++) {
            swing += mass[i]! * Math.hypot(fx[i]! - oldX[i]!, fy[i]! - oldY[i]!);
            traction += (mass[i]! * Math.hypot(fx[i]! + oldX[i]!, fy[i]! + oldY[i]!)) / 2;
        }
        const wanted = swing > 0 ? traction / swing : 1;
        // No faster than half as much again in each step.
        this.speed += Math.min(wanted - this.speed, this.speed / 2);
        this.speed = Math.min(Math.max(this.speed, 1e-3), 10);
        let moved = 0;
        for (let i = 0; i < graph.count; i++) {
            if (this.pinned[i]) continue;
            const own = mass[i]! * Math.hypot(fx[i]! - oldX[i]!, fy[i]! - oldY[i]!);
            const pull = Math.hypot(fx[i]!, fy[i]!);
            const factor = Math.min(this.speed / (1 + Math.sqrt(this.speed * own)), 10 / (pull || 1));
            graph.x[i]! += (fx[i]! * factor) / unit;
            graph.y[i]! += (fy[i]! * factor) / unit;
            moved += (pull * factor) / unit;
        }
        this.calm = moved / graph.count < SMALL ? this.calm + 1 : 0;
    }

    private repel(): void {
        const { graph, mass, unit } = this;
        const n = graph.count;
        if (n <= EXACT) {
            for (let i = 0; i < n; i++)
                for (let j = i + 1; j < n; j++) {
                    const [dx, dy] = [(graph.x[i]! - graph.x[j]!) * unit, (graph.y[i]! - graph.y[j]!) * unit];
                    this.push(i, dx, dy, mass[j]!);
                    this.push(j, -dx, -dy, mass[i]!);
                }
            return;
        }
        const [x0, y0, x1, y1] = graph.bounds();
        const side = Math.max(4, Math.round(Math.sqrt(n) / 4));
        const cell = (Math.max(x1 - x0, y1 - y0) || 1) / side;
        const at = (value: number, low: number) => Math.min(side - 1, Math.max(0, Math.floor((value - low) / cell)));
        const total = new Float64Array(3 * side * side);
        const members: number[][] = Array.from({ length: side * side }, () => []);
        const column = new Uint16Array(n);
        const row = new Uint16Array(n);
        for (let i = 0; i < n; i++) {
            column[i] = at(graph.x[i]!, x0);
            row[i] = at(graph.y[i]!, y0);
            const c = row[i]! * side + column[i]!;
            members[c]!.push(i);
            total[3 * c]! += mass[i]!;
            total[3 * c + 1]! += mass[i]! * graph.x[i]!;
            total[3 * c + 2]! += mass[i]! * graph.y[i]!;
        }
        for (let i = 0; i < n; i++)
            for (let r = 0; r < side; r++)
                for (let c = 0; c < side; c++) {
                    const here = r * side + c;
                    const sum = total[3 * here]!;
                    if (sum === 0) continue;
                    if (Math.abs(r - row[i]!) > 1 || Math.abs(c - column[i]!) > 1) {
                        const [mx, my] = [total[3 * here + 1]! / sum, total[3 * here + 2]! / sum];
                        this.push(i, (graph.x[i]! - mx) * unit, (graph.y[i]! - my) * unit, sum);
                        continue;
                    }
                    for (const j of members[here]!)
                        if (j !== i)
                            this.push(
                                i,
                                (graph.x[i]! - graph.x[j]!) * unit,
                                (graph.y[i]! - graph.y[j]!) * unit,
                                mass[j]!,
                            );
                }
    }

    /** Pushes a node away from a mass, by the inverse of the distance. */
    private push(node: number, dx: number, dy: number, mass: number): void {
        const square = dx * dx + dy * dy;
        if (square === 0) return;
        const force = (REPULSION * this.mass[node]! * mass) / square;
        this.fx[node]! += dx * force;
        this.fy[node]! += dy * force;
    }
}
