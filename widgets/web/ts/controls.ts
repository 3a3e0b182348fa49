// Controls: ipywidgets draws them. If it cannot (the kernel was restarted, there is none, ipywidgets is not installed)
// their values are shown, never an error. The renderers of the page draw both.

import type { IRenderMimeRegistry, MimeModel, Renderer } from "@jupyterlab/rendermime";
import { Panel } from "@lumino/widgets";
import { registryOf } from "./session.ts";

export const CONTROLS = "application/vnd.onrush.controls.v1+json";
/** Before the renderer of ipywidgets (-10). */
export const CONTROLS_RANK = -20;

const VIEW = "application/vnd.jupyter.widget-view+json";
const STILL = "text/html";
/** How long ipywidgets may look for a model before the values are shown, in milliseconds. */
const PATIENCE = 3000;
/** The polling interval meanwhile, in milliseconds. */
const LOOK = 200;
const LONGEST = 60_000;

export class Controls extends Panel implements Renderer {
    private model: MimeModel | null = null;
    private drawn: string | null = null;
    private live: Renderer | null = null;
    private still: Renderer | null = null;
    private watching: MutationObserver | null = null;
    private factory: unknown;
    private timer: ReturnType<typeof setInterval> | undefined;
    private waited = false;

    async renderModel(model: MimeModel): Promise<void> {
        this.model = model;
        if (this.isAttached) this.draw();
    }

    override dispose(): void {
        clearInterval(this.timer);
        this.watching?.disconnect();
        super.dispose();
    }

    protected override onAfterAttach(message: unknown): void {
        super.onAfterAttach(message);
        this.draw();
    }

    private draw(): void {
        const registry = registryOf(this);
        const model = this.model;
        if (!model || !registry) return;
        const id = JSON.stringify(model.data[VIEW] ?? null);
        // The values of controls in use are sent again: the screen shows them already.
        if (this.drawn !== id) {
            this.drawn = id;
            this.waited = false;
            this.enliven(registry, model);
            clearInterval(this.timer);
            const begun = Date.now();
            this.timer = setInterval(() => {
                this.waited = Date.now() - begun > PATIENCE;
                // After a page load, ipywidgets is registered in a notebook later than its outputs are drawn, and
                // replaces only renderers of whole outputs.
                if (this.waits && registry.getFactory(VIEW) !== this.factory) this.enliven(registry, model);
                this.choose();
                if ((!this.waits && this.waited) || Date.now() - begun > LONGEST) clearInterval(this.timer);
            }, LOOK);
        }
        if (!this.still) {
            this.still = registry.createRenderer(STILL);
            this.addWidget(this.still);
        }
        void this.still.renderModel(model);
        this.choose();
    }

    /** The renderer of ipywidgets, as registered in the notebook now. */
    private enliven(registry: IRenderMimeRegistry, model: MimeModel): void {
        this.watching?.disconnect();
        this.live?.dispose();
        this.live = null;
        this.factory = registry.getFactory(VIEW);
        if (!model.data[VIEW] || !this.factory) return;
        this.live = registry.createRenderer(VIEW);
        this.addWidget(this.live);
        this.watching = new MutationObserver(() => this.choose());
        this.watching.observe(this.live.node, { childList: true, characterData: true, subtree: true });
        void this.live.renderModel(model);
    }

    private get waits(): boolean {
        return !this.live || this.live.node.textContent === "Loading widget...";
    }

    private choose(): void {
        if (this.isDisposed) return;
        const failed = this.live?.node.textContent?.startsWith("Error displaying widget") ?? false;
        show(this.live, !failed && !this.waits);
        show(this.still, failed || (this.waits && this.waited));
    }
}

function show(renderer: Renderer | null, shown: boolean): void {
    if (renderer) renderer.node.style.display = shown ? "" : "none";
}
