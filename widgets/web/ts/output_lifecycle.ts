// Tells the kernel about outputs that are gone for good: cleared, or in a closed notebook. The kernel knows by itself
// about cells that run again or were deleted. Renderers cannot do this: a page creates and drops them at any time, when
// it scrolls or moves a tab.

import { Connection } from "./connection.ts";
import { CONTROLS } from "./controls.ts";
import type { SessionContext, Signal } from "./session.ts";
import { TABLE } from "./table/view.ts";

const TARGET = "onrush.outputs";
/** MIME types with state in the kernel or its session. */
const STATEFUL_MIME_TYPES = [TABLE, CONTROLS];
/** Debounce in milliseconds: a moved cell, or a redrawn output, is back after this time. */
const DEBOUNCE_MS = 700;
/** A page that still exists after this time was not left, in milliseconds. */
const STAYED = 3000;
/** Seconds after which a page that was left does not come back: a reload is done by then. */
const PATIENCE = 60;

interface Cell {
    readonly id: string;
    readonly type: string;
    readonly executionState?: string;
    readonly outputs?: {
        readonly length: number;
        get(index: number): { readonly data: Readonly<Record<string, unknown>> };
    };
}

/** The used part of a notebook's model. */
export interface NotebookModel {
    readonly cells: Iterable<Cell>;
    readonly contentChanged: Signal<unknown>;
}

/** One notebook, whatever the number of its views. */
export class OutputTracker {
    /** Cells whose outputs hold state, as far as known. */
    private holding = new Set<string>();
    private timer: ReturnType<typeof setTimeout> | undefined;
    /** Open as long as the page is: when the kernel knows no page any more, it releases the state of outputs. */
    private page: Connection | null = null;
    private readonly changed = () => {
        this.timer ??= setTimeout(() => this.look(), DEBOUNCE_MS);
    };
    private readonly left = () => {
        this.page?.dispose();
        this.page = null;
    };
    /** The page asks whether to save, and may stay: then this runs. */
    private back: ReturnType<typeof setTimeout> | undefined;
    private readonly leaving = () => {
        this.left();
        clearTimeout(this.back);
        this.back = setTimeout(this.shown, STAYED);
    };
    private readonly shown = () => {
        const opened = () => this.page?.send({ holding: [...this.holding] });
        this.page ??= new Connection(this.session, TARGET, () => ({ page: { patience: PATIENCE } }), { opened });
    };

    /** `alone`: closing the page closes the notebook, as in Notebook 7. */
    constructor(
        private readonly model: NotebookModel,
        private readonly session: SessionContext,
        alone: boolean,
    ) {
        model.contentChanged.connect(this.changed);
        this.changed();
        this.shown();
        if (!alone) return;
        // At the second event a message may not arrive any more.
        window.addEventListener("beforeunload", this.leaving);
        window.addEventListener("pagehide", this.left);
        // The page may be restored from the cache.
        window.addEventListener("pageshow", this.shown);
    }

    private look(): void {
        this.timer = undefined;
        const holding = new Set<string>();
        const gone: string[] = [];
        for (const cell of this.model.cells) {
            if (cell.type !== "code") continue;
            if (holds(cell)) holding.add(cell.id);
            // The kernel has released the outputs from before the cell began to run.
            else if (this.holding.has(cell.id) && cell.executionState !== "running") gone.push(cell.id);
        }
        const changed = gone.length > 0 || [...holding].some(cell => !this.holding.has(cell));
        this.holding = holding;
        this.tell(gone);
        if (changed) this.page?.send({ holding: [...holding] });
    }

    /** The notebook is closed. */
    close(): void {
        clearTimeout(this.timer);
        this.model.contentChanged.disconnect(this.changed);
        clearTimeout(this.back);
        window.removeEventListener("beforeunload", this.leaving);
        window.removeEventListener("pagehide", this.left);
        window.removeEventListener("pageshow", this.shown);
        this.tell([...this.holding]);
        this.left();
    }

    private tell(gone: string[]): void {
        const kernel = this.session.session?.kernel;
        if (gone.length === 0 || !kernel || kernel.isDisposed || kernel.connectionStatus !== "connected") return;
        if (!kernel.handleComms) return;
        // The kernel closes it.
        kernel.createComm(TARGET).open({ gone });
    }
}

function holds(cell: Cell): boolean {
    const { outputs } = cell;
    for (let i = 0; i < (outputs?.length ?? 0); i++) {
        const data = outputs?.get(i).data ?? {};
        if (STATEFUL_MIME_TYPES.some(mimeType => mimeType in data)) return true;
    }
    return false;
}

/** The used part of a view of a notebook, and the shared part of its views. */
export interface Panel {
    readonly content: { readonly model: NotebookModel | null };
    readonly disposed: Signal<unknown>;
}

export interface Context {
    readonly ready: Promise<void>;
    readonly sessionContext: SessionContext;
}

/** Tracks each notebook as long as a view of it is open. Called for each view. */
export class OutputTrackers {
    constructor(private readonly alone: boolean) {}

    private readonly open = new Map<Context, { views: number; tracker: OutputTracker | null }>();

    createNew(panel: Panel, context: Context): undefined {
        const one = this.open.get(context) ?? { views: 0, tracker: null };
        one.views += 1;
        this.open.set(context, one);
        void context.ready.then(() => {
            const model = panel.content.model;
            if (model && !one.tracker && one.views > 0) {
                one.tracker = new OutputTracker(model, context.sessionContext, this.alone);
            }
        });
        panel.disposed.connect(() => {
            one.views -= 1;
            if (one.views > 0) return;
            this.open.delete(context);
            one.tracker?.close();
        });
    }
}
