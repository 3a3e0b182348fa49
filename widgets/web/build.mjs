// From ts/ to the static files of a prebuilt JupyterLab extension: `node build.mjs FOLDER`.

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import { container } from "./container.mjs";

/** What the page has already. */
const SHARED = ["@jupyterlab/rendermime", "@lumino/widgets"];

const folder = process.argv[2] ?? "dist";
const own = JSON.parse(await readFile("package.json", "utf8"));
const result = await build({
    entryPoints: ["ts/index.ts"],
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "cjs",
    platform: "browser",
    target: "es2022",
    external: SHARED,
    loader: { ".css": "text" },
    write: false,
});
// The script of a dashboard's page, which has no JupyterLab around it.
const page = await build({
    entryPoints: ["ts/standalone.ts"],
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "iife",
    platform: "browser",
    target: "es2022",
    loader: { ".css": "text" },
    write: false,
});
const text = container(own.name, SHARED, result.outputFiles[0].text);
const hash = createHash("sha256").update(text).digest("hex").slice(0, 20);
const entry = `static/remoteEntry.${hash}.js`;
const description = {
    name: own.name,
    version: own.version,
    description: own.description,
    license: own.license,
    jupyterlab: { extension: true, _build: { load: entry, extension: "./extension" } },
};
await rm(folder, { recursive: true, force: true });
await mkdir(path.join(folder, "static"), { recursive: true });
await writeFile(path.join(folder, "package.json"), JSON.stringify(description, null, 2) + "\n");
await writeFile(path.join(folder, entry), text);
await writeFile(path.join(folder, "static/standalone.js"), page.outputFiles[0].text);
