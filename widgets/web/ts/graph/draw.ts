// Draws a graph on a canvas: links, arrows, nodes, labels, the selection and the neighbours of a node.

import type { Camera, Rect } from "./camera.ts";
import type { Graph } from "./data.ts";
import { growth } from "./hit.ts";
import { type Candidate, place } from "./labels.ts";

const FONT = 11;
/** Height of the box of a label. */
const LABEL = 13;
const WIDEST = 140;

/** Colours of the page. */
export interface Theme {
    text: string;
    back: string;
    line: string;
    accent: string;
}

export interface Marked {
    /** The node at the pointer or the keyboard's; -1: none. */
    node: number;
    selected: ReadonlySet<number>;
    box: Rect | null;
}

/** A label as it is drawn. */
interface Cut {
    cut: string;
    /** In pixels. */
    width: number;
}

/** Labels of one scene, cut at the widest label. Each text is cut once. */
export class Texts {
    private readonly cuts = new Map<string, Cut>();

    cut(context: Pick<CanvasRenderingContext2D, "measureText">, text: string): Cut {
        let made = this.cuts.get(text);
        if (!made) {
            made = fitted(text, part => context.measureText(part).width);
            this.cuts.set(text, made);
        }
        return made;
    }
}

function fitted(text: string, measure: (part: string) => number): Cut {
    const line = text.replaceAll(/\p{Cc}/gu, " ").trim();
    const width = measure(line);
    if (width <= WIDEST) return { cut: line, width };
    // Binary search for the longest prefix that fits. At least one character stays.
    let [low, high] = [1, Math.min(line.length, WIDEST)];
    while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (measure(`${line.slice(0, middle)}…`) <= WIDEST) low = middle;
        else high = middle - 1;
    }
    const cut = `${line.slice(0, low).trimEnd()}…`;
    return { cut, width: measure(cut) };
}

export function font(page: CSSStyleDeclaration): string {
    return `${FONT}px ${page.fontFamily || "sans-serif"}`;
}

function opacity(links: number): number {
    return links <= 150 ? 0.6 : links <= 1000 ? 0.4 : links <= 5000 ? 0.25 : 0.15;
}

