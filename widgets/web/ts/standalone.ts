// The script of a dashboard's page: unpacks the rows and draws the dashboard.

import type { State } from "./dashboard/data.ts";
import { Local } from "./dashboard/local.ts";
import { DashboardView } from "./dashboard/view.ts";

interface About {
    state: State;
    rows: number;
    total: number;
    sections: { name: string; kind: "u8" | "u16" | "u32" | "f32" | "f64"; offset: number; length: number }[];
    colors: [number, number, number][];
}

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

function text(id: string): string {
    return document.getElementById(id)?.textContent ?? "";
}

async function unpacked(base64: string): Promise<ArrayBuffer> {
    const packed = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

async function start(): Promise<void> {
    const about = JSON.parse(text("about")) as About;
    const memory = await unpacked(text("rows"));
    const columns = new Map(
        about.sections.map(({ name, kind, offset, length }) => {
            const type = ARRAYS[kind];
            return [name, new type(memory, offset, length / type.BYTES_PER_ELEMENT)] as [string, ArrayLike<number>];
        }),
    );
    const host = document.getElementById("dashboard");
    if (!host) return;
    const local = new Local(about.state, { rows: about.rows, total: about.total, columns, colors: about.colors });
    new DashboardView(host, about.state, null, local);
}

void start();
