// The extension: renderers of Onrush's MIME types for JupyterLab and Notebook 7.

import { IRenderMimeRegistry, type MimeModel, type Renderer } from "@jupyterlab/rendermime";
import { Panel, Widget } from "@lumino/widgets";
import { CONTROLS, CONTROLS_RANK, Controls } from "./controls.ts";
import { drawError, ERROR } from "./error/view.ts";
import { type Context, type Panel as NotebookPanel, OutputTrackers } from "./output_lifecycle.ts";
import { type Draw, type Drawn, RENDERERS } from "./renderers.ts";
import { editorsOf, sessionOf } from "./session.ts";

/** Before HTML (50), which every bundle has too. */
const RANK = 10;

class Output extends Widget implements Renderer {
    private drawn: Drawn | null = null;
    private model: MimeModel | null = null;

    constructor(
        private readonly mimeType: string,
        private readonly draw: Draw,
    ) {
        super();
        this.addClass("onrush-output");
    }

    async renderModel(model: MimeModel): Promise<void> {
        const data = model.data[this.mimeType];
        this.model = model;
        if (this.drawn) {
            this.drawn.update(data);
            return;
        }
        this.drawn = this.draw(this.node, data, bundle => this.model?.setData({ data: bundle }));
        if (this.isAttached) this.drawn.attached?.(sessionOf(this), editorsOf(this));
    }

    override dispose(): void {
        if (this.isDisposed) return;
        this.drawn?.dispose();
        super.dispose();
    }

    protected override onAfterAttach(message: unknown): void {
        super.onAfterAttach(message);
        this.drawn?.attached?.(sessionOf(this), editorsOf(this));
    }

    protected override onBeforeDetach(message: unknown): void {
        this.drawn?.detached?.();
        super.onBeforeDetach(message);
    }
}

/** An error of Onrush, or the output of the page for an error of another kernel. */
class ErrorOutput extends Panel implements Renderer {
    private drawn: Drawn | null = null;
    private readonly own = new Widget();
    private other: Renderer | null = null;

    constructor(private readonly usual: () => Renderer | null) {
        super();
    }

    async renderModel(model: MimeModel): Promise<void> {
        const output = model.data[ERROR];
        this.drawn = drawError(this.own.node, output);
        if (this.drawn) {
            this.addClass("onrush-output");
            this.addWidget(this.own);
            if (this.isAttached) this.drawn.attached?.(null, editorsOf(this));
            return;
        }
        this.other ??= this.usual();
        if (!this.other) return;
        this.other.node.dataset.mimeType = USUAL;
        this.addWidget(this.other);
        await this.other.renderModel(model);
    }

    protected override onAfterAttach(message: unknown): void {
        super.onAfterAttach(message);
        this.drawn?.attached?.(null, editorsOf(this));
    }
}

/** The MIME type of the text of an error. */
const USUAL = "application/vnd.jupyter.stderr";

/** The used part of the page's application. */
interface Application {
    readonly name?: string;
    readonly docRegistry?: {
        addWidgetExtension(
            factory: string,
            extension: { createNew(panel: NotebookPanel, context: Context): undefined },
        ): unknown;
    };
}

export default {
    id: "@onrush/jupyterlab:outputs",
    description: "Draws tables and other outputs of the Onrush kernel.",
    autoStart: true,
    requires: [IRenderMimeRegistry],
    activate: (app: Application, registry: IRenderMimeRegistry): void => {
        app.docRegistry?.addWidgetExtension("Notebook", new OutputTrackers(app.name === "Jupyter Notebook"));
        for (const [mimeType, draw] of Object.entries(RENDERERS)) {
            const createRenderer = () => new Output(mimeType, draw);
            // Safe: data becomes text, never markup.
            registry.addFactory({ safe: true, mimeTypes: [mimeType], createRenderer }, RANK);
        }
        // Not safe: an untrusted notebook shows only the values.
        const controls = { safe: false, mimeTypes: [CONTROLS], createRenderer: () => new Controls() };
        registry.addFactory(controls, CONTROLS_RANK);
        const usual = registry.getFactory(USUAL);
        const createRenderer = (options: { mimeType: string }) =>
            new ErrorOutput(() => usual?.createRenderer({ ...options, mimeType: USUAL }) ?? null);
        registry.addFactory({ safe: true, mimeTypes: [ERROR], createRenderer }, RANK);
    },
};
