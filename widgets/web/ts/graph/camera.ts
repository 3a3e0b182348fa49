// From positions of a graph to pixels of a canvas, and back.

export interface Size {
    width: number;
    height: number;
}

export type Rect = [left: number, top: number, right: number, bottom: number];

/** The point of the plane in the middle of the canvas, and pixels for each unit. */
export interface Viewport {
    x: number;
    y: number;
    scale: number;
}

const NEAREST = 4000;
const FARTHEST = 1 / 20;

export class Camera {
    x = 0;
    y = 0;
    scale = 1;
    /** The scale at which everything is in view. */
    whole = 1;

    constructor(readonly size: Size) {}

    toScreen(x: number, y: number): [number, number] {
        return [(x - this.x) * this.scale + this.size.width / 2, (y - this.y) * this.scale + this.size.height / 2];
    }

    toPlane(px: number, py: number): [number, number] {
        return [(px - this.size.width / 2) / this.scale + this.x, (py - this.size.height / 2) / this.scale + this.y];
    }

    /** How much closer the plane is than when everything is in view. */
    get zoom(): number {
        return this.scale / this.whole;
    }

    /** The viewport that has a rectangle of the plane in view. `margin` is in pixels. */
    around([x0, y0, x1, y1]: Rect, margin: number): Viewport {
        const share = (pixels: number, extent: number) =>
            extent > 0 ? Math.max(pixels - 2 * margin, 1) / extent : Number.POSITIVE_INFINITY;
        const scale = Math.min(share(this.size.width, x1 - x0), share(this.size.height, y1 - y0));
        return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, scale: Number.isFinite(scale) ? scale : 1 };
    }

    fit(bounds: Rect, margin: number): void {
        this.set(this.around(bounds, margin));
        this.whole = this.scale;
    }

    set({ x, y, scale }: Viewport): void {
        this.x = x;
        this.y = y;
        this.scale = scale;
    }

    get viewport(): Viewport {
        return { x: this.x, y: this.y, scale: this.scale };
    }

    pan(dx: number, dy: number): void {
        this.x -= dx / this.scale;
        this.y -= dy / this.scale;
    }

    /** The point at a pixel stays there. */
    zoomAt(px: number, py: number, factor: number): void {
        const [x, y] = this.toPlane(px, py);
        const least = this.whole * FARTHEST;
        this.scale = Math.min(Math.max(this.scale * factor, least), this.whole * NEAREST);
        this.x = x - (px - this.size.width / 2) / this.scale;
        this.y = y - (py - this.size.height / 2) / this.scale;
    }

    /** The part of the plane in view. */
    get window(): Rect {
        const [x0, y0] = this.toPlane(0, 0);
        const [x1, y1] = this.toPlane(this.size.width, this.size.height);
        return [x0, y0, x1, y1];
    }
}

/** Between two viewports: `part` from 0 to 1, slow at both ends. The scale changes by factors. */
export function between(from: Viewport, to: Viewport, part: number): Viewport {
    const eased = part * part * (3 - 2 * part);
    const mix = (a: number, b: number) => a + (b - a) * eased;
    return { x: mix(from.x, to.x), y: mix(from.y, to.y), scale: from.scale * (to.scale / from.scale) ** eased };
}
