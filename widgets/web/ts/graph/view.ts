// A graph on the page: canvas, tools, search, legend, selection. It needs no kernel. With one, the selection is kept
// there, and rasters are drawn anew for the part in view.

import { Connection } from "../connection.ts";
import type { Draw, Drawn } from "../renderers.ts";
import type { SessionContext } from "../session.ts";
import { button, el } from "../table/dom.ts";
import tools from "../tools.css";
import type { Rect, Viewport } from "./camera.ts";
import { Graph, type Key, type Saved, search } from "./data.ts";
import { draw, font, Texts, type Theme } from "./draw.ts";
import { growth, hit, inBox } from "./hit.ts";
import { Layout } from "./layout.ts";
import { Raster } from "./raster.ts";
import { type Held, type Scene, Stage } from "./stage.ts";
import style from "./style.css";

export const GRAPH = "application/vnd.onrush.graph.v1+json";
const TARGET = "onrush.visual";

/** Nodes that Tab visits. */
const LARGEST = 20;
const RESULTS = 20;
/** Pixels around the graph. */
const MARGIN = 34;
/** Milliseconds of layout for each frame of the screen. */
const BUDGET = 12;
/** Milliseconds for which the hint about the wheel stays. */
const HINT = 1500;
/** Milliseconds before a new selection is sent. */
const REST = 60;

class GraphView implements Drawn, Scene {
    private readonly root = el("div", "root");
    private readonly tip = el("div", "tip");
    private readonly hint = el("div", "hint", "Click the picture to zoom with the wheel");
    private hinting = 0;
    private readonly status = el("span", "status");
    private readonly problem = el("span", "error");
    private readonly spoken = el("div", "unseen");
    private readonly field = el("input", "search");
    private readonly results = el("ul", "results");
    private readonly page: MutationObserver;
    private stage: Stage;
    private saved: Saved;
    private graph: Graph | null = null;
    private raster: Raster | null = null;
    private texts = new Texts();
    private selected = new Set<number>();
    private node = -1;
    private box: Rect | null = null;
    private boxMode = false;
    private layout: Layout | null = null;
    private playing = 0;
    private theme: Theme | null = null;
    private session: SessionContext | null = null;
    private connection: Connection | null = null;
    private live = false;
    private sending = 0;
    private found: number[] = [];
    private chosen = 0;
    private readonly boxButton = button("box", "▭", "Select by a box (or drag with Shift)", () =>
        this.setBoxMode(!this.boxMode),
    );
    private readonly playButton = button("play", "▶", "Run the layout", () =>
        this.playing ? this.pause() : this.play(),
    );