export function draw(
    context: CanvasRenderingContext2D,
    graph: Graph,
    camera: Camera,
    directed: boolean,
    marked: Marked,
    theme: Theme,
    texts: Texts,
): void {
    const { width, height } = camera.size;
    const grown = growth(camera.zoom);
    const x = new Float32Array(graph.count);
    const y = new Float32Array(graph.count);
    for (let i = 0; i < graph.count; i++) [x[i], y[i]] = camera.toScreen(graph.x[i]!, graph.y[i]!);
    const lit = marked.node >= 0 ? new Set([marked.node, ...graph.neighbors(marked.node)]) : null;

    links(context, graph, { x, y }, grown, directed, marked.node, theme, camera);

    // The smallest are drawn last.
    for (let at = 0; at < graph.count; at++) {
        const i = graph.order[at]!;
        const radius = graph.radii[i]! * grown;
        if (x[i]! < -radius || y[i]! < -radius || x[i]! > width + radius || y[i]! > height + radius) continue;
        context.globalAlpha = lit && !lit.has(i) ? 0.25 : 1;
        context.fillStyle = graph.saved.palette[graph.colors[i]!] ?? theme.text;
        context.strokeStyle = theme.back;
        context.lineWidth = 1;
        context.beginPath();
        context.arc(x[i]!, y[i]!, radius, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
    }
    context.globalAlpha = 1;
    const ring = (i: number, color: string, away: number, line: number) => {
        context.strokeStyle = color;
        context.lineWidth = line;
        context.beginPath();
        context.arc(x[i]!, y[i]!, graph.radii[i]! * grown + away, 0, 2 * Math.PI);
        context.stroke();
    };
    for (const i of marked.selected) {
        ring(i, theme.back, 2, 4);
        ring(i, theme.accent, 2, 2.5);
    }
    if (marked.node >= 0) ring(marked.node, theme.text, marked.selected.has(marked.node) ? 5 : 2, 1.5);

    labels(context, graph, { x, y }, grown, marked, lit, theme, texts, [0, 0, width, height]);

    if (marked.box) {
        const [left, top, right, bottom] = marked.box;
        context.fillStyle = theme.accent;
        context.globalAlpha = 0.12;
        context.fillRect(left, top, right - left, bottom - top);
        context.globalAlpha = 1;
        context.strokeStyle = theme.accent;
        context.lineWidth = 1;
        context.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
    }
}

interface Points {
    x: Float32Array;
    y: Float32Array;
}

function links(
    context: CanvasRenderingContext2D,
    graph: Graph,
    { x, y }: Points,
    grown: number,
    directed: boolean,
    node: number,
    theme: Theme,
    camera: Camera,
): void {
    const { width, height } = camera.size;
    const full = opacity(graph.links.length / 2);
    // Links of the marked node come last, and those of one width are one path.
    const groups = new Map<string, number[]>();
    for (let i = 0; i + 1 < graph.links.length; i += 2) {
        const [a, b] = [graph.links[i]!, graph.links[i + 1]!];
        const outside =
            (x[a]! < 0 && x[b]! < 0) ||
            (y[a]! < 0 && y[b]! < 0) ||
            (x[a]! > width && x[b]! > width) ||
            (y[a]! > height && y[b]! > height);
        if (outside) continue;
        const near = node >= 0 && (a === node || b === node);
        const key = `${near ? 1 : 0}:${Math.round((graph.widths[i / 2] ?? 1) * 4)}`;
        const group = groups.get(key);
        if (group) group.push(i);
        else groups.set(key, [i]);
    }
    for (const key of [...groups.keys()].sort()) {
        const group = groups.get(key)!;
        const near = key.startsWith("1");
        const line = (graph.widths[group[0]! / 2] ?? 1) * Math.min(grown, 1.5);
        context.strokeStyle = near ? theme.accent : theme.line;
        context.fillStyle = context.strokeStyle;
        context.globalAlpha = near ? 0.9 : node >= 0 ? full * 0.35 : full;
        context.lineWidth = line;
        context.beginPath();
        const heads = new Path2D();
        for (const i of group) {
            const [a, b] = [graph.links[i]!, graph.links[i + 1]!];
            if (a === b) {
                const radius = Math.max(graph.radii[a]! * grown, 4);
                const away = graph.radii[a]! * grown * 0.7 + radius * 0.5;
                context.moveTo(x[a]! + away + radius, y[a]! - away);
                context.arc(x[a]! + away, y[a]! - away, radius, 0, 2 * Math.PI);
                continue;
            }
            let [ex, ey] = [x[b]!, y[b]!];
            if (directed) {
                const [dx, dy] = [ex - x[a]!, ey - y[a]!];
                const distance = Math.hypot(dx, dy);
                const tip = distance - graph.radii[b]! * grown - 1;
                if (tip <= 1) continue;
                const length = Math.min(4.5 + 1.8 * line, tip);
                const [ux, uy] = [dx / distance, dy / distance];
                const half = length * 0.4;
                [ex, ey] = [x[a]! + ux * (tip - length), y[a]! + uy * (tip - length)];
                heads.moveTo(x[a]! + ux * tip, y[a]! + uy * tip);
                heads.lineTo(ex - uy * half, ey + ux * half);
                heads.lineTo(ex + uy * half, ey - ux * half);
                heads.closePath();
            }
            context.moveTo(x[a]!, y[a]!);
            context.lineTo(ex, ey);
        }
        context.stroke();
        if (directed) {
            context.globalAlpha = Math.min(context.globalAlpha * 1.6, 0.95);
            context.fill(heads);
        }
    }
    context.globalAlpha = 1;
}

function labels(
    context: CanvasRenderingContext2D,
    graph: Graph,
    { x, y }: Points,
    grown: number,
    marked: Marked,
    lit: ReadonlySet<number> | null,
    theme: Theme,
    texts: Texts,
    area: Rect,
): void {
    const candidates: Candidate[] = [];
    const names = new Map<number, string>();
    const add = (node: number) => {
        const { cut, width } = texts.cut(context, graph.label(node));
        names.set(node, cut);
        candidates.push({ node, x: x[node]!, y: y[node]!, radius: graph.radii[node]! * grown, width });
    };
    const inView = (node: number) => x[node]! >= 0 && y[node]! >= 0 && x[node]! <= area[2] && y[node]! <= area[3];
    // The marked node comes first.
    if (marked.node >= 0) add(marked.node);
    for (const node of graph.order) {
        if (node === marked.node || !inView(node)) continue;
        if (!lit || lit.has(node)) add(node);
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.lineJoin = "round";
    for (const { node, rect } of place(candidates, LABEL, area)) {
        const name = names.get(node) ?? "";
        // An outline keeps the text legible above links and nodes.
        context.strokeStyle = theme.back;
        context.lineWidth = 3;
        context.globalAlpha = 0.8;
        context.strokeText(name, rect[0], rect[3] - 3);
        context.globalAlpha = 1;
        context.fillStyle = theme.text;
        context.fillText(name, rect[0], rect[3] - 3);
    }
}
