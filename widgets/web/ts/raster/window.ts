// Windows of a raster: x0, y0, x1, y1 with y upwards. Shares of the data area are from 0 to 1 with y downwards.

export type Window = [number, number, number, number];
/** Left, top, width and height in pixels. */
export type Frame = [number, number, number, number];

/** Moved by a share of its size. */
export function moved([x0, y0, x1, y1]: Window, [right, down]: readonly [number, number]): Window {
    const [dx, dy] = [(x1 - x0) * right, (y1 - y0) * down];
    return [x0 + dx, y0 - dy, x1 + dx, y1 - dy];
}

/** Larger by a factor, around a place that stays where it is. */
export function scaled([x0, y0, x1, y1]: Window, factor: number, [right, down]: readonly [number, number]): Window {
    const [x, y] = [x0 + (x1 - x0) * right, y1 - (y1 - y0) * down];
    const next: Window = [x + (x0 - x) * factor, y + (y0 - y) * factor, x + (x1 - x) * factor, y + (y1 - y) * factor];
    // Numbers have about 16 digits: a smaller window could not be told from a point.
    const fine = Math.abs(next[2] - next[0]) > Math.abs(x) * 1e-13 && Math.abs(next[3] - next[1]) > Math.abs(y) * 1e-13;
    return fine && next.every(Number.isFinite) ? next : [x0, y0, x1, y1];
}

/** The box between two places. */
export function within([x0, y0, x1, y1]: Window, a: readonly [number, number], b: readonly [number, number]): Window {
    const inside = (value: number) => Math.min(Math.max(value, 0), 1);
    const xs = [a[0], b[0]].map(share => x0 + (x1 - x0) * inside(share)).sort((p, q) => p - q);
    const ys = [a[1], b[1]].map(share => y1 - (y1 - y0) * inside(share)).sort((p, q) => p - q);
    return [xs[0]!, ys[0]!, xs[1]!, ys[1]!];
}

/** Where a picture of the window `shown` lies in a frame that shows `wanted`: offset and scale in pixels. */
export function inPixels([, , width, height]: Frame, shown: Window, wanted: Window): Frame {
    const [wide, high] = [wanted[2] - wanted[0], wanted[3] - wanted[1]];
    return [
        ((shown[0] - wanted[0]) / wide) * width,
        ((wanted[3] - shown[3]) / high) * height,
        (shown[2] - shown[0]) / wide,
        (shown[3] - shown[1]) / high,
    ];
}
