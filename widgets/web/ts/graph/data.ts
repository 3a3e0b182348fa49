// The saved form of a graph, and the typed arrays that it becomes. `widgets/view/src/graph/json.rs` writes it.

export interface SavedPoints {
    /** Empty: the ids are too long to be saved, and there are labels. */
    ids: string[];
    /** Empty: ids are the labels. */
    labels: string[];
    /** Base64 of little-endian integers: positions as u16, degrees as u32, radii in quarters of a pixel, colours of the palette. */
    x: string;
    y: string;
    degrees: string;
    radii: string;
    palette: string[];
    colors: string;
    /** Pairs of positions as u16, and widths in tenths of a pixel. */
    links: string;
    widths: string;
    key: Key | null;
    /** The column of the sizes. */
    size: string | null;
    columns: { name: string; values: string[] }[];
}

/** A legend: names with colours, or ticks of a scale whose colours are the palette. */
export interface Key {
    title: string;
    entries?: [name: string, color: string][];
    /** Between 0 and 1. */
    ticks?: [at: number, label: string][];
}

export interface SavedRaster {
    window: [x0: number, y0: number, x1: number, y1: number];
    width: number;
    height: number;
    png: string;
}

export interface Saved {
    nodes: number;
    edges: number;
    directed: boolean;
    title: string;
    legend: boolean;
    theme: "auto" | "light" | "dark";
    width: number;
    height: number;
    alt: string;
    notes: string[];
    /** The id of the selection in the kernel; null for a picture without one. */
    view: string | null;
    points?: SavedPoints;
    raster?: SavedRaster;
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

/** Characters of a shown id or label, as in `widgets/view/src/graph/scene.rs`. */
const SHOWN = 80;

function short(text: string): string {
    if (text.length <= SHOWN) return text;
    const characters = [...text.slice(0, 2 * SHOWN + 2)];
    return characters.length > SHOWN ? `${characters.slice(0, SHOWN - 1).join("")}…` : text;
}

/** Little-endian integers of two or four bytes, on any machine. */
export function integers(base64: string, size: 2 | 4): Uint32Array {
    const view = new DataView(bytesOf(base64).buffer);
    const values = new Uint32Array(Math.floor(view.byteLength / size));
    for (let i = 0; i < values.length; i++)
        values[i] = size === 2 ? view.getUint16(2 * i, true) : view.getUint32(4 * i, true);
    return values;
}

/** A graph in memory. Positions have y downwards, and the longer side of the graph spans 1. */
export class Graph {
    readonly count: number;
    readonly x: Float32Array;
    readonly y: Float32Array;
    /** In pixels. */
    readonly radii: Float32Array;
    readonly colors: Uint8Array;
    readonly degrees: Uint32Array;
    /** Nodes in the order of size, then of degree: the largest first. */
    readonly order: Uint32Array;
    /** Pairs. */
    readonly links: Uint32Array;
    readonly widths: Float32Array;
    private readonly first: Uint32Array;
    private readonly near: Uint32Array;

    constructor(readonly saved: SavedPoints) {
        const count = saved.ids.length || saved.labels.length;
        this.count = count;
        this.x = new Float32Array(count);
        this.y = new Float32Array(count);
        this.reset();
        this.radii = Float32Array.from(bytesOf(saved.radii), radius => radius / 4);
        this.colors = bytesOf(saved.colors);
        this.degrees = integers(saved.degrees, 4);
        this.links = integers(saved.links, 2);
        this.widths = Float32Array.from(bytesOf(saved.widths), width => width / 10);
        const size = (node: number) => (saved.size ? this.radii[node]! * 1e6 : 0) + this.degrees[node]!;
        this.order = Uint32Array.from({ length: count }, (_, i) => i).sort((a, b) => size(b) - size(a) || a - b);
        // Neighbours as rows of one list.
        this.first = new Uint32Array(count + 1);
        for (const node of this.links) this.first[node + 1]!++;
        for (let i = 0; i < count; i++) this.first[i + 1]! += this.first[i]!;
        this.near = new Uint32Array(this.links.length);
        const next = this.first.slice(0, count);
        for (let i = 0; i + 1 < this.links.length; i += 2) {
            const [a, b] = [this.links[i]!, this.links[i + 1]!];
            this.near[next[a]!++] = b;
            this.near[next[b]!++] = a;
        }
    }

    /** The saved positions. */
    reset(): void {
        const [x, y] = [integers(this.saved.x, 2), integers(this.saved.y, 2)];
        for (let i = 0; i < this.count; i++) {
            this.x[i] = (x[i] ?? 0) / 65535;
            this.y[i] = -(y[i] ?? 0) / 65535;
        }
    }

    /** The shown label. */
    label(node: number): string {
        return short(this.saved.labels[node] ?? this.saved.ids[node] ?? "");
    }

    /** The shown id; the label if ids are not saved. */
    id(node: number): string {
        return short(this.saved.ids[node] ?? this.saved.labels[node] ?? "");
    }

    neighbors(node: number): Uint32Array {
        return this.near.subarray(this.first[node], this.first[node + 1]);
    }

    /** Names and values of the tooltip: the id if it is not the label, the degree, the columns. */
    facts(node: number): [name: string, value: string][] {
        const id = this.id(node);
        const facts: [string, string][] = id === this.label(node) ? [] : [["node", id]];
        const has = this.saved.columns.some(column => column.name === "degree");
        if (!has) facts.push(["degree", String(this.degrees[node] ?? 0)]);
        for (const column of this.saved.columns) facts.push([column.name, column.values[node] ?? ""]);
        return facts;
    }

    /** The rectangle around all nodes. */
    bounds(): [x0: number, y0: number, x1: number, y1: number] {
        let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
        for (let i = 0; i < this.count; i++) {
            x0 = Math.min(x0, this.x[i]!);
            x1 = Math.max(x1, this.x[i]!);
            y0 = Math.min(y0, this.y[i]!);
            y1 = Math.max(y1, this.y[i]!);
        }
        return this.count ? [x0, y0, x1, y1] : [0, 0, 0, 0];
    }
}

/** Nodes whose label or id contains a text: those that are equal first, then those that begin with it, then by size. */
export function search(graph: Graph, text: string, most: number): number[] {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found: { node: number; rank: number }[] = [];
    for (const node of graph.order) {
        const names = [graph.label(node), graph.saved.ids[node] ?? ""].map(name => name.toLowerCase());
        const ranks = names.map(name => {
            const at = name.indexOf(wanted);
            return at < 0 ? 3 : name === wanted ? 0 : at === 0 ? 1 : 2;
        });
        const rank = Math.min(...ranks);
        if (rank < 3) found.push({ node, rank });
    }
    // A stable sort keeps the order by size.
    return found
        .sort((a, b) => a.rank - b.rank)
        .slice(0, most)
        .map(one => one.node);
}
