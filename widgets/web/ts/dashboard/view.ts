// A dashboard on the page. With a kernel, dragging in a view filters the others. Bars move at once, by sums that came
// when the pointer entered the view. Everything follows when the user lets go. Without one it is the picture that was
// saved.

import { Connection } from "../connection.ts";
import type { Draw, Drawn, Keep } from "../renderers.ts";
import type { SessionContext } from "../session.ts";
import { button, el } from "../table/dom.ts";
import tools from "../tools.css";
import { brushed, type Cube, combine, digits, type Filter, isKept, others, type State } from "./data.ts";
import style from "./style.css";
import { CellsTile, type Owner, RasterTile, SlotsTile, type Tile, tile } from "./tile.ts";

export const DASHBOARD = "application/vnd.onrush.dashboard.v1+json";
const TARGET = "onrush.visual";

/** Milliseconds between two questions while the user drags. */
const PAUSE = 60;
/** Milliseconds after the last key before the kernel is asked. */
const REST = 150;
/** Milliseconds without a change before the notebook gets the new picture. */
const DEBOUNCE_MS = 800;

/** What answers for a dashboard: a kernel, or the rows in a page. */
export interface Source {
    readonly isOpen: boolean;
    views(filters: Filter[], moving: boolean): Promise<State>;
    /** The cubes of all other views, by their position. */
    cubes(view: number, filters: Filter[]): Promise<Map<number, Cube>>;
    /** What is saved with the notebook. */
    bundle?(filters: Filter[]): Promise<Record<string, unknown>>;
}

class Kernel implements Source {
    constructor(private readonly connection: Connection) {}

    get isOpen(): boolean {
        return this.connection.isOpen;
    }

    async views(filters: Filter[], moving: boolean): Promise<State> {
        return (await this.connection.request("dashboard", { filters, moving })).result as State;
    }

    async bundle(filters: Filter[]): Promise<Record<string, unknown>> {
        const { result } = await this.connection.request("dashboard", { filters, moving: false, whole: true });
        return result as Record<string, unknown>;
    }

    async cubes(view: number, filters: Filter[]): Promise<Map<number, Cube>> {
        const { result, buffers } = await this.connection.request("cubes", { slots: view, filters });
        const sections = (result as { sections: { name: string; offset: number; length: number }[] }).sections;
        const memory = buffers[0];
        const cubes = new Map<number, Cube>();
        if (!memory) return cubes;
        for (const { name, offset, length } of sections) {
            const [what, at] = name.split("_") as [string, string];
            // A copy begins at a multiple of eight.
            const bytes = memory.buffer.slice(memory.byteOffset + offset, memory.byteOffset + offset + length);
            const cube = cubes.get(Number(at)) ?? { counts: new Uint32Array() };
            if (what === "counts") cube.counts = new Uint32Array(bytes);
            else if (what === "sums") cube.sums = new Float64Array(bytes);
            else if (what === "valued") cube.valued = new Uint32Array(bytes);
            cubes.set(Number(at), cube);
        }
        return cubes;
    }
}

export class DashboardView implements Drawn, Owner {
    private readonly root = el("div", "root");
    private readonly heading = el("div", "heading");
    private readonly name = el("span", "name");
    private readonly count = el("span", "count");
    private readonly tiles = el("div", "tiles");
    private readonly problem = el("div", "error");
    private readonly notes = el("div", "notes");
    private readonly spoken = el("div", "unseen");
    private readonly clearButton = button("", "Clear", "Clear all filters", () => this.clear());
    private saved: State;
    private views: Tile[] = [];
    private filters: Filter[] = [];
    /** Those that the kernel has taken. */
    private taken: Filter[] = [];
    private connection: Connection | null = null;
    private source: Source | null = null;
    private session: SessionContext | null = null;
    private cubes: { view: number; key: string; cubes: Map<number, Cube> } | null = null;
    private asked = "";
    private turn = 0;
    private timer = 0;
    private settling = 0;
    private waiting = false;
    private planned = false;
    private busy = false;

