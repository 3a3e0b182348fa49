// The table on the page: header, rows, scroll bars, mouse and keyboard. Only rows and columns in view are drawn. A
// change causes at most one update for each frame of the screen. Elements that are still correct are reused, because
// pressed, focused or hovered elements must not be replaced.

import { Connection } from "../connection.ts";
import type { Draw, Drawn } from "../renderers.ts";
import type { SessionContext } from "../session.ts";
import { explained, facts, picture } from "./column_header.ts";
import { button, el, keep, toClipboard } from "./dom.ts";
import { columnMenu, Popup, textPanel } from "./menu.ts";
import { Model, type Range } from "./model.ts";
import { type Placed, Rows } from "./rows.ts";
import style from "./style.css";
import {
    bytes,
    type Column,
    type Filter,
    filterText,
    grouped,
    isNested,
    named,
    type Saved,
    shown,
    visible,
} from "./types.ts";
import { Scroll } from "./virtual_scroll.ts";

const ROW = 24;
const HEAD = 84;
/** Height without pictures, in pixels. */
const HEAD_SAVED = 44;
/** Maximum number of visible rows, unless the table is made taller. */
const SHOWN = 14;
const NARROWEST = 48;
const WIDEST = 380;
const NUMBERS = 64;

export const TABLE = "application/vnd.onrush.table.v1+json";
const TARGET = "onrush.data_explorer";

class TableView implements Drawn {
    private readonly root = el("div", "root");
    private readonly chips = el("div", "chips");
    private readonly search = el("input", "search");
    private readonly scroller = el("div", "scroller");
    private readonly spacer = el("div", "spacer");
    private readonly port = el("div", "port");
    private readonly head = el("div", "head");
    private readonly body = el("div", "body");
    private readonly alert = el("div", "alert");
    private readonly foot = el("div", "foot");
    private readonly popup: Popup;
    private readonly rows = new Rows(this.body);
    private readonly facts = el("span", "shape");
    private readonly actions = {
        code: button("action", "Rust", "The filters and the order as code for a cell", event => this.openCode(event)),
        csv: button("action", "CSV", "Write these rows to a CSV file", () => this.export("csv")),
        parquet: button("action", "Parquet", "Write these rows to a Parquet file", () => this.export("parquet")),
    };
    private chipsMade = new Map<string, HTMLElement>();
    private readonly scroll = new Scroll(0, ROW, SHOWN * ROW);
    private readonly observer: ResizeObserver;
    private model: Model;
    private connection: Connection | null = null;
    private session: SessionContext | null = null;
    private hidden = new Set<number>();
    private pinned = new Set<number>();
    private widths = new Map<number, number>();
    private chosen: Range | null = null;
    private anchor = { row: 0, column: 0 };
    private cursor = { row: 0, column: 0 };
    private frame = 0;
    private readonly corner = el("div", "corner");
    private headsMade = new Map<number, { state: string; cell: HTMLElement }>();
    private tall = SHOWN;
    private notice = "";
    /** A drag in a header is in progress. */
    private held = false;

