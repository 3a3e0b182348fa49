// Rows by the position of a scroll bar. Browsers have no elements of a billion pixels: above a limit the bar's way stands for more
// than its length, and turns of the wheel still move by rows.

/** Chrome and Firefox draw elements of at most 33 and 17 million pixels. */
export const TALLEST = 8_000_000;

export class Scroll {
    /** The row at the upper edge, with fractions. */
    top = 0;

    constructor(
        public rows: number,
        readonly rowHeight: number,
        /** Of the part that shows rows. */
        public height: number,
    ) {}

    /** What the scrolled element is to be tall, beside the head. */
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

    /** Where the bar is for `top`. */
    get position(): number {
        if (!this.isCompressed) return this.top * this.rowHeight;
        return this.last === 0 ? 0 : (this.top / this.last) * (this.spacer - this.height);
    }

    /** The bar was moved. */
    moved(position: number): void {
        // What the browser rounds must not move the rows.
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

    /** First row that shows, and the one after the last. */
    get visible(): [number, number] {
        const first = Math.floor(this.top);
        return [first, Math.min(this.rows, Math.ceil(this.top + this.height / this.rowHeight))];
    }
}
