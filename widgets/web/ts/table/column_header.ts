// The header of a column: its name, type, summary, and a picture of its values that is also a filter.

import { el, svg } from "./dom.ts";
import type { Model } from "./model.ts";
import {
    brushed,
    type Column,
    type Filter,
    grouped,
    isTemporal,
    named,
    type Profile,
    short,
    shown,
    visible,
} from "./types.ts";

const WIDTH = 100;
const HEIGHT = 24;

/** The id of the filter that the picture of a column sets. */
export function brushId(column: Column): string {
    return `brush-${column.column_index}`;
}

/** The line under the type. */
export function facts(column: Column, profile: Profile | undefined): string {
    const nulls = profile?.null_count ?? column.nulls;
    const stats = profile?.summary_stats;
    const parts: string[] = [];
    if (nulls) parts.push(`${short(nulls)} null`);
    if (stats && stats.num_unique !== null && stats.num_unique !== undefined) {
        parts.push(`${stats.num_unique_exact ? "" : "≈ "}${short(stats.num_unique)} distinct`);
    }
    if (stats?.num_nan) parts.push(`${short(stats.num_nan)} NaN`);
    return parts.join(" · ");
}

/** The whole summary, for the title. */
export function explained(column: Column, profile: Profile | undefined): string {
    const stats = profile?.summary_stats;
    const lines = [`${named(column.column_name)}: ${visible(column.type_name)}`];
    const nulls = profile?.null_count ?? column.nulls;
    if (nulls !== undefined) lines.push(`${grouped(nulls)} null`);
    if (stats?.num_unique != null)
        lines.push(`${stats.num_unique_exact ? "" : "about "}${grouped(stats.num_unique)} distinct`);
    if (stats?.min != null) lines.push(`from ${stats.min} to ${stats.max}`);
    if (stats?.number_stats?.mean != null) lines.push(`mean ${stats.number_stats.mean}`);
    if (stats?.number_stats?.stdev != null) lines.push(`standard deviation ${stats.number_stats.stdev}`);
    if (stats?.string_stats?.num_empty) lines.push(`${grouped(stats.string_stats.num_empty)} empty`);
    return lines.join("\n");
}

/** The picture, or null if there is none. */
export function picture(model: Model, column: Column, profile: Profile | undefined): Element | null {
    if (!profile) return null;
    const own = model.filters.find(filter => filter.filter_id === brushId(column));
    if (profile.small_histogram && profile.small_histogram.bin_counts.length > 0) {
        return histogram(model, column, profile.small_histogram, own);
    }
    if (profile.small_frequency_table && profile.small_frequency_table.values.length > 0) {
        return shares(model, column, profile.small_frequency_table, own);
    }
    return null;
}

