// The used part of the interfaces of Jupyter: its packages have a thousand dependencies. `build.mjs` lists the modules.

declare module "@lumino/widgets" {
    export class Widget {
        readonly node: HTMLElement;
        readonly parent: Widget | null;
        readonly isAttached: boolean;
        readonly isDisposed: boolean;
        constructor(options?: { node?: HTMLElement });
        addClass(name: string): void;
        dispose(): void;
        protected onAfterAttach(message: unknown): void;
        protected onBeforeDetach(message: unknown): void;
    }

    export class Panel extends Widget {
        addWidget(widget: Widget): void;
    }
}

declare module "@jupyterlab/rendermime" {
    import type { Widget } from "@lumino/widgets";

    export interface MimeModel {
        readonly trusted: boolean;
        readonly data: Readonly<Record<string, unknown>>;
        readonly metadata: Readonly<Record<string, unknown>>;
        setData(options: { data?: Record<string, unknown> }): void;
    }

    export interface Renderer extends Widget {
        renderModel(model: MimeModel): Promise<void>;
    }

    export interface RendererFactory {
        readonly safe: boolean;
        readonly mimeTypes: readonly string[];
        readonly defaultRank?: number;
        createRenderer(options: { mimeType: string }): Renderer;
    }

    export interface IRenderMimeRegistry {
        createRenderer(mimeType: string): Renderer;
        getFactory(mimeType: string): RendererFactory | undefined;
        addFactory(factory: RendererFactory, rank?: number): void;
    }

    /** A token: the same object for all extensions of a page. */
    export const IRenderMimeRegistry: { readonly name: string };
}