    constructor(
        private readonly host: HTMLElement,
        data: unknown,
        private readonly keep: Keep | null = null,
        source: Source | null = null,
    ) {
        host.dataset.lmSuppressShortcuts = "true";
        const shadow = host.attachShadow({ mode: "open" });
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(tools + style);
        shadow.adoptedStyleSheets = [sheet];
        shadow.append(this.root);
        this.count.setAttribute("role", "status");
        this.problem.setAttribute("role", "alert");
        this.spoken.setAttribute("aria-live", "polite");
        this.clearButton.disabled = true;
        const bar = el("div", "tools");
        bar.append(this.clearButton);
        this.heading.append(this.name, this.count, bar);
        this.root.append(this.heading, this.problem, this.tiles, this.notes, this.spoken);
        this.root.addEventListener("keydown", event => {
            // Keys of the page must not run cells while a view has the focus.
            if (event.key !== "Tab" && !event.ctrlKey && !event.metaKey) event.stopPropagation();
        });
        this.saved = data as State;
        this.build(this.saved);
        if (source) this.use(source);
    }

    update(data: unknown): void {
        const next = data as State;
        if (JSON.stringify(next.filters) === JSON.stringify(this.filters) && next.view === this.saved.view) {
            this.saved = next;
            return;
        }
        this.disconnect();
        this.saved = next;
        this.build(next);
        if (this.session && this.saved.view) this.connect(this.session);
    }

    attached(session: SessionContext | null): void {
        this.session = session;
        if (session && !this.connection && this.saved.view) this.connect(session);
    }

    dispose(): void {
        this.disconnect();
    }

    // Drawing.

    private build(state: State): void {
        this.filters = this.taken = state.filters;
        this.name.textContent = state.title;
        this.name.hidden = !state.title;
        this.views = state.views.map((view, at) => tile(this, at, view));
        this.tiles.replaceChildren(...this.views.map(view => view.node));
        this.tiles.style.maxWidth = `${state.width}px`;
        this.summary(state.summary, state.sentences);
        this.notes.textContent = state.notes.join("; ");
        this.mark();
    }

    private summary(text: string, sentences: string[]): void {
        this.count.textContent = [text, ...sentences].filter(part => part).join("; ");
    }

    private mark(): void {
        for (const view of this.views) {
            view.mark(this.filters.find(filter => filter.view === view.index) ?? null);
        }
        this.clearButton.disabled = this.filters.length === 0;
    }

    private show(state: State): void {
        state.views.forEach((view, at) => {
            if (view.kind !== "unchanged") this.views[at]?.show(view);
        });
        this.summary(state.summary, state.sentences);
    }

    // The events of the tiles.

    get isLive(): boolean {
        return this.source?.isOpen ?? false;
    }

    say(text: string): void {
        this.spoken.textContent = text;
    }

    enter(view: number): void {
        const { source } = this;
        if (!source?.isOpen || !(this.views[view] instanceof SlotsTile)) return;
        const key = others(this.filters, view);
        const wanted = `${view} ${key}`;
        if (this.asked === wanted) return;
        this.asked = wanted;
        source
            .cubes(view, this.filters)
            .then(cubes => {
                if (this.asked === wanted) this.cubes = { view, key, cubes };
            })
            .catch(() => {
                // The next brush asks the kernel for everything.
                if (this.asked === wanted) this.asked = "";
            });
    }

    filter(view: number, filter: Filter | null, done: boolean): void {
        this.filters = this.filters.filter(one => one.view !== view);
        if (filter) this.filters.push(filter);
        this.filters.sort((a, b) => a.view - b.view);
        this.clearButton.disabled = this.filters.length === 0;
        const all = this.brush(view, filter);
        if (done) this.later(REST / 3, false);
        else if (!all) this.later(PAUSE, true);
    }

    /** Moves the bars of the other views. Whether they show everything that changes. */
    private brush(view: number, filter: Filter | null): boolean {
        const { cubes } = this;
        const active = this.views[view];
        if (!(active instanceof SlotsTile)) return false;
        if (!cubes || cubes.view !== view || cubes.key !== others(this.filters, view)) {
            this.enter(view);
            return false;
        }
        let all = true;
        for (const other of this.views) {
            if (other.index === view) continue;
            const cube = cubes.cubes.get(other.index);
            if (other instanceof SlotsTile || other instanceof CellsTile) {
                const width = other.data.all.length;
                const shown = cube && brushed(cube, width, filter?.slots ?? null, combine(other.data.label));
                if (shown) other.brushed(shown);
                else all = false;
            } else if (other instanceof RasterTile) all = false;
        }
        if (combine(active.data.label) === "count") {
            const kept = active.data.shown.filter((_, slot) => isKept(filter?.slots, slot));
            const rows = kept.reduce((sum: number, count) => sum + (count ?? 0), 0);
            this.summary(`${digits(rows)} of ${digits(this.saved.rows)} rows`, []);
        }
        return all;
    }