    constructor(
        private readonly host: HTMLElement,
        data: unknown,
    ) {
        // Jupyter's shortcuts are for cells, and the keys here for the graph.
        host.dataset.lmSuppressShortcuts = "true";
        const shadow = host.attachShadow({ mode: "open" });
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(tools + style);
        shadow.adoptedStyleSheets = [sheet];
        shadow.append(this.root);
        this.saved = data as Saved;
        this.stage = this.build();
        // A page that becomes dark has other colours.
        this.page = new MutationObserver(() => {
            this.theme = null;
            this.stage.redraw();
        });
        this.page.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "class"] });
    }

    update(data: unknown): void {
        if (JSON.stringify(data) === JSON.stringify(this.saved)) return;
        this.disconnect();
        this.raster?.dispose();
        this.stage.dispose();
        this.pause();
        this.saved = data as Saved;
        this.selected.clear();
        this.node = -1;
        this.layout = null;
        this.stage = this.build();
        if (this.session && this.saved.view) this.connect(this.session);
    }

    attached(session: SessionContext | null): void {
        this.session = session;
        this.theme = null;
        if (session && !this.connection && this.saved.view) this.connect(session);
        this.stage.redraw();
    }

    detached(): void {
        this.pause();
    }

    dispose(): void {
        this.pause();
        this.page.disconnect();
        this.raster?.dispose();
        this.stage.dispose();
        this.disconnect();
    }

    // The page.

    private build(): Stage {
        const { saved, root } = this;
        this.graph = saved.points ? new Graph(saved.points) : null;
        this.texts = new Texts();
        const stage = new Stage(this, saved.height);
        this.raster = saved.raster ? new Raster(saved.raster, stage) : null;
        root.className = saved.theme === "auto" ? "root" : `root ${saved.theme}`;
        root.style.width = `${saved.width + (saved.points?.key && saved.legend ? 170 : 0)}px`;
        stage.canvas.setAttribute("role", "application");
        stage.canvas.setAttribute("aria-label", saved.alt);
        this.spoken.setAttribute("aria-live", "polite");
        this.problem.setAttribute("role", "alert");
        this.tip.hidden = true;

        const tools = el("div", "tools");
        tools.setAttribute("role", "toolbar");
        const zoomIn = button("", "+", "Zoom in (+)", () => stage.zoom(1.5));
        const zoomOut = button("", "−", "Zoom out (-)", () => stage.zoom(1 / 1.5));
        const whole = button("", "⤢", "Show everything (0)", () => stage.go(this.whole()));
        tools.append(zoomIn, zoomOut, whole);
        if (this.graph) {
            const reset = button("", "↺", "Back to the first positions", () => this.reset());
            tools.append(this.boxButton, this.playButton, reset, this.finder());
        }
        const frame = el("div", "stage");
        this.hint.hidden = true;
        frame.append(stage.canvas, this.tip, this.hint);
        const middle = el("div", "middle");
        middle.append(frame);
        const key = saved.points?.key;
        if (key && saved.legend) middle.append(legend(key, saved.points?.palette ?? []));
        const foot = el("div", "foot");
        foot.append(
            el("span", "shape", shape(saved)),
            this.status,
            ...saved.notes.map(note => el("span", "", note)),
            this.problem,
        );
        const title = el("div", "title", saved.title);
        title.hidden = !saved.title;
        root.replaceChildren(title, tools, middle, foot, this.spoken);
        this.setBoxMode(false);
        this.showPlaying();
        this.showSelection();
        return stage;
    }

    private finder(): HTMLElement {
        const { field, results } = this;
        const find = el("div", "find");
        field.type = "search";
        field.placeholder = "Find a node";
        field.setAttribute("aria-label", "Find a node");
        field.setAttribute("role", "combobox");
        field.setAttribute("aria-expanded", "false");
        results.setAttribute("role", "listbox");
        results.hidden = true;
        field.oninput = () => this.find();
        field.onkeydown = event => {
            event.stopPropagation();
            if (event.key === "ArrowDown") this.choose(this.chosen + 1);
            else if (event.key === "ArrowUp") this.choose(this.chosen - 1);
            else if (event.key === "Enter") this.take(this.found[this.chosen]);
            else if (event.key === "Escape") this.take(undefined);
            else return;
            event.preventDefault();
        };
        field.onblur = () => {
            results.hidden = true;
        };
        find.append(field, results);
        return find;
    }

    private find(): void {
        const { graph, field, results } = this;
        if (!graph) return;
        this.found = search(graph, field.value, RESULTS);
        results.replaceChildren(
            ...this.found.map(node => {
                const item = el("li", "", graph.label(node));
                const id = graph.id(node);
                if (id !== graph.label(node)) item.append(el("span", "quiet", id));
                item.setAttribute("role", "option");
                // Before the field loses the focus.
                item.addEventListener("pointerdown", event => {
                    event.preventDefault();
                    this.take(node);
                });
                return item;
            }),
        );
        if (field.value.trim() && this.found.length === 0) results.append(el("li", "", "no node"));
        results.hidden = results.childElementCount === 0;
        field.setAttribute("aria-expanded", String(!results.hidden));
        this.choose(0);
    }

    private choose(index: number): void {
        this.chosen = Math.min(Math.max(index, 0), Math.max(this.found.length - 1, 0));
        [...this.results.children].forEach((item, i) => {
            item.setAttribute("aria-selected", String(i === this.chosen && this.found.length > 0));
        });
        this.results.children[this.chosen]?.scrollIntoView({ block: "nearest" });
    }

    /** A node of the search: flown to and selected. */
    private take(node: number | undefined): void {
        this.results.hidden = true;
        this.field.setAttribute("aria-expanded", "false");
        if (node === undefined) {
            this.stage.canvas.focus();
            return;
        }
        this.mark(node, true);
        this.select(new Set([node]));
        this.flyTo(node);
    }

    private flyTo(node: number): void {
        const { graph, stage } = this;
        if (!graph) return;
        const scale = Math.max(stage.camera.scale, stage.camera.whole * 2.5);
        stage.go({ x: graph.x[node]!, y: graph.y[node]!, scale });
    }

    // The canvas.

    draw(context: CanvasRenderingContext2D): void {
        this.theme ??= this.colors();
        context.font = font(getComputedStyle(this.root));
        if (this.raster) {
            this.raster.draw(context);
            return;
        }
        const { graph, stage, theme } = this;
        if (!graph) return;
        const marked = { node: this.node, selected: this.selected, box: this.box };
        draw(context, graph, stage.camera, this.saved.directed, marked, theme, this.texts);
        if (graph.count === 0) {
            context.fillStyle = theme.text;
            context.textAlign = "center";
            context.fillText("no nodes to draw", stage.camera.size.width / 2, stage.camera.size.height / 2);
        }
        this.placeTip();
    }

    private colors(): Theme {
        const page = getComputedStyle(this.root);
        const color = (name: string, other: string) => page.getPropertyValue(name).trim() || other;
        return {
            text: color("--text", "#212121"),
            back: color("--back", "#fff"),
            line: color("--line", "#808080"),
            accent: color("--accent", "#1976d2"),
        };
    }

    private get bounds(): Rect {
        return this.raster ? this.raster.bounds : (this.graph?.bounds() ?? [0, 0, 1, 1]);
    }

    /** The viewport that has everything in view. Nodes have their plain size in it. */
    private whole(): Viewport {
        const viewport = this.stage.camera.around(this.bounds, this.margin);
        this.stage.camera.whole = viewport.scale;
        return viewport;
    }

    private get margin(): number {
        return this.raster ? 0 : Math.min(MARGIN, this.stage.camera.size.width / 5);
    }

    fit(): void {
        this.stage.camera.fit(this.bounds, this.margin);
    }

    moved(): void {
        this.raster?.moved();
    }

    scrolledOver(): void {
        this.hint.hidden = false;
        clearTimeout(this.hinting);
        this.hinting = setTimeout(() => {
            this.hint.hidden = true;
        }, HINT) as unknown as number;
    }

    press(x: number, y: number, event: PointerEvent): Held | null {
        const { graph, stage } = this;
        if (!graph) return null;
        const node = hit(graph, stage.camera, x, y);
        if (this.boxMode || event.shiftKey) return this.pressBox(x, y, node, event.shiftKey);
        if (node >= 0) return this.pressNode(node, event);
        return {
            move: (() => {
                let last = [x, y];
                return (px: number, py: number) => {
                    stage.pan(px - last[0]!, py - last[1]!);
                    last = [px, py];
                };
            })(),
            release: moved => {
                if (!moved) this.select(new Set());
            },
        };
    }

    private pressNode(node: number, event: PointerEvent): Held {
        const { graph, stage } = this;
        this.mark(node, false);
        this.tip.hidden = true;
        const add = event.ctrlKey || event.metaKey;
        return {
            move: (px, py) => {
                if (!graph) return;
                [graph.x[node], graph.y[node]] = stage.camera.toPlane(px, py);
                if (this.layout) this.layout.pinned[node] = 1;
            },
            release: moved => {
                if (moved) return;
                if (!add) this.select(new Set([node]));
                else this.toggle(node);
            },
        };
    }

    private toggle(node: number): void {
        const selected = new Set(this.selected);
        if (!selected.delete(node)) selected.add(node);
        this.select(selected);
    }

    /** A box, or a click on a node if there is one. */
    private pressBox(x: number, y: number, node: number, add: boolean): Held {
        return {
            move: (px, py) => {
                this.box = [Math.min(x, px), Math.min(y, py), Math.max(x, px), Math.max(y, py)];
            },
            release: moved => {
                const { graph, box, stage } = this;
                this.box = null;
                if (!moved && node >= 0) {
                    if (add) this.toggle(node);
                    else this.select(new Set([node]));
                } else if (!moved && !add) this.select(new Set());
                if (!moved || !box || !graph) return;
                this.select(new Set([...(add ? this.selected : []), ...inBox(graph, stage.camera, box)]));
            },
        };
    }

    hover(at: [number, number] | null): void {
        const { graph, stage } = this;
        if (!graph) return;
        const node = at ? hit(graph, stage.camera, at[0], at[1]) : -1;
        stage.canvas.classList.toggle("node", node >= 0 && !this.boxMode);
        if (node !== this.node) this.mark(node, false);
    }

    /** Lights a node and its neighbours. `speak`: for those who do not see it. */
    private mark(node: number, speak: boolean): void {
        const { graph, tip } = this;
        this.node = node;
        tip.hidden = node < 0;
        if (graph && node >= 0) {
            const facts = graph.facts(node);
            const table = el("table");
            for (const [name, value] of facts) {
                const row = el("tr");
                row.append(el("td", "", name), el("td", "", value));
                table.append(row);
            }
            tip.replaceChildren(el("strong", "", graph.label(node)), table);
            if (speak) this.say([graph.label(node), ...facts.map(([name, value]) => `${name} ${value}`)].join(", "));
        }
        this.stage.redraw();
    }

    private placeTip(): void {
        const { graph, tip, stage, node } = this;
        if (tip.hidden || !graph || node < 0) return;
        const [x, y] = stage.camera.toScreen(graph.x[node]!, graph.y[node]!);
        const { width, height } = stage.camera.size;
        const away = graph.radii[node]! * growth(stage.camera.zoom) + 12;
        const left = x + away + tip.offsetWidth < width ? x + away : x - away - tip.offsetWidth;
        tip.style.left = `${Math.max(2, left)}px`;
        tip.style.top = `${Math.min(Math.max(2, y - 12), Math.max(2, height - tip.offsetHeight - 2))}px`;
    }

    key(event: KeyboardEvent): boolean {
        if (event.ctrlKey || event.metaKey || event.altKey) return false;
        const { graph } = this;
        if (event.key === "0") {
            this.stage.go(this.whole());
            return true;
        }
        if (!graph) return false;
        switch (event.key) {
            case "Tab":
                return this.visit(event.shiftKey ? -1 : 1);
            case "Enter":
            case " ":
                if (this.node < 0) return false;
                if (event.shiftKey) this.toggle(this.node);
                else this.select(new Set([this.node]));
                return true;
            case "Escape":
                this.setBoxMode(false);
                this.select(new Set());
                this.mark(-1, false);
                return true;
            case "/":
                this.field.focus();
                return true;
            default:
                return false;
        }
    }

    /** The next of the largest nodes. After the last one the focus leaves. */
    private visit(by: number): boolean {
        const { graph, stage } = this;
        if (!graph) return false;
        const nodes = [...graph.order.subarray(0, LARGEST)];
        const now = nodes.indexOf(this.node);
        const next = now < 0 && by < 0 ? -1 : now + by;
        const node = nodes[next];
        if (next < 0 || node === undefined) {
            this.mark(-1, false);
            return false;
        }
        this.mark(node, true);
        const [x, y] = stage.camera.toScreen(graph.x[node]!, graph.y[node]!);
        const { width, height } = stage.camera.size;
        if (x < 0 || y < 0 || x > width || y > height)
            stage.go({ ...stage.camera.viewport, x: graph.x[node]!, y: graph.y[node]! });
        return true;
    }

    private setBoxMode(on: boolean): void {
        this.boxMode = on;
        this.boxButton.setAttribute("aria-pressed", String(on));
        this.stage?.canvas.classList.toggle("box", on);
    }

    private say(text: string): void {
        this.spoken.textContent = text;
    }

    // The layout.

    private play(): void {
        const { graph, stage } = this;
        if (!graph || graph.count === 0) return;
        if (!this.layout || this.layout.isFinished) this.layout = new Layout(graph);
        const layout = this.layout;
        stage.touched = false;
        const turn = () => {
            const end = performance.now() + BUDGET;
            do layout.step();
            while (performance.now() < end && !layout.isFinished);
            if (layout.isFinished) {
                this.pause();
                this.say("the layout has finished");
                if (!stage.touched) stage.go(this.whole());
                stage.redraw();
                return;
            }
            // Without motion only the end is shown. Everything stays in view unless the user looks elsewhere.
            if (!stage.touched) stage.camera.fit(graph.bounds(), this.margin);
            if (!stage.isStill) stage.redraw();
            this.playing = requestAnimationFrame(turn);
        };
        this.playing = requestAnimationFrame(turn);
        this.showPlaying();
    }

    private pause(): void {
        if (!this.playing) return;
        cancelAnimationFrame(this.playing);
        this.playing = 0;
        this.showPlaying();
        this.stage.redraw();
    }

    private showPlaying(): void {
        const title = this.playing ? "Pause the layout" : "Run the layout";
        this.playButton.textContent = this.playing ? "❚❚" : "▶";
        this.playButton.title = title;
        this.playButton.setAttribute("aria-label", title);
        this.playButton.setAttribute("aria-pressed", String(this.playing > 0));
    }

    private reset(): void {
        this.pause();
        this.layout = null;
        this.graph?.reset();
        this.stage.go(this.whole());
    }

    // The selection.

    private select(selected: Set<number>): void {
        this.selected = selected;
        this.showSelection();
        const { graph } = this;
        const names = graph ? [...selected].slice(0, 3).map(node => graph.label(node)) : [];
        const more = selected.size > 3 ? ` and ${selected.size - 3} more` : "";
        this.say(selected.size ? `selected: ${names.join(", ")}${more}` : "nothing is selected");
        this.stage.redraw();
        clearTimeout(this.sending);
        if (this.live) this.sending = setTimeout(() => this.send(), REST) as unknown as number;
    }

    private showSelection(): void {
        const count = this.selected.size;
        this.status.textContent = count ? `${count} node${count === 1 ? "" : "s"} selected` : "";
    }

    private async send(): Promise<void> {
        const nodes = [...this.selected].map(node => this.graph?.saved.ids[node] ?? "");
        try {
            await this.connection?.request("select", { nodes });
            this.fail("");
        } catch (why) {
            if (this.live) this.fail(why);
        }
    }

    private fail(why: unknown): void {
        this.problem.textContent = why instanceof Error ? why.message : String(why);
    }

    /** The selection of the kernel. */
    private setSelection(ids: readonly string[]): void {
        const wanted = new Set(ids);
        const all = this.graph?.saved.ids ?? [];
        this.selected = new Set(all.flatMap((id, node) => (wanted.has(id) ? [node] : [])));
        this.showSelection();
        this.stage.redraw();
    }

    // The kernel.

    private connect(session: SessionContext): void {
        const connection = new Connection(session, TARGET, () => ({ view: this.saved.view }), {
            opened: () => void this.opened(connection),
            closed: () => {
                this.live = false;
                this.host.classList.remove("live");
                this.raster?.connect(null);
            },
            message: data => {
                const params = data.params as { nodes?: string[] } | undefined;
                if (data.method === "selected") this.setSelection(params?.nodes ?? []);
            },
        });
        this.connection = connection;
    }

    private async opened(connection: Connection): Promise<void> {
        try {
            const { result } = await connection.request("state");
            if (this.connection !== connection) return;
            const state = result as { nodes: string[]; raster: boolean };
            this.live = true;
            this.host.classList.add("live");
            this.fail("");
            if (this.selected.size > 0) void this.send();
            else this.setSelection(state.nodes);
            if (state.raster) this.raster?.connect(connection, why => this.fail(why));
        } catch {
            // The kernel does not know the picture: it stays as it was saved.
        }
    }

    private disconnect(): void {
        clearTimeout(this.sending);
        clearTimeout(this.hinting);
        this.live = false;
        this.host.classList.remove("live");
        this.connection?.dispose();
        this.connection = null;
    }
}

function shape(saved: Saved): string {
    const many = (count: number, one: string) =>
        `${String(count).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f")} ${one}${count === 1 ? "" : "s"}`;
    return `${many(saved.nodes, "node")}, ${many(saved.edges, saved.directed ? "directed edge" : "edge")}`;
}

function legend(key: Key, palette: string[]): HTMLElement {
    const box = el("div", "key");
    box.append(el("div", "name", key.title));
    for (const [name, color] of key.entries ?? []) {
        const entry = el("div", "entry");
        const swatch = el("span", "swatch");
        swatch.style.background = color;
        entry.append(swatch, el("span", "", name));
        box.append(entry);
    }
    if (key.ticks) {
        const scale = el("div", "scale");
        // The last colour is that of nodes without a value.
        scale.style.background = `linear-gradient(to top, ${palette.slice(0, -1).join(", ")})`;
        for (const [at, label] of key.ticks) {
            const tick = el("span", "tick", label);
            tick.style.bottom = `${at * 100}%`;
            scale.append(tick);
        }
        box.append(scale);
    }
    return box;
}

export const graph: Draw = (node, data) => new GraphView(node, data);
