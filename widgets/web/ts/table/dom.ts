// Elements. Text only ever becomes text.

export function el<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    className = "",
    text?: string,
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
}

export function button(
    className: string,
    text: string,
    title: string,
    click: (event: MouseEvent) => void,
): HTMLButtonElement {
    const element = el("button", className, text);
    element.type = "button";
    element.title = title;
    element.setAttribute("aria-label", title);
    element.addEventListener("click", click);
    return element;
}

/** Sets the children of a parent. Present children are not removed and added again: pressed or focused elements stay so. */
export function keep(parent: Element, children: Element[]): void {
    const kept = new Set(children);
    for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
    children.forEach((child, i) => {
        const there = parent.children[i] ?? null;
        if (there !== child) parent.insertBefore(child, there);
    });
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
    return element;
}

/** Copies to the clipboard, also if the page has no permission for it. */
export async function toClipboard(text: string): Promise<void> {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = el("textarea");
        area.value = text;
        area.style.cssText = "position:fixed;opacity:0";
        const focused = document.activeElement as HTMLElement | null;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
        focused?.focus();
    }
}
