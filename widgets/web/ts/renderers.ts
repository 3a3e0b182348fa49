// Which MIME type is drawn by what. A renderer is one entry here and one file.

import { drawProgress, PROGRESS } from "./progress.ts";
import type { Go, SessionContext } from "./session.ts";
import { TABLE, table } from "./table/view.ts";

/** What has been drawn. */
export interface Drawn {
    /** The output was replaced in place: the same MIME type with other data. */
    update(data: unknown): void;
    /** The output stands in a page now, in a notebook or console with this session. May come again after `detached`. */
    attached?(session: SessionContext | null, go: Go | null): void;
    detached?(): void;
    dispose(): void;
}

export type Draw = (node: HTMLElement, data: unknown) => Drawn;

export const RENDERERS: Readonly<Record<string, Draw>> = {
    [TABLE]: table,
    [PROGRESS]: drawProgress,
};