    private clear(): void {
        this.filters = [];
        this.mark();
        this.later(0, false);
    }

    // The kernel.

    private later(pause: number, moving: boolean): void {
        // While the user drags a question that waits is enough.
        if (moving && this.waiting) return;
        clearTimeout(this.timer);
        this.waiting = moving;
        this.planned = true;
        this.root.setAttribute("aria-busy", "true");
        this.timer = setTimeout(() => {
            this.waiting = false;
            this.planned = false;
            if (moving && this.busy) this.later(PAUSE, true);
            else void this.ask(moving);
        }, pause) as unknown as number;
    }

    /** Nothing is asked for, and nothing will be without another action. */
    private rest(): void {
        this.busy = false;
        if (!this.planned) this.root.removeAttribute("aria-busy");
    }

    private async ask(moving: boolean): Promise<void> {
        const { source } = this;
        if (!source?.isOpen) return this.rest();
        const turn = ++this.turn;
        const { filters } = this;
        this.busy = true;
        this.root.setAttribute("aria-busy", "true");
        try {
            const state = await source.views(filters, moving);
            if (turn !== this.turn || this.source !== source) return;
            this.taken = filters;
            this.show(state);
            this.problem.textContent = "";
            if (!moving) this.settle();
        } catch (why) {
            if (turn === this.turn && this.source === source) {
                this.fail(why);
                // The kernel has kept the filters that it had before.
                this.filters = this.taken;
                this.mark();
            }
        } finally {
            if (turn === this.turn) this.rest();
        }
    }

    /** The notebook gets the dashboard as it is now, so that it is saved like this. */
    private settle(): void {
        clearTimeout(this.settling);
        this.settling = setTimeout(async () => {
            const { source, turn } = this;
            if (!this.keep || !source?.bundle) return;
            try {
                const bundle = await source.bundle(this.filters);
                if (turn === this.turn && this.source === source) this.keep(bundle);
            } catch {
                // Something newer was asked for, or the kernel is gone: what was saved stays.
            }
        }, DEBOUNCE_MS) as unknown as number;
    }

    private fail(why: unknown): void {
        this.problem.textContent = why instanceof Error ? why.message : String(why);
    }

    private use(source: Source): void {
        this.source = source;
        this.host.classList.add("live");
    }

    private connect(session: SessionContext): void {
        const connection = new Connection(session, TARGET, () => ({ view: this.saved.view }), {
            opened: () => void this.opened(connection),
            closed: () => this.closed(),
            message: data => this.told(data),
        });
        this.connection = connection;
    }

    private async opened(connection: Connection): Promise<void> {
        try {
            const { result } = await connection.request("state");
            if (this.connection !== connection) return;
            this.use(new Kernel(connection));
            const filters = (result as { filters?: Filter[] }).filters ?? [];
            if (JSON.stringify(filters) === JSON.stringify(this.filters)) return;
            // The kernel has seen more than the notebook that was saved.
            this.filters = filters;
            this.mark();
            await this.ask(false);
        } catch {
            // The kernel does not know the dashboard: it stays as it was saved.
        }
    }

    /** Another output, or a cell, has set the filters. */
    private told(data: Record<string, unknown>): void {
        if (data.method !== "filters") return;
        this.filters = (data.params as { filters: Filter[] }).filters;
        this.mark();
        void this.ask(false);
    }

    private closed(): void {
        this.source = null;
        this.cubes = null;
        this.asked = "";
        this.host.classList.remove("live");
    }

    private disconnect(): void {
        clearTimeout(this.timer);
        clearTimeout(this.settling);
        this.waiting = false;
        this.planned = false;
        this.rest();
        this.closed();
        this.connection?.dispose();
        this.connection = null;
    }
}

export const dashboard: Draw = (node, data, keep) => new DashboardView(node, data, keep);
