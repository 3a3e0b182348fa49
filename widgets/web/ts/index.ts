// The extension: renderers of Onrush's MIME types for JupyterLab and Notebook 7.

import { IRenderMimeRegistry, type MimeModel, type Renderer } from "@jupyterlab/rendermime";
import { Widget } from "@lumino/widgets";
import { type Draw, type Drawn, RENDERERS } from "./renderers.ts";
import { sessionOf } from "./session.ts";

/** Before HTML (50), which every bundle has, too. */
const RANK = 10;

class Output extends Widget implements Renderer {
    private drawn: Drawn | null = null;

    constructor(
        private readonly mimeType: string,
        private readonly draw: Draw,
    ) {
        super();
        this.addClass("onrush-output");
    }

    async renderModel(model: MimeModel): Promise<void> {
        const data = model.data[this.mimeType];
        if (this.drawn) {
            this.drawn.update(data);
            return;
        }
        this.drawn = this.draw(this.node, data);
        if (this.isAttached) this.drawn.attached?.(sessionOf(this));
    }

    override dispose(): void {
        if (this.isDisposed) return;
        this.drawn?.dispose();
        super.dispose();
    }

    protected override onAfterAttach(message: unknown): void {
        super.onAfterAttach(message);
        this.drawn?.attached?.(sessionOf(this));
    }

    protected override onBeforeDetach(message: unknown): void {
        this.drawn?.detached?.();
        super.onBeforeDetach(message);
    }
}

export default {
    id: "@onrush/jupyterlab:outputs",
    description: "Draws tables and other outputs of the Onrush kernel.",
    autoStart: true,
    requires: [IRenderMimeRegistry],
    activate: (_app: unknown, registry: IRenderMimeRegistry): void => {
        for (const [mimeType, draw] of Object.entries(RENDERERS)) {
            const createRenderer = () => new Output(mimeType, draw);
            // Safe: data becomes text, never markup.
            registry.addFactory({ safe: true, mimeTypes: [mimeType], createRenderer }, RANK);
        }
    },
};