function histogram(
    model: Model,
    column: Column,
    bins: { bin_edges: string[]; bin_counts: number[] },
    own: Filter | undefined,
): Element {
    const { bin_edges: edges, bin_counts: counts } = bins;
    const bars = counts.length;
    const most = Math.max(1, ...counts);
    const whole = column.type_display === "integer";
    const drawn = svg("svg", { class: "picture", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" });
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", `histogram of ${named(column.column_name)}: drag to filter`);
    const width = WIDTH / bars;
    const rects = counts.map((count, i) => {
        // Small counts stay visible.
        const height = count === 0 ? 0 : Math.max(1, (count / most) * HEIGHT);
        const gap = Math.min(0.6, width * 0.15);
        const rect = svg("rect", { x: i * width, y: HEIGHT - height, width: width - gap, height, class: "bar" });
        drawn.append(rect);
        const cover = svg("rect", { x: i * width, y: 0, width, height: HEIGHT, class: "cover" });
        const title = svg("title", {});
        const upper = whole && i + 1 < bars ? brushed(edges, i, i, true)?.right : edges[i + 1];
        const from = edges[i] === upper ? edges[i] : `${edges[i]} to ${upper}`;
        title.textContent = `${from}: ${grouped(count)}`;
        cover.append(title);
        drawn.append(cover);
        return rect;
    });
    const mark = (first: number, last: number) => {
        rects.forEach((rect, i) => {
            rect.classList.toggle("out", i < first || i > last);
        });
    };
    const chosen = own && stretch(edges, own, whole);
    if (chosen) mark(chosen[0], chosen[1]);
    const bar = (event: PointerEvent) => {
        const box = drawn.getBoundingClientRect();
        return Math.min(bars - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * bars)));
    };
    drawn.addEventListener("pointerdown", begun => {
        const down = begun as PointerEvent;
        if (down.button !== 0 || !model.live) return;
        down.preventDefault();
        down.stopPropagation();
        drawn.setPointerCapture(down.pointerId);
        const from = bar(down);
        let to = from;
        mark(from, to);
        const move = (event: Event) => {
            to = bar(event as PointerEvent);
            mark(Math.min(from, to), Math.max(from, to));
        };
        const up = () => {
            drawn.removeEventListener("pointermove", move);
            const range = brushed(edges, Math.min(from, to), Math.max(from, to), whole);
            const same = chosen && from === to && chosen[0] === from && chosen[1] === from;
            if (same || !range) {
                // A second click on the selection removes the filter.
                model.setFilters(model.filters.filter(filter => filter !== own));
                return;
            }
            model.setFilter({
                filter_id: brushId(column),
                filter_type: "between",
                column_schema: column,
                condition: "and",
                params: { left_value: range.left, right_value: range.right },
            });
        };
        drawn.addEventListener("pointermove", move);
        drawn.addEventListener("pointerup", up, { once: true });
    });
    return drawn;
}

/** The bars between a filter's ends. */
function stretch(edges: string[], own: Filter, whole: boolean): [number, number] | null {
    const { left_value: left, right_value: right } = (own.params ?? {}) as {
        left_value?: string;
        right_value?: string;
    };
    const first = edges.indexOf(left ?? "");
    for (let last = edges.length - 2; last >= Math.max(0, first); last--) {
        if (first >= 0 && brushed(edges, first, last, whole)?.right === right) return [first, last];
    }
    return null;
}

/** The most frequent values as segments of a bar; a click filters. */
function shares(
    model: Model,
    column: Column,
    table: NonNullable<Profile["small_frequency_table"]>,
    own: Filter | undefined,
): Element {
    const all = table.counts.reduce((sum, count) => sum + count, 0) + table.other_count;
    const bar = el("div", "picture shares");
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", `most frequent values of ${named(column.column_name)}: click to filter`);
    const chosen = (own?.params?.values as string[] | undefined) ?? [];
    table.values.forEach((value, i) => {
        const count = table.counts[i] ?? 0;
        const text = shown(value).text;
        const part = el("span", "share", count / all > 0.12 ? text : "");
        part.style.flexGrow = String(count);
        part.title = `${text}: ${grouped(count)}`;
        const isBool = column.type_display === "boolean";
        if (own && !chosen.includes(String(value))) part.classList.add("out");
        part.addEventListener("click", event => {
            event.stopPropagation();
            if (!model.live || typeof value !== "string") return;
            if (isTemporal(column) && column.type_display !== "date") return;
            const values = chosen.includes(value)
                ? chosen.filter(one => one !== value)
                : isBool
                  ? [value]
                  : [...chosen, value];
            const others = model.filters.filter(filter => filter !== own);
            if (values.length === 0) return model.setFilters(others);
            model.setFilter({
                filter_id: brushId(column),
                filter_type: "set_membership",
                column_schema: column,
                condition: "and",
                params: { values, inclusive: true },
            });
        });
        bar.append(part);
    });
    if (table.other_count > 0) {
        const rest = el("span", "share rest", "");
        rest.style.flexGrow = String(table.other_count);
        rest.title = `others: ${grouped(table.other_count)}`;
        bar.append(rest);
    }
    return bar;
}
