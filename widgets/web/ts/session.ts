// What an output can find out about the notebook that it stands in. The types are the used part of @jupyterlab/services.

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

/** The session of the notebook or console around a widget, also of a view of an output that was put beside its notebook. */
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
