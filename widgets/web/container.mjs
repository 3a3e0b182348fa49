// The file that Jupyter loads: a container of webpack's module federation, written by hand. It takes the modules that the page
// shares (Jupyter's own, which must not be there twice) when the extension is first asked for.

/** @param {string} name @param {string[]} shared @param {string} code CommonJS text of the extension. */
export function container(name, shared, code) {
    return `(() => {
const shared = ${JSON.stringify(shared)};
let scope;
let loaded;
const take = async name => {
    const versions = Object.values(scope?.[name] ?? {});
    const version = versions.find(one => one.loaded) ?? versions.at(-1);
    if (!version) throw new Error("Onrush: this Jupyter shares no " + name);
    return (await version.get())();
};
const load = async () => {
    const modules = new Map(await Promise.all(shared.map(async name => [name, await take(name)])));
    const module = { exports: {} };
    ((require, module, exports) => {
${code}
    })(name => modules.get(name), module, module.exports);
    return module.exports;
};
globalThis._JUPYTERLAB ??= {};
globalThis._JUPYTERLAB[${JSON.stringify(name)}] = {
    init(given) { scope ??= given; },
    async get(name) {
        if (name !== "./extension") throw new Error("Onrush: no module " + name);
        loaded ??= load();
        const extension = await loaded;
        return () => extension;
    },
};
})();
`;
}
