// A plot of one raster on the page. Without a kernel it is the picture that was saved. With one, dragging, the wheel, a
// box and keys move the window, and the kernel draws the plot of that window, axes and colours too. Until then the last
// picture is moved and scaled.
//
// The picture is shown as an image, so that nothing in the SVG of a notebook can run.

import { Connection } from "../connection.ts";
import type { Draw, Drawn } from "../renderers.ts";
import type { SessionContext } from "../session.ts";
import { button, el } from "../table/dom.ts";
import tools from "../tools.css";
import style from "./style.css";
import { type Frame, inPixels, moved, scaled, type Window, within } from "./window.ts";

export const RASTER = "application/vnd.onrush.raster.v1+json";
const TARGET = "onrush.visual";

/** Milliseconds without a move before the kernel is asked. */
const REST = 60;
/** Milliseconds for which the hint about the wheel stays. */
const HINT = 1500;
/** The share of the window that a key moves it by. */
const STEP = 0.2;
/** Pixels that a drag has at least. */
const DRAG = 4;

interface State {
    view?: string;
    svg: string;
    window: Window;
    /** The data area in the picture: left, top, width, height. */
    frame: Frame;
    /** Pixels of the raster. */
    size: [number, number];
    alt: string;
}

class RasterView implements Drawn {
    private readonly root = el("div", "root");
    private readonly picture = el("img", "picture");
    private readonly area = el("div", "area");
    private readonly inside = el("img");
    private readonly box = el("div", "box");
    private readonly hint = el("div", "hint", "Click the picture to zoom with the wheel");
    private readonly problem = el("span", "error");
    private readonly spoken = el("div", "unseen");
    private readonly tools = el("div", "tools");
    private boxMode = false;
    private readonly boxButton = button("", "▭", "Zoom into a box (or drag with Shift)", () =>
        this.setBoxMode(!this.boxMode),
    );
    /** What was saved, and what is shown now. */
    private saved: State;
    private shown: State;
    /** The window that is wanted. */
    private window: Window;
    private connection: Connection | null = null;
    private session: SessionContext | null = null;
    private timer = 0;
    private hinting = 0;
    private turn = 0;

    constructor(
        private readonly host: HTMLElement,
        data: unknown,
    ) {
        host.dataset.lmSuppressShortcuts = "true";
        const shadow = host.attachShadow({ mode: "open" });
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(tools + style);
        shadow.adoptedStyleSheets = [sheet];
        shadow.append(this.root);
        this.saved = data as State;
        this.shown = this.saved;
        this.window = this.saved.window;
        this.tools.setAttribute("role", "toolbar");
        this.tools.append(
            button("", "+", "Zoom in (+)", () => this.zoom(1 / 1.5)),
            button("", "−", "Zoom out (-)", () => this.zoom(1.5)),
            button("", "⤢", "Show everything (0)", () => this.go(this.saved.window)),
            this.boxButton,
        );
        this.area.tabIndex = 0;
        this.area.setAttribute("role", "application");
        this.area.append(this.inside, this.box);
        this.inside.alt = "";
        this.box.hidden = true;
        this.hint.hidden = true;
        this.problem.setAttribute("role", "alert");
        this.spoken.setAttribute("aria-live", "polite");
        const stage = el("div", "stage");
        stage.append(this.picture, this.area, this.hint);
        const foot = el("div", "foot");
        foot.append(this.problem);
        this.root.append(this.tools, stage, foot, this.spoken);
        this.listen();
        this.show(this.saved);
    }

    update(data: unknown): void {
        if (JSON.stringify(data) === JSON.stringify(this.saved)) return;
        this.disconnect();
        this.saved = data as State;
        this.window = this.saved.window;
        this.show(this.saved);
        if (this.session && this.saved.view) this.connect(this.session);
    }

    attached(session: SessionContext | null): void {
        this.session = session;
        if (session && !this.connection && this.saved.view) this.connect(session);
    }

    dispose(): void {
        this.disconnect();
    }

    private show(state: State): void {
        this.shown = state;
        const url = `data:image/svg+xml,${encodeURIComponent(state.svg)}`;
        this.picture.src = url;
        this.picture.alt = state.alt;
        this.inside.src = url;
        const [left, top, width, height] = state.frame;
        Object.assign(this.area.style, {
            left: `${left}px`,
            top: `${top}px`,
            width: `${width}px`,
            height: `${height}px`,
        });
        this.area.setAttribute("aria-label", state.alt.split("\n")[0] ?? "raster");
        this.place();
    }

    /** Moves and scales the last picture to the window that is wanted. */
    private place(): void {
        const { frame, window } = this.shown;
        const [x, y, sx, sy] = inPixels(frame, window, this.window);
        const still = x === 0 && y === 0 && sx === 1 && sy === 1;
        this.area.classList.toggle("moving", !still);
        this.inside.style.transform = `translate(${x}px, ${y}px) scale(${sx}, ${sy}) translate(${-frame[0]}px, ${-frame[1]}px)`;
    }

    // Looking around.

