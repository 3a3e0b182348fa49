// Bundles every test of test/ and runs them with node's own runner.

import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";

const folder = await mkdtemp(path.join(tmpdir(), "onrush-web-"));
const tests = (await readdir("test")).filter(name => name.endsWith(".test.ts"));
await build({
    entryPoints: tests.map(name => path.join("test", name)),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    loader: { ".css": "text", ".txt": "text" },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
});
const files = tests.map(name => path.join(folder, name.replace(/\.ts$/, ".mjs")));
const ran = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...files], { stdio: "inherit" });
await rm(folder, { recursive: true });
process.exit(ran.status ?? 1);
