// A canvas with a camera: its size and resolution, panning, zooming, keys. Other modules draw its content and handle
// clicks.

import { el } from "../table/dom.ts";
import { between, Camera, type Viewport } from "./camera.ts";

/** A pointer that is held. */
export interface Held {
    move(x: number, y: number): void;
    /** `moved`: the pointer was dragged. Otherwise it was a click. */
    release(moved: boolean, event: PointerEvent): void;
}

export interface Scene {
    draw(context: CanvasRenderingContext2D): void;
    /** What happens while the pointer is held; `null` pans. */
    press(x: number, y: number, event: PointerEvent): Held | null;
    /** The pointer rests at a pixel, or has left. */
    hover(at: [x: number, y: number] | null): void;
    /** True if the key has a meaning. */
    key(event: KeyboardEvent): boolean;
    /** The camera has moved, or the canvas has another size. */
    moved(): void;
    /** The camera is to show everything. */
    fit(): void;
    /** The page scrolls, with the pointer over a picture that has no focus. */
    scrolledOver(): void;
}

/** Pixels by which a pointer may move in a click. */
const STILL = 3;
const FLIGHT = 350;
const STEP = 1.3;

export class Stage {
    readonly canvas = el("canvas", "plane");
    readonly camera = new Camera({ width: 1, height: 1 });
    private readonly observer: ResizeObserver;
    /** The user has moved the camera. */
    touched = false;
    private frame = 0;
    private flight: { from: Viewport; to: Viewport; begun: number } | null = null;
    private readonly still = matchMedia("(prefers-reduced-motion: reduce)");
    private sized = false;

    constructor(
        private readonly scene: Scene,
        private readonly height: number,
    ) {
        const { canvas } = this;
        canvas.tabIndex = 0;
        canvas.addEventListener("pointerdown", event => this.press(event));
        canvas.addEventListener("pointermove", event => {
            if (event.buttons === 0) scene.hover(this.at(event));
        });
        canvas.addEventListener("pointerleave", () => scene.hover(null));
        canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
        canvas.addEventListener("dblclick", event => {
            this.zoom(event.shiftKey ? 1 / STEP ** 2 : STEP ** 2, this.at(event));
        });
        canvas.addEventListener("keydown", event => this.key(event));
        this.observer = new ResizeObserver(() => this.resize());
        this.observer.observe(canvas);
    }

    get isStill(): boolean {
        return this.still.matches;
    }

    dispose(): void {
        cancelAnimationFrame(this.frame);
        this.observer.disconnect();
    }

    private resize(): void {
        const { canvas, camera } = this;
        const width = canvas.clientWidth;
        if (width === 0) return;
        const before = camera.size.width;
        camera.size.width = width;
        camera.size.height = this.height;
        canvas.style.height = `${this.height}px`;
        const ratio = devicePixelRatio || 1;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(this.height * ratio);
        if (!this.sized || before !== width) {
            this.sized = true;
            this.scene.fit();
        }
        this.moved();
    }

    /** Draws with the next frame of the screen. */
    redraw(): void {
        if (this.frame) return;
        this.frame = requestAnimationFrame(now => {
            this.frame = 0;
            this.fly(now);
            const context = this.canvas.getContext("2d");
            if (!context || !this.sized) return;
            const ratio = this.canvas.width / this.camera.size.width;
            context.setTransform(ratio, 0, 0, ratio, 0, 0);
            context.clearRect(0, 0, this.camera.size.width, this.camera.size.height);
            this.scene.draw(context);
        });
    }

    private moved(): void {
        this.scene.moved();
        this.redraw();
    }

    /** Moves to another viewport, at once if the user wants no motion. */
    go(to: Viewport): void {
        if (this.isStill) {
            this.camera.set(to);
            this.moved();
            return;
        }
        this.flight = { from: this.camera.viewport, to, begun: performance.now() };
        this.redraw();
    }

    private fly(now: number): void {
        const flight = this.flight;
        if (!flight) return;
        const part = Math.min(Math.max((now - flight.begun) / FLIGHT, 0), 1);
        this.camera.set(between(flight.from, flight.to, part));
        if (part === 1) this.flight = null;
        this.moved();
    }

    /** Zooms at a pixel, or in the middle. */
    zoom(factor: number, at: [number, number] = [this.camera.size.width / 2, this.camera.size.height / 2]): void {
        this.flight = null;
        this.touched = true;
        this.camera.zoomAt(at[0], at[1], factor);
        this.moved();
    }

    pan(dx: number, dy: number): void {
        this.touched = true;
        this.camera.pan(dx, dy);
        this.moved();
    }

    private at(event: MouseEvent): [number, number] {
        const box = this.canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    }

    private wheel(event: WheelEvent): void {
        // The page scrolls until the picture has the focus.
        const focused = (this.canvas.getRootNode() as ShadowRoot | Document).activeElement === this.canvas;
        if (!focused && !event.ctrlKey && !event.metaKey) {
            this.scene.scrolledOver();
            return;
        }
        event.preventDefault();
        const pixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * 30;
        this.zoom(1.0015 ** -Math.max(Math.min(pixels, 300), -300), this.at(event));
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0) return;
        const { canvas } = this;
        const [x, y] = this.at(event);
        let last = [x, y];
        let moved = false;
        this.flight = null;
        canvas.focus();
        const pan: Held = {
            move: (px, py) => {
                this.pan(px - last[0]!, py - last[1]!);
            },
            release: () => {},
        };
        const held = this.scene.press(x, y, event) ?? pan;
        canvas.setPointerCapture(event.pointerId);
        const move = (event: PointerEvent) => {
            const [px, py] = this.at(event);
            if (!moved && Math.hypot(px - x, py - y) < STILL) return;
            moved = true;
            canvas.classList.add("drag");
            held.move(px, py);
            last = [px, py];
            this.redraw();
        };
        const end = (event: PointerEvent) => {
            canvas.removeEventListener("pointermove", move);
            canvas.removeEventListener("pointerup", end);
            canvas.removeEventListener("pointercancel", end);
            canvas.classList.remove("drag");
            held.release(moved || event.type === "pointercancel", event);
            this.redraw();
        };
        canvas.addEventListener("pointermove", move);
        canvas.addEventListener("pointerup", end);
        canvas.addEventListener("pointercancel", end);
    }

    private key(event: KeyboardEvent): void {
        if (this.scene.key(event) || this.moves(event)) {
            event.preventDefault();
            event.stopPropagation();
        }
    }

    private moves(event: KeyboardEvent): boolean {
        if (event.ctrlKey || event.metaKey || event.altKey) return false;
        const pan = event.shiftKey ? 120 : 40;
        const pans: Record<string, [number, number]> = {
            ArrowLeft: [pan, 0],
            ArrowRight: [-pan, 0],
            ArrowUp: [0, pan],
            ArrowDown: [0, -pan],
        };
        const by = pans[event.key];
        if (by) {
            this.flight = null;
            this.pan(by[0], by[1]);
        } else if (event.key === "+" || event.key === "=") this.zoom(STEP);
        else if (event.key === "-") this.zoom(1 / STEP);
        else return false;
        return true;
    }
}
