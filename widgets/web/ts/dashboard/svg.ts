// Pictures of a dashboard as elements of the page. Only shapes and text are taken over, so that nothing in the SVG of a
// notebook can run or load anything.

const SPACE = "http://www.w3.org/2000/svg";

const ELEMENTS = new Set(["svg", "g", "path", "rect", "text", "circle", "image", "clipPath", "polygon", "line"]);
const ATTRIBUTES = new Set([
    "class",
    "clip-path",
    "clip-rule",
    "cx",
    "cy",
    "d",
    "fill",
    "fill-opacity",
    "fill-rule",
    "font-family",
    "font-size",
    "font-weight",
    "height",
    "href",
    "id",
    "opacity",
    "paint-order",
    "points",
    "preserveAspectRatio",
    "r",
    "stroke",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
    "y2",
]);

function copy(from: Element): SVGElement | null {
    if (!ELEMENTS.has(from.localName)) return null;
    const to = document.createElementNS(SPACE, from.localName);
    for (const { name, value } of from.attributes) {
        if (!ATTRIBUTES.has(name)) continue;
        if (name === "href" && !value.startsWith("data:image/png;base64,")) continue;
        if (/url\(/.test(value) && !/^url\(#[\w-]+\)$/.test(value)) continue;
        to.setAttribute(name, value);
    }
    for (const child of from.childNodes) {
        if (child.nodeType === Node.TEXT_NODE && from.localName === "text") to.append(child.textContent ?? "");
        else if (child.nodeType === Node.ELEMENT_NODE) {
            const inner = copy(child as Element);
            if (inner) to.append(inner);
        }
    }
    return to;
}

/** The picture of a text, or an empty one. */
export function picture(text: string): SVGElement {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const made = parsed.localName === "svg" ? copy(parsed) : null;
    return made ?? document.createElementNS(SPACE, "svg");
}
