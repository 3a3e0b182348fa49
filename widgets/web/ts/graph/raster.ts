// A large graph as a shaded picture. The kernel draws the part in view anew when the camera rests; until then the last
// pictures are moved and scaled.

import type { Connection } from "../connection.ts";
import type { Rect } from "./camera.ts";
import { bytesOf, type SavedRaster } from "./data.ts";
import type { Stage } from "./stage.ts";

/** Milliseconds without a move before the kernel is asked. */
const REST = 60;
const SIDE = 4096;

interface Drawn {
    /** In the plane, with y downwards. */
    rect: Rect;
    image: ImageBitmap;
}

export class Raster {
    /** The whole picture in the plane. */
    readonly bounds: Rect;
    private whole: Drawn | null = null;
    private part: Drawn | null = null;
    private connection: Connection | null = null;
    private failed: (why: unknown) => void = () => {};
    private timer = 0;
    private turn = 0;
    private disposed = false;

    constructor(
        saved: SavedRaster,
        private readonly stage: Stage,
    ) {
        this.bounds = flipped(saved.window);
        // A saved PNG that is empty or broken shows nothing until the kernel has drawn the part in view.
        this.load(new Blob([bytesOf(saved.png)], { type: "image/png" }), this.bounds, true).catch(() => {});
    }

    /** Ends the requests and frees the pictures. */
    dispose(): void {
        this.disposed = true;
        this.connect(null);
        clearTimeout(this.timer);
        this.whole?.image.close();
        this.part?.image.close();
        this.whole = null;
        this.part = null;
    }

    private async load(png: Blob, rect: Rect, isWhole: boolean): Promise<void> {
        const drawn = { rect, image: await createImageBitmap(png) };
        if (this.disposed) {
            drawn.image.close();
            return;
        }
        const before = isWhole ? this.whole : this.part;
        if (isWhole) this.whole = drawn;
        else this.part = drawn;
        before?.image.close();
        this.stage.redraw();
    }

    connect(connection: Connection | null, failed: (why: unknown) => void = () => {}): void {
        this.connection = this.disposed ? null : connection;
        this.failed = failed;
        if (this.connection) this.moved();
    }

    draw(context: CanvasRenderingContext2D): void {
        for (const drawn of [
            this.part && covers(this.part.rect, this.stage.camera.window) ? null : this.whole,
            this.part,
        ]) {
            if (!drawn) continue;
            const [left, top] = this.stage.camera.toScreen(drawn.rect[0], drawn.rect[1]);
            const [right, bottom] = this.stage.camera.toScreen(drawn.rect[2], drawn.rect[3]);
            context.drawImage(drawn.image, left, top, right - left, bottom - top);
        }
    }

    /** The camera has moved: the part in view is asked for when it rests. */
    moved(): void {
        clearTimeout(this.timer);
        if (!this.connection) return;
        this.timer = setTimeout(() => void this.ask(), REST) as unknown as number;
    }

    private async ask(): Promise<void> {
        const { connection, stage } = this;
        if (!connection) return;
        const turn = ++this.turn;
        const rect = stage.camera.window;
        const ratio = devicePixelRatio || 1;
        const [width, height] = [stage.camera.size.width, stage.camera.size.height].map(side =>
            Math.min(Math.round(side * ratio), SIDE),
        );
        try {
            const { buffers } = await connection.request("raster", { window: flipped(rect), width, height });
            const png = buffers[0];
            if (turn !== this.turn || !png || this.disposed) return;
            const bytes = new Uint8Array(png.byteLength);
            bytes.set(new Uint8Array(png.buffer, png.byteOffset, png.byteLength));
            await this.load(new Blob([bytes], { type: "image/png" }), rect, false);
            this.failed("");
        } catch (why) {
            // An error of an older part is not shown.
            if (turn === this.turn && this.connection) this.failed(why);
        }
    }
}

/** Between y upwards and y downwards. */
export function flipped([x0, y0, x1, y1]: readonly [number, number, number, number]): Rect {
    return [x0, -y1, x1, -y0];
}

export function covers(outer: Rect, inner: Rect): boolean {
    return outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3];
}