    private go(window: Window): void {
        if (!this.connection?.isOpen) return;
        this.window = window;
        this.place();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.ask(), REST) as unknown as number;
    }

    private zoom(factor: number, at: [number, number] = [0.5, 0.5]): void {
        this.go(scaled(this.window, factor, at));
    }

    private async ask(): Promise<void> {
        const { connection } = this;
        if (!connection) return;
        const turn = ++this.turn;
        const [width, height] = this.saved.size;
        const { window } = this;
        try {
            const { result } = await connection.request("raster", { window, width, height });
            if (turn !== this.turn || this.connection !== connection) return;
            // A map shows more than a box, so that its pixels stay squares.
            if (this.window === window) this.window = (result as State).window;
            this.show(result as State);
            this.fail("");
            this.spoken.textContent = this.shown.alt.split("\n").at(-1) ?? "";
        } catch (why) {
            // An error of an older window is not shown.
            if (turn === this.turn && this.connection === connection) this.fail(why);
        }
    }

    private fail(why: unknown): void {
        this.problem.textContent = why instanceof Error ? why.message : String(why);
    }

    private setBoxMode(on: boolean): void {
        this.boxMode = on;
        this.boxButton.setAttribute("aria-pressed", String(on));
        this.area.classList.toggle("select", on);
    }

    /** The place of an event in the data area, from 0 to 1, with y downwards. */
    private share(event: MouseEvent): [number, number] {
        const rect = this.area.getBoundingClientRect();
        return [(event.clientX - rect.left) / rect.width, (event.clientY - rect.top) / rect.height];
    }

    private listen(): void {
        const { area } = this;
        area.addEventListener("pointerdown", event => this.press(event));
        area.addEventListener(
            "wheel",
            event => {
                if (!this.connection?.isOpen) return;
                // The page scrolls over a picture that nobody has clicked.
                if ((this.host.shadowRoot?.activeElement ?? null) !== area) {
                    this.hint.hidden = false;
                    clearTimeout(this.hinting);
                    this.hinting = setTimeout(() => {
                        this.hint.hidden = true;
                    }, HINT) as unknown as number;
                    return;
                }
                event.preventDefault();
                this.zoom(2 ** (Math.max(-200, Math.min(200, event.deltaY)) / 300), this.share(event));
            },
            { passive: false },
        );
        area.addEventListener("dblclick", event => this.zoom(event.shiftKey ? 2 : 0.5, this.share(event)));
        area.addEventListener("keydown", event => {
            if (event.ctrlKey || event.metaKey || event.altKey || !this.key(event.key)) return;
            event.preventDefault();
            event.stopPropagation();
        });
    }

    private key(key: string): boolean {
        const step: Record<string, [number, number]> = {
            ArrowLeft: [-STEP, 0],
            ArrowRight: [STEP, 0],
            ArrowUp: [0, -STEP],
            ArrowDown: [0, STEP],
        };
        const by = step[key];
        if (by) this.go(moved(this.window, by));
        else if (key === "+" || key === "=") this.zoom(1 / 1.5);
        else if (key === "-") this.zoom(1.5);
        else if (key === "0") this.go(this.saved.window);
        else if (key === "Escape") this.setBoxMode(false);
        else return false;
        return true;
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0 || !this.connection?.isOpen) return;
        const { area, box } = this;
        area.focus();
        area.setPointerCapture(event.pointerId);
        const start = this.share(event);
        const from = this.window;
        const isBox = this.boxMode || event.shiftKey;
        const far = (at: MouseEvent) => Math.hypot(at.clientX - event.clientX, at.clientY - event.clientY) >= DRAG;
        const move = (at: PointerEvent) => {
            if (!far(at)) return;
            const now = this.share(at);
            if (!isBox) {
                this.go(moved(from, [start[0] - now[0], start[1] - now[1]]));
                return;
            }
            const [[x0, x1], [y0, y1]] = [sorted(start[0], now[0]), sorted(start[1], now[1])];
            box.hidden = false;
            Object.assign(box.style, {
                left: `${x0 * 100}%`,
                top: `${y0 * 100}%`,
                width: `${(x1 - x0) * 100}%`,
                height: `${(y1 - y0) * 100}%`,
            });
        };
        const end = (at: PointerEvent) => {
            area.removeEventListener("pointermove", move);
            area.removeEventListener("pointerup", end);
            area.removeEventListener("pointercancel", end);
            box.hidden = true;
            if (!isBox || at.type !== "pointerup" || !far(at)) return;
            this.setBoxMode(false);
            this.go(within(from, start, this.share(at)));
        };
        area.addEventListener("pointermove", move);
        area.addEventListener("pointerup", end);
        area.addEventListener("pointercancel", end);
    }

    // The kernel.

    private connect(session: SessionContext): void {
        const connection = new Connection(session, TARGET, () => ({ view: this.saved.view }), {
            opened: () => void this.opened(connection),
            closed: () => this.host.classList.remove("live"),
        });
        this.connection = connection;
    }

    private async opened(connection: Connection): Promise<void> {
        try {
            await connection.request("state");
            if (this.connection === connection) this.host.classList.add("live");
        } catch {
            // The kernel does not know the picture: it stays as it was saved.
        }
    }

    private disconnect(): void {
        clearTimeout(this.timer);
        clearTimeout(this.hinting);
        this.host.classList.remove("live");
        this.connection?.dispose();
        this.connection = null;
    }
}

function sorted(a: number, b: number): [number, number] {
    const inside = (value: number) => Math.min(Math.max(value, 0), 1);
    return [inside(Math.min(a, b)), inside(Math.max(a, b))];
}

export const raster: Draw = (node, data) => new RasterView(node, data);