    constructor(host: HTMLElement, data: unknown) {
        // Jupyter's shortcuts are for cells, and the keys here for the table.
        host.dataset.lmSuppressShortcuts = "true";
        const shadow = host.attachShadow({ mode: "open" });
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(style);
        shadow.adoptedStyleSheets = [sheet];
        this.popup = new Popup(this.root, () => this.scroller.focus());
        this.model = this.fresh(data as Saved);
        this.build();
        shadow.append(this.root);
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.scroller);
        this.draw();
    }

    private fresh(saved: Saved): Model {
        return new Model(
            saved,
            () => this.draw(),
            () => {
                this.scroll.go(0);
                this.chosen = null;
            },
        );
    }

    update(data: unknown): void {
        const saved = data as Saved;
        if (JSON.stringify(saved) === JSON.stringify(this.model.saved)) return;
        this.disconnect();
        this.hidden.clear();
        this.chipsMade.clear();
        this.pinned.clear();
        this.widths.clear();
        this.chosen = null;
        this.headsMade.clear();
        this.model = this.fresh(saved);
        if (this.session) this.attached(this.session);
        this.draw();
    }

    attached(session: SessionContext | null): void {
        this.session = session;
        if (session && !this.connection && this.model.saved.frame) this.connect(session);
        this.draw();
    }

    private connect(session: SessionContext): void {
        const model = this.model;
        this.connection = new Connection(session, TARGET, () => ({ frame: model.saved.frame }), {
            opened: () => {
                model.opened();
            },
            closed: () => model.closed(),
            message: data => model.message(data),
        });
        model.connect(this.connection);
    }

    dispose(): void {
        cancelAnimationFrame(this.frame);
        this.observer.disconnect();
        this.popup.close();
        this.disconnect();
    }

    private disconnect(): void {
        this.connection?.dispose();
        this.connection = null;
    }

    private build(): void {
        const { root, scroller, port } = this;
        scroller.tabIndex = 0;
        scroller.setAttribute("role", "grid");
        port.append(this.head, this.body);
        scroller.append(port, this.spacer);
        this.search.type = "search";
        this.search.placeholder = "Find a column";
        this.search.setAttribute("aria-label", "Find a column");
        this.search.addEventListener("input", () => this.findColumn());
        this.alert.setAttribute("role", "alert");
        const tools = el("div", "tools");
        tools.append(this.chips, this.search);
        const grip = el("div", "grip");
        grip.title = "Drag to show more rows";
        grip.addEventListener("pointerdown", event => this.resizeRows(event, grip));
        root.append(tools, this.alert, scroller, grip, this.foot);
        scroller.addEventListener("scroll", () => {
            this.scroll.moved(scroller.scrollTop);
            this.draw();
        });
        scroller.addEventListener("wheel", event => this.wheel(event), { passive: false });
        scroller.addEventListener("keydown", event => this.key(event));
        this.head.addEventListener(
            "pointerdown",
            () => {
                this.held = true;
                const release = () => {
                    this.held = false;
                    this.draw();
                };
                this.root.ownerDocument.addEventListener("pointerup", release, { once: true, capture: true });
            },
            true,
        );
        this.body.addEventListener("pointerdown", event => this.press(event));
        this.body.addEventListener("dblclick", event => {
            const at = this.cellAt(event);
            if (at) this.openValue(at.row, at.column);
        });
    }

    /** Columns in display order. */
    private columns(): Column[] {
        const all = this.model.columns.filter(column => !this.hidden.has(column.column_index));
        const pinned = all.filter(column => this.pinned.has(column.column_index));
        return [...pinned, ...all.filter(column => !this.pinned.has(column.column_index))];
    }

    private width(column: Column): number {
        const set = this.widths.get(column.column_index);
        if (set !== undefined) return set;
        const index = column.column_index;
        // Headers are bold, and have the sort sign and the menu next to the name.
        let most = Math.max(
            Math.min(named(column.column_name).length, 28) * 1.15 + 3,
            visible(column.type_name).length + 4,
            column.nulls ? 19 : 14,
        );
        for (const row of this.model.saved.rows.slice(0, 30)) most = Math.max(most, shown(row[index]).text.length);
        const width = Math.min(WIDEST, Math.max(NARROWEST, Math.round(most * 7.4 + 22)));
        this.widths.set(index, width);
        return width;
    }

    private draw(): void {
        if (this.frame) return;
        this.frame = requestAnimationFrame(() => {
            this.frame = 0;
            this.drawNow();
        });
    }

    private drawNow(): void {
        const { model, scroll, scroller } = this;
        const columns = this.columns();
        const headHeight = model.live ? HEAD : HEAD_SAVED;
        scroll.rows = model.rows;
        const rowsHeight = Math.max(1, Math.min(model.rows, this.tall)) * ROW;
        const total = NUMBERS + columns.reduce((sum, column) => sum + this.width(column), 0);
        scroll.height = rowsHeight;
        const bar = total > scroller.clientWidth ? scroller.offsetHeight - scroller.clientHeight : 0;
        scroller.style.height = `${headHeight + rowsHeight + bar}px`;
        scroll.go(scroll.top);
        this.spacer.style.width = `${total}px`;
        this.spacer.style.height = `${headHeight + scroll.spacer - (headHeight + rowsHeight)}px`;
        this.port.style.height = `${headHeight + rowsHeight}px`;
        if (Math.abs(scroller.scrollTop - scroll.position) >= 1) scroller.scrollTop = scroll.position;
        this.root.classList.toggle("live", model.live);
        scroller.setAttribute("aria-rowcount", String(model.rows));
        scroller.setAttribute("aria-colcount", String(columns.length));
        const visible = this.placed(columns);
        this.drawHead(visible, headHeight);
        this.drawBody(visible, headHeight);
        this.drawBars(columns.length);
        const indices = visible.map(one => one.column.column_index);
        const [first, end] = scroll.visible;
        model.setViewport(first, end, indices);
        if (model.live) model.wantProfiles(indices);
    }

    /** The visible columns with their positions; pinned ones do not scroll. */
    private placed(columns: Column[]): Placed[] {
        const placed: Placed[] = [];
        const offset = this.scroller.scrollLeft;
        const edge = this.scroller.clientWidth || 800;
        let left = NUMBERS;
        let still = NUMBERS;
        for (const [at, column] of columns.entries()) {
            const width = this.width(column);
            const pinned = this.pinned.has(column.column_index);
            const x = pinned ? left : left - offset;
            if (pinned) still = left + width;
            if (pinned || (x + width > still && x < edge)) placed.push({ column, at, left: x, width, pinned });
            left += width;
        }
        return placed;
    }

    private drawHead(visible: Placed[], height: number): void {
        const { model } = this;
        this.head.style.height = `${height}px`;
        // A header is rebuilt only if it has changed: a brush that is being dragged must not be.
        const before = this.headsMade;
        if (!this.held) this.headsMade = new Map();
        const heads = visible.map(({ column, left, width, pinned }) => {
            const index = column.column_index;
            const state = JSON.stringify([width, pinned, model.sort, model.filters, model.live, model.profile(index)]);
            const old = before.get(index);
            const head =
                old && (this.held || old.state === state) ? old : { state, cell: this.headCell(column, width, pinned) };
            this.headsMade.set(index, head);
            head.cell.style.transform = `translateX(${left}px)`;
            return head.cell;
        });
        keep(this.head, [this.corner, ...heads]);
    }

    private headCell(column: Column, width: number, pinned: boolean): HTMLElement {
        const { model } = this;
        const index = column.column_index;
        const profile = model.profile(index);
        const cell = el("div", pinned ? "column pinned" : "column");
        cell.setAttribute("role", "columnheader");
        cell.style.width = `${width}px`;
        if (column.right) cell.classList.add("right");
        const place = model.sort.findIndex(key => key.column_index === index);
        const key = model.sort[place];
        cell.setAttribute("aria-sort", key ? (key.ascending ? "ascending" : "descending") : "none");
        const name = el("div", "name");
        const label = el("span", column.column_name.trim() ? "label" : "label blank", named(column.column_name));
        label.dir = "auto";
        name.append(label);
        if (key)
            name.append(el("span", "arrow", (key.ascending ? "▲" : "▼") + (model.sort.length > 1 ? place + 1 : "")));
        const menu = button("menu", "⋮", `Menu of ${named(column.column_name)}`, event => {
            event.stopPropagation();
            this.openMenu(column, cell.getBoundingClientRect());
        });
        name.append(menu);
        const type = el("div", "type", visible(column.type_name));
        const known = facts(column, profile);
        const text = el("div", "facts", known);
        cell.title = explained(column, profile);
        cell.append(name, type);
        if (model.live) {
            const drawn = picture(model, column, profile);
            cell.append(text, drawn ?? el("div", profile ? "picture" : "picture waiting"));
        } else if (known) {
            type.textContent = `${visible(column.type_name)} · ${known}`;
        }
        if (model.filters.some(filter => filter.column_schema.column_index === index)) cell.classList.add("filtered");
        name.addEventListener("click", event => {
            if (!isNested(column)) this.model.sortBy(index, event.shiftKey);
        });
        const handle = el("div", "handle");
        handle.addEventListener("pointerdown", event => this.resizeColumn(event, handle, column));
        handle.addEventListener("dblclick", event => {
            event.stopPropagation();
            this.fit(column);
        });
        cell.append(handle);
        return cell;
    }

    private drawBody(visible: Placed[], headHeight: number): void {
        const { model, scroll } = this;
        const [first, end] = scroll.visible;
        this.body.style.top = `${headHeight}px`;
        this.body.style.height = `${scroll.height}px`;
        const content = {
            position: (row: number) => model.position(row),
            cell: (row: number, column: number) => shown(model.cell(row, column)),
            isChosen: (row: number, at: number) => this.isChosen(row, at),
            isCursor: (row: number, at: number) =>
                !!this.chosen && this.cursor.row === row && this.cursor.column === at,
        };
        const none = model.live ? "No rows" : "No rows were saved";
        this.rows.draw(first, end, (first - scroll.top) * ROW, ROW, visible, content, none);
    }

    private drawBars(columns: number): void {
        const { model } = this;
        const before = this.chipsMade;
        this.chipsMade = new Map();
        const chip = (key: string, make: () => HTMLElement) => {
            this.chipsMade.set(key, before.get(key) ?? make());
        };
        for (const filter of model.filters) chip(JSON.stringify(filter), () => this.filterChip(filter));
        for (const index of this.hidden) chip(`hidden ${index}`, () => this.hiddenChip(index));
        keep(this.chips, [...this.chipsMade.values()]);
        this.search.hidden = model.columns.length < 8;
        this.alert.textContent = model.error;
        this.alert.hidden = !model.error;
        const counts =
            model.live && model.selected !== model.total
                ? `${grouped(model.selected)} of ${rowsText(model.total)}`
                : rowsText(model.total);
        const shape = `${counts} × ${model.saved.num_columns} ${model.saved.num_columns === 1 ? "column" : "columns"}`;
        const parts = [shape];
        if (model.saved.bytes) parts.push(`${bytes(model.saved.bytes)} in ${model.saved.location || "memory"}`);
        else if (model.saved.location)
            parts.push(model.saved.location === "memory" ? "in memory" : `in a ${model.saved.location}`);
        if (!model.live && model.saved.rows.length < model.total) {
            const why = model.wasLive || this.session ? "no live data: run the cell again for the others" : "saved";
            parts.push(`the first ${grouped(model.saved.rows.length)} rows (${why})`);
        }
        if (columns < model.columns.length) parts.push(`${model.columns.length - columns} hidden`);
        if (model.busy) parts.push(`${model.busy} …`);
        if (this.notice) parts.push(this.notice);
        this.facts.className = model.busy ? "shape busy" : "shape";
        const text = parts.join(" · ");
        if (this.facts.textContent !== text) this.facts.textContent = text;
        const { code, csv, parquet } = this.actions;
        const changed = model.filters.length > 0 || model.sort.length > 0;
        keep(this.foot, [this.facts, ...(model.live ? [...(changed ? [code] : []), csv, parquet] : [])]);
    }

    private filterChip(filter: Filter): HTMLElement {
        const chip = el("span", "chip");
        const text = el("button", "text", `${named(filter.column_schema.column_name)} ${visible(filterText(filter))}`);
        text.type = "button";
        text.title = "Change the filter";
        text.addEventListener("click", () => this.openMenu(filter.column_schema, chip.getBoundingClientRect()));
        const remove = button("remove", "×", "Remove the filter", () => {
            const { model } = this;
            model.setFilters(model.filters.filter(one => one.filter_id !== filter.filter_id));
        });
        chip.append(text, remove);
        return chip;
    }

    private hiddenChip(index: number): HTMLElement {
        const chip = el("span", "chip quiet");
        const name = named(this.model.columns[index]?.column_name ?? "");
        const remove = button("remove", "×", "Show the column", () => {
            this.hidden.delete(index);
            this.draw();
        });
        chip.append(el("span", "text", `${name} is hidden`), remove);
        return chip;
    }

    private openMenu(column: Column, at: DOMRect): void {
        const { model } = this;
        const index = column.column_index;
        const toggle = (set: Set<number>) => {
            if (!set.delete(index)) set.add(index);
            this.chosen = null;
            this.draw();
        };
        const filter = model.filters.find(one => one.column_schema.column_index === index);
        const menu = columnMenu(
            column,
            {
                live: model.live,
                pinned: this.pinned.has(index),
                filter,
                sort: ascending => model.setSort(ascending === null ? [] : [{ column_index: index, ascending }]),
                pin: () => toggle(this.pinned),
                hide: () => toggle(this.hidden),
                apply: next => {
                    const others = model.filters.filter(one => one !== filter);
                    model.setFilters(next ? [...others, next] : others);
                },
            },
            () => {
                this.popup.close();
                this.scroller.focus();
            },
        );
        this.popup.show(menu, at);
    }

    private async openValue(row: number, at: number): Promise<void> {
        const column = this.columns()[at];
        if (!column) return;
        try {
            const text = await this.model.value(row, column.column_index);
            const position = this.model.position(row);
            const title = `${named(column.column_name)}${position === undefined ? "" : `, row ${grouped(position)}`}`;
            const cell = this.body.querySelector(`[data-row="${row}"][data-column="${at}"]`);
            this.popup.show(textPanel(title, text), (cell ?? this.scroller).getBoundingClientRect());
        } catch (why) {
            this.model.fail(why);
        }
    }

    private async openCode(event: MouseEvent): Promise<void> {
        const at = (event.currentTarget as HTMLElement).getBoundingClientRect();
        try {
            this.popup.show(textPanel("These rows in a cell", await this.model.code()), at);
        } catch (why) {
            this.model.fail(why);
        }
    }

    private async export(format: string): Promise<void> {
        try {
            const columns = this.hidden.size > 0 ? this.columns().map(column => column.column_index) : [];
            const file = await this.model.exportFile(format, columns);
            this.notice = `${file.name} written (${rowsText(file.rows)}, ${bytes(file.bytes)})`;
            this.draw();
        } catch (why) {
            this.model.fail(why);
        }
    }

    private findColumn(): void {
        const term = this.search.value.trim().toLowerCase();
        if (!term) return;
        const columns = this.columns();
        const names = columns.map(column => column.column_name.toLowerCase());
        const found = [
            names.indexOf(term),
            names.findIndex(name => name.startsWith(term)),
            names.findIndex(name => name.includes(term)),
        ];
        const at = found.find(one => one >= 0);
        this.search.classList.toggle("nothing", at === undefined);
        if (at === undefined) return;
        this.chosen = { top: this.cursor.row, bottom: this.cursor.row, left: at, right: at };
        this.cursor = { row: this.cursor.row, column: at };
        this.anchor = this.cursor;
        this.revealColumn(at);
    }

    private revealColumn(at: number): void {
        const columns = this.columns();
        const column = columns[at];
        if (column && !this.pinned.has(column.column_index)) {
            let left = NUMBERS;
            let still = NUMBERS;
            for (const one of columns.slice(0, at)) {
                left += this.width(one);
                if (this.pinned.has(one.column_index)) still += this.width(one);
            }
            const { scroller } = this;
            if (left - scroller.scrollLeft < still) scroller.scrollLeft = left - still;
            else if (left + this.width(column) > scroller.scrollLeft + scroller.clientWidth) {
                scroller.scrollLeft = left + this.width(column) - scroller.clientWidth;
            }
        }
        this.draw();
    }

    private wheel(event: WheelEvent): void {
        if (!this.scroll.isCompressed || event.deltaY === 0 || event.ctrlKey || event.shiftKey) return;
        const pixels =
            event.deltaMode === 1
                ? event.deltaY * ROW
                : event.deltaMode === 2
                  ? event.deltaY * this.scroll.height
                  : event.deltaY;
        const before = this.scroll.top;
        this.scroll.go(before + pixels / ROW);
        // At an end the page scrolls.
        if (this.scroll.top === before) return;
        event.preventDefault();
        this.draw();
    }

    private cellAt(event: Event): { row: number; column: number } | null {
        const cell = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
        if (!cell) return null;
        return { row: Number(cell.dataset.row), column: Number(cell.dataset.column ?? -1) };
    }

    private isChosen(row: number, column: number): boolean {
        const range = this.chosen;
        return !!range && row >= range.top && row <= range.bottom && column >= range.left && column <= range.right;
    }

    private choose(to: { row: number; column: number }, extend: boolean): void {
        const last = Math.max(0, this.columns().length - 1);
        const row = Math.min(Math.max(0, to.row), Math.max(0, this.model.rows - 1));
        const column = Math.min(Math.max(0, to.column), last);
        this.cursor = { row, column };
        if (!extend) this.anchor = this.cursor;
        const { anchor } = this;
        this.chosen = {
            top: Math.min(anchor.row, row),
            bottom: Math.max(anchor.row, row),
            left: Math.min(anchor.column, column),
            right: Math.max(anchor.column, column),
        };
        this.draw();
    }

    private press(event: PointerEvent): void {
        const at = this.cellAt(event);
        if (!at || event.button !== 0) return;
        event.preventDefault();
        this.scroller.focus({ preventScroll: true });
        if (at.column < 0) {
            // The row number stands for the row.
            this.anchor = { row: event.shiftKey ? this.anchor.row : at.row, column: 0 };
            this.choose({ row: at.row, column: this.columns().length }, true);
            return;
        }
        this.choose(at, event.shiftKey);
        const move = (moved: Event) => {
            const over = this.root.getRootNode() as ShadowRoot;
            const { clientX, clientY } = moved as PointerEvent;
            const cell = over.elementFromPoint(clientX, clientY)?.closest<HTMLElement>("[data-column]");
            if (cell) this.choose({ row: Number(cell.dataset.row), column: Number(cell.dataset.column) }, true);
        };
        const document = this.root.ownerDocument;
        document.addEventListener("pointermove", move);
        document.addEventListener("pointerup", () => document.removeEventListener("pointermove", move), { once: true });
    }

    private key(event: KeyboardEvent): void {
        if (event.target !== this.scroller) return;
        const { row, column } = this.cursor;
        const page = Math.max(1, Math.floor(this.scroll.height / ROW) - 1);
        const wide = this.columns().length - 1;
        const far = event.ctrlKey || event.metaKey;
        const steps: Record<string, [number, number]> = {
            ArrowUp: [far ? 0 : row - 1, column],
            ArrowDown: [far ? this.model.rows - 1 : row + 1, column],
            ArrowLeft: [row, far ? 0 : column - 1],
            ArrowRight: [row, far ? wide : column + 1],
            PageUp: [row - page, column],
            PageDown: [row + page, column],
            Home: [far ? 0 : row, far ? column : 0],
            End: [far ? this.model.rows - 1 : row, far ? column : wide],
        };
        const step = steps[event.key];
        if (step) {
            event.preventDefault();
            event.stopPropagation();
            // The first key only shows the cursor, unless the key names a target.
            const to = this.chosen || far ? step : [Math.ceil(this.scroll.top), 0];
            this.choose({ row: to[0] ?? 0, column: to[1] ?? 0 }, event.shiftKey && this.chosen !== null);
            this.scroll.reveal(this.cursor.row);
            this.revealColumn(this.cursor.column);
        } else if (far && event.key.toLowerCase() === "c" && this.chosen) {
            event.preventDefault();
            event.stopPropagation();
            this.copy();
        } else if (far && event.key.toLowerCase() === "a") {
            event.preventDefault();
            event.stopPropagation();
            this.chosen = { top: 0, bottom: this.model.rows - 1, left: 0, right: wide };
            this.draw();
        } else if (event.key === "Enter" && this.chosen && !event.shiftKey && !far) {
            event.preventDefault();
            event.stopPropagation();
            this.openValue(row, column);
        } else if (event.key === "Escape" && this.chosen) {
            event.stopPropagation();
            this.chosen = null;
            this.draw();
        }
    }

    private async copy(): Promise<void> {
        if (!this.chosen) return;
        try {
            const columns = this.columns().map(column => column.column_index);
            const { top, bottom } = this.chosen;
            const text = await this.model.copy(this.chosen, columns);
            await toClipboard(text);
            this.notice = `copied ${rowsText(bottom - top + 1)}`;
            this.draw();
        } catch (why) {
            this.model.fail(why);
        }
    }

    private resizeColumn(event: PointerEvent, handle: HTMLElement, column: Column): void {
        event.preventDefault();
        event.stopPropagation();
        handle.setPointerCapture(event.pointerId);
        const begin = event.clientX - this.width(column);
        const move = (moved: Event) => {
            this.widths.set(column.column_index, Math.max(NARROWEST, (moved as PointerEvent).clientX - begin));
            this.resizing();
        };
        handle.addEventListener("pointermove", move);
        handle.addEventListener(
            "pointerup",
            () => {
                handle.removeEventListener("pointermove", move);
                this.draw();
            },
            { once: true },
        );
    }

    /** Headers are not rebuilt during a drag in one of them. */
    private resizing(): void {
        const cells = [...this.head.children] as HTMLElement[];
        const visible = this.placed(this.columns());
        visible.forEach((one, i) => {
            const cell = cells[i + 1];
            if (cell) cell.style.width = `${one.width}px`;
            if (cell) cell.style.transform = `translateX(${one.left}px)`;
        });
        this.drawBody(visible, this.model.live ? HEAD : HEAD_SAVED);
    }

    private fit(column: Column): void {
        const [first, end] = this.scroll.visible;
        let most = Math.max(named(column.column_name).length + 3, 6);
        for (let row = first; row < end; row++) {
            most = Math.max(most, shown(this.model.cell(row, column.column_index)).text.length);
        }
        this.widths.set(column.column_index, Math.min(900, Math.round(most * 7.4 + 22)));
        this.draw();
    }

    private resizeRows(event: PointerEvent, grip: HTMLElement): void {
        event.preventDefault();
        grip.setPointerCapture(event.pointerId);
        const begin = event.clientY - this.tall * ROW;
        const move = (moved: Event) => {
            this.tall = Math.min(60, Math.max(3, Math.round(((moved as PointerEvent).clientY - begin) / ROW)));
            this.draw();
        };
        grip.addEventListener("pointermove", move);
        grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
    }
}

function rowsText(n: number): string {
    return `${grouped(n)} ${n === 1 ? "row" : "rows"}`;
}

export const table: Draw = (node, data) => new TableView(node, data);
