// The renderer of each MIME type. A renderer is one entry here and one file.

import { DASHBOARD, dashboard } from "./dashboard/view.ts";
import { GRAPH, graph } from "./graph/view.ts";
import { drawProgress, PROGRESS } from "./progress.ts";
import { RASTER, raster } from "./raster/view.ts";
import type { Go, SessionContext } from "./session.ts";
import { TABLE, table } from "./table/view.ts";

/** A drawn output. */
export interface Drawn {
    /** The output was replaced in place: the same MIME type with other data. */
    update(data: unknown): void;
    /** The output is in a page now, in a notebook or console with this session. May be called again after `detached`. */
    attached?(session: SessionContext | null, go: Go | null): void;
    detached?(): void;
    dispose(): void;
}

/** Replaces the output in the notebook that is saved. */
export type Keep = (bundle: Record<string, unknown>) => void;

export type Draw = (node: HTMLElement, data: unknown, keep: Keep) => Drawn;

export const RENDERERS: Readonly<Record<string, Draw>> = {
    [TABLE]: table,
    [GRAPH]: graph,
    [RASTER]: raster,
    [DASHBOARD]: dashboard,
    [PROGRESS]: drawProgress,
};
