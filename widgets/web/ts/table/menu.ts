// Popups over the table: the menu of a column with its filter, a full value, the steps as Rust.

import { button, el, toClipboard } from "./dom.ts";
import { type Column, type Filter, isNested, isNumber, isTemporal, named } from "./types.ts";

export interface ColumnActions {
    live: boolean;
    pinned: boolean;
    filter: Filter | undefined;
    sort(ascending: boolean | null): void;
    pin(): void;
    hide(): void;
    apply(filter: Filter | null): void;
}

/** One open popup at a time, closed by Escape and by a click elsewhere. */
export class Popup {
    private open: HTMLElement | null = null;
    private closing: (() => void) | null = null;

    constructor(
        private readonly root: HTMLElement,
        private readonly focus: () => void,
    ) {}

    get isOpen(): boolean {
        return this.open !== null;
    }

    show(content: HTMLElement, at: DOMRect): void {
        this.close();
        const frame = el("div", "popup");
        frame.setAttribute("role", "dialog");
        frame.append(content);
        // In the top layer of the page: no notebook cell clips it.
        frame.popover = "manual";
        this.root.append(frame);
        frame.showPopover();
        const page = this.root.ownerDocument.documentElement;
        const left = Math.min(at.left, page.clientWidth - frame.offsetWidth - 8);
        const below = at.bottom + 2;
        const fits = below + frame.offsetHeight + 8 <= page.clientHeight;
        frame.style.left = `${Math.max(4, left)}px`;
        frame.style.top = `${Math.max(4, fits ? below : at.top - frame.offsetHeight - 2)}px`;
        const outside = (event: Event) => {
            if (!event.composedPath().includes(frame)) this.close();
        };
        const key = (event: KeyboardEvent) => {
            if (event.key === "Escape") {
                event.stopPropagation();
                this.close();
                this.focus();
            }
        };
        frame.addEventListener("keydown", key);
        const document = this.root.ownerDocument;
        document.addEventListener("pointerdown", outside, true);
        this.open = frame;
        this.closing = () => document.removeEventListener("pointerdown", outside, true);
        frame.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
    }

    close(): void {
        this.closing?.();
        this.closing = null;
        this.open?.remove();
        this.open = null;
    }
}

/** A text to read and to copy. */
export function textPanel(title: string, text: string): HTMLElement {
    const panel = el("div", "panel");
    panel.append(el("div", "title", title));
    const body = el("pre", "value", text);
    body.dir = "auto";
    body.tabIndex = 0;
    const copy = button("action", "Copy", "Copy", () => {
        toClipboard(text);
        copy.textContent = "Copied";
    });
    panel.append(body, copy);
    return panel;
}

export function columnMenu(column: Column, actions: ColumnActions, done: () => void): HTMLElement {
    const panel = el("div", "panel");
    panel.append(el("div", "title", named(column.column_name)));
    const row = el("div", "row");
    const act = (text: string, title: string, what: () => void) =>
        button("action", text, title, () => {
            what();
            done();
        });
    if (!isNested(column)) {
        row.append(
            act("↑", "Sort rising", () => actions.sort(true)),
            act("↓", "Sort falling", () => actions.sort(false)),
        );
    }
    row.append(
        act(
            actions.pinned ? "Unpin" : "Pin",
            actions.pinned ? "Let the column scroll" : "Keep the column in view",
            actions.pin,
        ),
        act("Hide", "Hide the column", actions.hide),
    );
    panel.append(row);
    if (actions.live) panel.append(filterForm(column, actions, done));
    return panel;
}

type Field = HTMLInputElement | HTMLSelectElement;

function choice(label: string, options: [string, string][]): HTMLSelectElement {
    const select = el("select");
    select.setAttribute("aria-label", label);
    for (const [value, text] of options) {
        const option = el("option", "", text);
        option.value = value;
        select.append(option);
    }
    return select;
}

function input(label: string, placeholder: string): HTMLInputElement {
    const field = el("input");
    field.type = "text";
    field.placeholder = placeholder;
    field.setAttribute("aria-label", label);
    return field;
}

