// Virtual scrolling. Browsers have no elements of a billion pixels: above a limit the scroll bar is scaled, and the
// wheel still moves by rows.

/** Chrome and Firefox draw elements of at most 33 and 17 million pixels. */
export const TALLEST = 8_000_000;

export class Scroll {
    /** The row at the upper edge, with a fraction. */
    top = 0;

    constructor(
        public rows: number,
        readonly rowHeight: number,
        /** The height of the part that shows rows. */
        public height: number,
    ) {}

    /** The height of the scrolled element, without the header. */
    get spacer(): number {
        return Math.min(this.rows * this.rowHeight, TALLEST);
    }

    get isCompressed(): boolean {
        return this.rows * this.rowHeight > TALLEST;
    }

    /** The largest `top`. */
    get last(): number {
        return Math.max(0, this.rows - this.height / this.rowHeight);
    }

    /** The position of the scroll bar for `top`. */
    get position(): number {
        if (!this.isCompressed) return this.top * this.rowHeight;
        return this.last === 0 ? 0 : (this.top / this.last) * (this.spacer - this.height);
    }

    /** Handles a move of the scroll bar. */
    moved(position: number): void {
        // Rounding by the browser must not move the rows.
        if (Math.abs(position - this.position) < 1) return;
        if (!this.isCompressed) this.go(position / this.rowHeight);
        else this.go((position / Math.max(1, this.spacer - this.height)) * this.last);
    }

    go(top: number): void {
        this.top = Math.min(this.last, Math.max(0, top));
    }

    /** Moves as little as needed to show a whole row. */
    reveal(row: number): void {
        const fit = Math.floor(this.height / this.rowHeight);
        if (row < this.top) this.go(row);
        else if (row > this.top + fit - 1) this.go(row - fit + 1);
    }

    /** The first visible row, and the one after the last. */
    get visible(): [number, number] {
        const first = Math.floor(this.top);
        return [first, Math.min(this.rows, Math.ceil(this.top + this.height / this.rowHeight))];
    }
}
