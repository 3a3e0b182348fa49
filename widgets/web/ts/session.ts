// Access from an output to its notebook. The types are the used part of @jupyterlab/services.

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Widget } from "@lumino/widgets";

export interface Signal<T> {
    connect(slot: (sender: unknown, value: T) => void): boolean;
    disconnect(slot: (sender: unknown, value: T) => void): boolean;
}

export interface CommMessage {
    content: { data: Record<string, unknown> };
    buffers?: (ArrayBuffer | ArrayBufferView)[];
}

export interface Comm {
    readonly commId: string;
    readonly isDisposed: boolean;
    onMsg: (message: CommMessage) => void;
    onClose: (message: CommMessage) => void;
    open(data?: object): unknown;
    send(data: object): unknown;
    close(data?: object): unknown;
}

export interface Kernel {
    readonly id: string;
    readonly status: string;
    readonly connectionStatus: string;
    readonly isDisposed: boolean;
    readonly handleComms: boolean;
    createComm(target: string): Comm;
}

export interface SessionContext {
    readonly session: { readonly kernel: Kernel | null } | null;
    readonly isDisposed: boolean;
    readonly kernelChanged: Signal<unknown>;
    readonly statusChanged: Signal<string>;
    readonly connectionStatusChanged: Signal<string>;
}

/** The session of the notebook or console around a widget, also of a view of an output that was moved out of its notebook. */
export function sessionOf(widget: Widget): SessionContext | null {
    for (let one: Widget | null = widget; one; one = one.parent) {
        const found = one as unknown as {
            sessionContext?: SessionContext;
            _notebook?: { sessionContext?: SessionContext };
        };
        const context = found.sessionContext ?? found._notebook?.sessionContext;
        if (context?.kernelChanged) return context;
    }
    return null;
}

/** Puts the cursor into the cell with an execution count. Lines and columns count from 1. */
export type Go = (cell: number, line: number, column: number) => void;

interface Cell {
    readonly node: HTMLElement;
    readonly model: { readonly type: string; readonly executionCount?: number | null };
    readonly ready?: Promise<void>;
    readonly editor?: {
        readonly lineCount: number;
        setCursorPosition(position: { line: number; column: number }): void;
        focus(): void;
    } | null;
}

interface Notebook {
    readonly widgets: readonly Cell[];
    activeCellIndex: number;
    mode: string;
    scrollToItem?(index: number): Promise<void>;
}

/** The notebook around a widget; `null` if there is none. */
export function editorsOf(widget: Widget): Go | null {
    for (let one: Widget | null = widget; one; one = one.parent) {
        const content = (one as unknown as { content?: Notebook }).content;
        if (!content?.widgets || typeof content.activeCellIndex !== "number") continue;
        return (number, line, column) => void go(content, widget.node, number, line, column);
    }
    return null;
}

async function go(notebook: Notebook, from: Node, number: number, line: number, column: number): Promise<void> {
    const counted = notebook.widgets.filter(cell => cell.model.type === "code" && cell.model.executionCount === number);
    // After a restart execution counts repeat: the cell around the output is preferred.
    const cell = counted.find(cell => cell.node.contains(from)) ?? counted.at(-1);
    if (!cell) return;
    const index = notebook.widgets.indexOf(cell);
    notebook.activeCellIndex = index;
    await notebook.scrollToItem?.(index);
    await cell.ready;
    if (!cell.editor) return;
    notebook.mode = "edit";
    const last = cell.editor.lineCount - 1;
    cell.editor.setCursorPosition({ line: Math.min(Math.max(0, line - 1), last), column: Math.max(0, column - 1) });
    cell.editor.focus();
}

/** The renderers of the outputs around a widget: each notebook has a separate registry, in which ipywidgets knows its models. */
export function registryOf(widget: Widget): IRenderMimeRegistry | null {
    for (let one: Widget | null = widget.parent; one; one = one.parent) {
        const { rendermime } = one as unknown as { rendermime?: IRenderMimeRegistry };
        if (rendermime?.createRenderer) return rendermime;
    }
    return null;
}