function filterForm(column: Column, actions: ColumnActions, done: () => void): HTMLElement {
    const form = el("form", "filter");
    const old = actions.filter;
    const params = (old?.params ?? {}) as Record<string, unknown>;
    const fields: Field[] = [];
    let read: () => { filter_type: string; params?: Record<string, unknown> } | null;
    const nulls: [string, string][] = [
        ["is_null", "is null"],
        ["not_null", "is not null"],
    ];
    if (column.type_display === "boolean") {
        const kind = choice("Condition", [["is_true", "is true"], ["is_false", "is false"], ...nulls]);
        if (old) kind.value = old.filter_type;
        fields.push(kind);
        read = () => ({ filter_type: kind.value });
    } else if (isNumber(column) || isTemporal(column)) {
        const kind = choice("Condition", [
            ["between", "from … to …"],
            ["not_between", "not from … to …"],
            ["=", "="],
            ["!=", "≠"],
            ...nulls,
        ]);
        const low = input("From", isTemporal(column) ? "2013-01-31" : "from");
        const high = input("To", "to");
        if (old) {
            kind.value = old.filter_type === "compare" ? String(params.op) : old.filter_type;
            low.value = String(params.left_value ?? params.value ?? "");
            high.value = String(params.right_value ?? "");
        }
        const update = () => {
            low.hidden = kind.value.endsWith("null");
            high.hidden = !kind.value.endsWith("between");
        };
        kind.addEventListener("change", update);
        update();
        fields.push(kind, low, high);
        read = () => {
            const [left, right] = [low.value.trim(), high.value.trim()];
            if (kind.value.endsWith("null")) return { filter_type: kind.value };
            if (kind.value.endsWith("between")) {
                if (left && right) return { filter_type: kind.value, params: { left_value: left, right_value: right } };
                if (kind.value === "not_between" || (!left && !right)) return null;
                // One bound only.
                return {
                    filter_type: "compare",
                    params: left ? { op: ">=", value: left } : { op: "<=", value: right },
                };
            }
            return left ? { filter_type: "compare", params: { op: kind.value, value: left } } : null;
        };
        if (["<=", ">=", "<", ">"].includes(String(params.op))) {
            kind.value = "between";
            const upper = String(params.op).startsWith("<");
            low.value = upper ? "" : String(params.value);
            high.value = upper ? String(params.value) : "";
            update();
        }
    } else if (column.type_display === "string") {
        const kind = choice("Condition", [
            ["contains", "contains"],
            ["not_contains", "does not contain"],
            ["starts_with", "starts with"],
            ["ends_with", "ends with"],
            ["regex_match", "matches (regex)"],
            ["=", "is"],
            ["!=", "is not"],
            ["set", "is one of (a, b, …)"],
            ["is_empty", 'is ""'],
            ["not_empty", 'is not ""'],
            ...nulls,
        ]);
        const term = input("Text", "text");
        const box = el("input");
        box.type = "checkbox";
        const label = el("label", "case");
        label.append(box, "Match case");
        if (old) {
            const search =
                params.search_type ?? params.op ?? (old.filter_type === "set_membership" ? "set" : old.filter_type);
            kind.value = String(search);
            term.value = String(params.term ?? params.value ?? ((params.values as string[]) ?? []).join(", "));
            box.checked = params.case_sensitive === true;
        }
        const update = () => {
            term.hidden = ["is_empty", "not_empty", "is_null", "not_null"].includes(kind.value);
            label.hidden = term.hidden || ["=", "!=", "set"].includes(kind.value);
        };
        kind.addEventListener("change", update);
        update();
        fields.push(kind, term);
        form.append(label);
        read = () => {
            if (term.hidden) return { filter_type: kind.value };
            if (kind.value === "set") {
                const values = term.value.split(",").map(one => one.trim());
                return { filter_type: "set_membership", params: { values, inclusive: true } };
            }
            if (kind.value === "=" || kind.value === "!=") {
                return { filter_type: "compare", params: { op: kind.value, value: term.value } };
            }
            if (!term.value) return null;
            return {
                filter_type: "search",
                params: { search_type: kind.value, term: term.value, case_sensitive: box.checked },
            };
        };
    } else {
        const kind = choice("Condition", nulls);
        if (old) kind.value = old.filter_type;
        fields.push(kind);
        read = () => ({ filter_type: kind.value });
    }
    form.prepend(...fields);
    const row = el("div", "row");
    const submit = button("action main", "Filter", "Filter", () => {});
    submit.type = "submit";
    row.append(submit);
    if (old) {
        row.append(
            button("action", "Remove", "Remove the filter", () => {
                actions.apply(null);
                done();
            }),
        );
    }
    form.append(row);
    form.addEventListener("keydown", event => {
        if (event.key !== "Enter" || (event.target as Element).matches("button")) return;
        event.preventDefault();
        event.stopPropagation();
        form.requestSubmit();
    });
    form.addEventListener("submit", event => {
        event.preventDefault();
        const filter = read();
        if (!filter) return;
        actions.apply({
            filter_id: old?.filter_id ?? `column-${column.column_index}`,
            column_schema: column,
            condition: "and",
            ...filter,
        });
        done();
    });
    return form;
}
