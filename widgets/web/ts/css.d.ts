// Style sheets, and what tests expect, are bundled as texts.
declare module "*.css" {
    const text: string;
    export default text;
}

declare module "*.txt" {
    const text: string;
    export default text;
}
