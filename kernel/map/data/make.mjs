// Makes `shapes.deflate`, the base map, and `points.csv`, the values of d3-geo that the tests of projections compare with.
// Usage: npm install && node make.mjs. The format is read by `kernel/map/src/shapes.rs`.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { deflateRawSync } from "node:zlib";
import { geoAlbersUsa, geoEquirectangular, geoMercator, geoNaturalEarth1 } from "d3-geo";
import iso from "i18n-iso-countries";

const require = createRequire(import.meta.url);
const json = path => JSON.parse(readFileSync(require.resolve(path)));
iso.registerLocale(json("i18n-iso-countries/langs/en.json"));

// FIPS 5-2, as in the Census Bureau's list of state codes.
const USPS = `01 AL 02 AK 04 AZ 05 AR 06 CA 08 CO 09 CT 10 DE 11 DC 12 FL 13 GA 15 HI 16 ID 17 IL 18 IN 19 IA 20 KS 21 KY 22 LA
23 ME 24 MD 25 MA 26 MI 27 MN 28 MS 29 MO 30 MT 31 NE 32 NV 33 NH 34 NJ 35 NM 36 NY 37 NC 38 ND 39 OH 40 OK 41 OR 42 PA 44 RI
45 SC 46 SD 47 TN 48 TX 49 UT 50 VT 51 VA 53 WA 54 WV 55 WI 56 WY 60 AS 66 GU 69 MP 72 PR 78 VI`.split(/\s+/);

const out = [];

/** An unsigned integer in LEB128. */
function number(value) {
    while (value >= 128) {
        out.push((value % 128) + 128);
        value = Math.floor(value / 128);
    }
    out.push(value);
}

/** A signed integer, with its sign in the lowest bit. */
const signed = value => number(value < 0 ? -2 * value - 1 : 2 * value);

function text(value) {
    const bytes = Buffer.from(value);
    number(bytes.length);
    out.push(...bytes);
}

/** Polygons as rings of arcs; an arc that is walked backwards has the number `~arc`. */
function polygons(geometries) {
    const all = geometries.flatMap(one => (one.type === "MultiPolygon" ? one.arcs : one.type === "Polygon" ? [one.arcs] : []));
    number(all.length);
    for (const rings of all) {
        number(rings.length);
        for (const ring of rings) {
            number(ring.length);
            ring.forEach(signed);
        }
    }
}

function topology({ arcs, transform }, outline, regions) {
    const bytes = Buffer.alloc(32);
    [...transform.scale, ...transform.translate].forEach((value, at) => bytes.writeDoubleLE(value, 8 * at));
    out.push(...bytes);
    number(arcs.length);
    let [x, y] = [0, 0];
    for (const arc of arcs) {
        number(arc.length);
        const [first, ...rest] = arc;
        signed(first[0] - x);
        signed(first[1] - y);
        [x, y] = first;
        for (const [dx, dy] of rest) {
            signed(dx);
            signed(dy);
        }
    }
    polygons([outline]);
    number(regions.length);
    for (const region of regions) {
        number(region.number);
        text(region.short);
        text(region.long);
        number(region.names.length);
        region.names.forEach(text);
        polygons(region.geometries);
    }
}

/** The name that is shown first, then others without repetitions. */
function distinct(names) {
    const plain = name => name.normalize("NFD").replace(/\p{M}/gu, "");
    return [...new Set(names.filter(Boolean).flatMap(name => [name, plain(name)]))];
}

const world = json("world-atlas/countries-50m.json");
const countries = new Map();
for (const [given, code] of Object.entries(iso.getAlpha3Codes())) {
    // Kosovo has no code of ISO 3166-1; the World Bank and the European Union write XKX.
    const long = code === "XK" ? "XKX" : given;
    const names = iso.getName(code, "en", { select: "all" });
    countries.set(code, { number: Number(iso.alpha2ToNumeric(code)), short: code, long, names, geometries: [] });
}
for (const geometry of world.objects.countries.geometries) {
    const name = geometry.properties.name;
    const code = name === "Kosovo" ? "XK" : geometry.id && iso.numericToAlpha2(geometry.id);
    const country = countries.get(code);
    if (country) {
        // Ashmore and Cartier Islands have the code of Australia.
        if (country.geometries.length === 0) country.names = [...country.names, name];
        country.geometries.push(geometry);
    } else {
        countries.set(name, { number: 0, short: "", long: "", names: [name], geometries: [geometry] });
    }
}
topology(
    world,
    world.objects.land.geometries?.[0] ?? world.objects.land,
    [...countries.values()].map(country => ({ ...country, names: distinct(country.names) })),
);

const states = json("us-atlas/states-10m.json");
topology(
    states,
    states.objects.nation.geometries?.[0] ?? states.objects.nation,
    states.objects.states.geometries.map(geometry => ({
        number: Number(geometry.id),
        short: USPS[USPS.indexOf(geometry.id) + 1],
        long: "",
        names: [geometry.properties.name],
        geometries: [geometry],
    })),
);
const file = deflateRawSync(Buffer.from(out), { level: 9 });
writeFileSync(new URL("shapes.deflate", import.meta.url), file);
console.log(`shapes.deflate: ${out.length} bytes, deflated ${file.length}`);

// Points of a linear congruential generator, most of them anywhere, some in the United States.
let seed = 7;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const rounded = value => Math.round(value * 1e4) / 1e4;
const points = [[-73.7789, 40.6397], [0, 0], [180, 0], [-180, 45], [-155.5, 19.7], [-149.9, 61.2], [-66.1, 18.4], [10, 86]];
for (let at = 0; at < 120; at++) points.push([rounded(random() * 360 - 180), rounded(random() * 170 - 85)]);
for (let at = 0; at < 60; at++) points.push([rounded(random() * 70 - 130), rounded(random() * 30 + 22)]);
const projections = [geoMercator(), geoEquirectangular(), geoNaturalEarth1(), geoAlbersUsa()];
const lines = points.map(point => {
    const made = projections.map(projection => projection(point) ?? ["", ""]);
    return [...point, ...made.flat().map(value => (value === "" ? "" : value.toFixed(6)))].join(",");
});
const header = ["lon", "lat", ...["mercator", "equirectangular", "natural_earth", "albers_usa"].flatMap(n => [`${n}_x`, `${n}_y`])];
writeFileSync(new URL("points.csv", import.meta.url), `${[header.join(","), ...lines].join("\n")}\n`);
