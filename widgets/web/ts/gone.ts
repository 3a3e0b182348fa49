// Tells the kernel of outputs that are gone for good: cleared, or their notebook was closed. It knows by itself of cells that run
// again or were deleted. Renderers cannot say it: a page makes and drops them as it likes, when it scrolls or moves a tab.

import { CONTROLS } from "./controls.ts";
import type { SessionContext, Signal } from "./session.ts";
import { TABLE } from "./table/view.ts";

const TARGET = "onrush.outputs";
/** Behind these there is something in the kernel or its session. */
const HOLDING = [TABLE, CONTROLS];
/** A cell that is moved, or an output that is drawn anew, is back after this time. */
const SETTLED = 700;

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
export class Watch {
    /** Cells whose outputs hold something, as far as is known. */
    private holding = new Set<string>();
    private timer: ReturnType<typeof setTimeout> | undefined;
    private readonly changed = () => {
        this.timer ??= setTimeout(() => this.look(), SETTLED);
    };

    constructor(
        private readonly model: NotebookModel,
        private readonly session: SessionContext,
    ) {
        model.contentChanged.connect(this.changed);
        this.changed();
    }

    private look(): void {
        this.timer = undefined;
        const holding = new Set<string>();
        const gone: string[] = [];
        for (const cell of this.model.cells) {
            if (cell.type !== "code") continue;
            if (holds(cell)) holding.add(cell.id);
            // What was there before a cell began to run, the kernel has released.
            else if (this.holding.has(cell.id) && cell.executionState !== "running") gone.push(cell.id);
        }
        this.holding = holding;
        this.tell(gone);
    }

    /** The notebook is closed. */
    close(): void {
        clearTimeout(this.timer);
        this.model.contentChanged.disconnect(this.changed);
        this.tell([...this.holding]);
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
        if (HOLDING.some(mimeType => mimeType in data)) return true;
    }
    return false;
}

/** The used part of a view of a notebook, and of what its views have in common. */
export interface Panel {
    readonly content: { readonly model: NotebookModel | null };
    readonly disposed: Signal<unknown>;
}

export interface Context {
    readonly ready: Promise<void>;
    readonly sessionContext: SessionContext;
}

/** Watches each notebook as long as a view of it is open. To be called for each view. */
export class Watches {
    private readonly open = new Map<Context, { views: number; watch: Watch | null }>();

    createNew(panel: Panel, context: Context): undefined {
        const one = this.open.get(context) ?? { views: 0, watch: null };
        one.views += 1;
        this.open.set(context, one);
        void context.ready.then(() => {
            const model = panel.content.model;
            if (model && !one.watch && one.views > 0) one.watch = new Watch(model, context.sessionContext);
        });
        panel.disposed.connect(() => {
            one.views -= 1;
            if (one.views > 0) return;
            this.open.delete(context);
            one.watch?.close();
        });
    }
}
