"""Makes `std.index.deflate`, what completion knows of the standard library, from the HTML of rustup's component `rust-docs`.

Run it after the toolchain of rust-toolchain.toml has changed: python3 kernel/cell/data/std_index.py. Stable items only. The format
is described in kernel/cell/src/index.rs; the texts are the Rust project's, under its licences (Apache-2.0 OR MIT).
"""

import html
import re
import subprocess
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Nightly only, or of one kind of machine.
SKIPPED = {"simd", "arch", "intrinsics", "autodiff", "contracts", "async_iter", "bstr", "random", "unsafe_binder", "os", "prelude"}
KINDS = ["struct", "enum", "union", "trait", "fn", "macro", "constant", "static", "type", "primitive", "keyword", "derive", "attr"]
# Their methods are operators', or nobody's.
QUIET = {"Any", "Freeze", "RefUnwindSafe", "UnwindSafe", "Send", "Sync", "Unpin", "UnsafeUnpin", "CloneToUninit", "Receiver", "Sized"}
DOCS = 400

SECTION = re.compile(r'<h2 id="([^"]+)" class="[^"]*section-header')
ENTRY = re.compile(
    r'<section id="([^"]+)" class="([^"]+)">(.*?)</section>(<span class="item-info">.*?</span></div></span>)?'
    r"(?:</summary>)?(?:<span class=\"item-info\">.*?</span></div></span>)?(?:<div class=[\"']docblock[\"']>(.*?)</div>)?",
    re.S,
)
FIELD = re.compile(
    r'<span id="structfield\.([^"]+)"[^>]*>(.*?)</span>(?=<div class="docblock">|<span id=|<h2|<section|</)(?:<div class="docblock">(.*?)</div>)?', re.S
)


def plain(text: str) -> str:
    """The text of a piece of HTML."""
    text = re.sub(r'<div class="where">', " ", text)
    text = re.sub(r'<a href="#" class="tooltip".*?</a>', "", text, flags=re.S)
    text = re.sub(r"<[^>]+>", "", text)
    text = html.unescape(text).replace("\xa0", " ").replace("§", "").replace("ⓘ", "")
    text = " ".join(text.split())
    return text.replace("( ", "(").replace(", )", ")").replace(",)", ")")


def docs(text: str | None) -> str:
    """The first paragraph as Markdown."""
    if not text:
        return ""
    paragraph = re.search(r"<p>(.*?)</p>", text, re.S)
    text = paragraph.group(1) if paragraph else text.split("<h")[0].split("<ul")[0]
    text = re.sub(r"<a [^>]*>Read more</a>", "", text)
    text = re.sub(r"</?code>", "`", text)
    text = plain(text)
    if len(text) > DOCS:
        text = text[: text.rfind(" ", 0, DOCS)] + " …"
    return text


def code_header(text: str) -> str:
    found = re.search(r'<h[34] class="code-header">(.*?)</h[34]>', text, re.S)
    return plain(found.group(1)) if found else ""


def split_at(text: str, separator: str) -> list[str]:
    """Parts between separators that are inside no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "<([{":
            depth += 1
        elif c in ")]}" or (c == ">" and text[i - 1] != "-"):
            depth -= 1
        elif depth == 0 and text.startswith(separator, i):
            parts.append(text[start:i])
            start = i + len(separator)
    return parts + [text[start:]]


# What every type that one meets has.
GIVEN = {"Sized", "Send", "Sync", "Allocator", "BuildHasher", "Hasher", "Unpin", "MetaSized", "PointeeSized", "Pattern", "Tuple"}


def bounds(part: str) -> tuple[str, list[str]]:
    """The name and the traits of `T: Clone + ?Sized`."""
    name, _, rest = part.partition(":")
    traits = []
    for bound in split_at(rest, "+"):
        bound = re.sub(r"^(?:\[const\] |const |for<[^>]*> )", "", bound.strip())
        trait = re.match(r"[\w:]+", bound)
        if trait and not bound.startswith(("'", "?")):
            trait = trait.group(0).rsplit("::", 1)[-1]
            if trait not in GIVEN:
                traits.append(trait)
    return name.strip().removeprefix("const ").split(" ")[0], traits


def impl_header(header: str) -> tuple[list[str], str, str, dict[str, list[str]]]:
    """Parameters, trait, type and bounds of `impl<T, A> Extend<&'a T> for Vec<T, A> where …`."""
    header, *wheres = split_at(header, " where ")
    header = header.removeprefix("unsafe ")
    conditions: dict[str, list[str]] = {}
    for part in split_at(" ".join(wheres), ","):
        name, traits = bounds(part.strip())
        if re.fullmatch(r"\w+", name) and traits:
            conditions.setdefault(name, []).extend(traits)
    header = re.sub(r"^impl ?", "", header)
    header = re.sub(r"^const ", "", header)
    parameters: list[str] = []
    if header.startswith("<"):
        depth = 0
        for end, c in enumerate(header):
            depth += c == "<"
            depth -= c == ">" and header[end - 1] != "-"
            if depth == 0:
                break
        for parameter in split_at(header[1:end], ","):
            name = re.match(r"(?:const )?(\w+)", parameter.strip())
            if name:
                parameters.append(name.group(1))
            if ":" in parameter and not parameter.strip().startswith(("'", "const ")):
                name, traits = bounds(parameter.split("=")[0].strip() if "<" not in parameter else parameter.strip())
                if traits:
                    conditions.setdefault(name, []).extend(traits)
        header = header[end + 1 :].strip()
    parts = split_at(header, " for ")
    if len(parts) == 2:
        return parameters, parts[0].strip(), parts[1].strip(), conditions
    return parameters, "", header.strip(), conditions


class Page:
    def __init__(self, path: Path, root: Path):
        relative = path.relative_to(root)
        module = list(relative.parts[:-1])
        self.kind, self.name = path.name.removesuffix(".html").split(".", 1) if path.name != "index.html" else ("mod", module[-1])
        if path.name == "index.html":
            module.pop()
        self.path = self.name if self.kind in ("primitive", "keyword") else "::".join([*module, self.name])
        self.text = path.read_text()

    def head(self) -> str:
        end = self.text.find('<h2 id="', self.text.find('class="main-heading"'))
        return self.text[self.text.find('class="main-heading"') : end if end > 0 else len(self.text)]

    def is_stable(self) -> bool:
        head = self.head().split('class="docblock"')[0]
        return "stab unstable" not in head and "stab deprecated" not in head

    def declaration(self) -> str:
        found = re.search(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', self.text, re.S)
        text = plain(found.group(1)) if found else ""
        if self.kind in ("trait", "struct", "enum", "union"):
            text = text.split("{")[0].strip()
            text = re.sub(r" ?where .*", "", text) if self.kind != "trait" else text
        if self.kind == "macro":
            text = f"{self.name}!(…)"
        return text

    def doc(self) -> str:
        head = self.head()
        at = head.find('<div class="docblock">')
        return docs(head[at:]) if at > 0 else ""

    def lines(self) -> list[str]:
        out = []
        for name, declaration, doc in FIELD.findall(self.text):
            declaration = plain(declaration)
            out.append("\t".join(["f", name, declaration.split(":", 1)[-1].strip(), docs(doc)]))
        section, ignored, deref, collected, seen = "", False, False, [], set()
        headings = [(m.start(), m.group(1)) for m in SECTION.finditer(self.text)]
        for m in ENTRY.finditer(self.text):
            identifier, classes, body, info, doc = m.groups()
            section = next((name for at, name in reversed(headings) if at < m.start()), "")
            if section.startswith(("implementors", "foreign-impls", "synthetic", "deref-methods", "blanket", "dyn-compat")) and section != "blanket-implementations":
                continue
            words = classes.split()
            if "variant" in words and identifier.startswith("variant.") and identifier.count(".") == 1:
                out.append("\t".join(["v", identifier.split(".")[1], code_header(body), docs(doc)]))
                continue
            if "impl" in words:
                parameters, of_trait, target, conditions = impl_header(code_header(body))
                told = ",".join(p + "".join(f":{t}" for t in conditions.get(p, [])) for p in parameters)
                ignored = bool(info and "unstable" in info)
                if of_trait.startswith("!"):
                    ignored = True
                    continue
                # Which trait it is can be told by its name only: its bounds have titles too.
                wanted = of_trait.split("<")[0]
                titles = re.findall(r'title="trait ([\w:]+)"', body)
                trait_path = next((t for t in titles if t.rsplit("::", 1)[-1] == wanted), wanted)
                deref = trait_path == "std::ops::Deref"
                if of_trait:
                    if wanted in QUIET:
                        ignored = True
                        continue
                    line = "\t".join(["%", target, trait_path, told])
                    collected = None
                    if line not in seen and not ignored:
                        seen.add(line)
                        out.append(line)
                else:
                    out.append("\t".join(["%", target, "", told]))
                    collected = out
                continue
            if deref and "associatedtype" in words and identifier.startswith("associatedtype.Target"):
                out.append(">" + code_header(body).split("=", 1)[-1].strip())
                continue
            if ignored or "trait-impl" in words or (info and "stab" in info):
                continue
            if section not in ("implementations", "required-methods", "provided-methods", "required-associated-types", "required-associated-consts", "provided-associated-consts"):
                continue
            signature = code_header(body)
            name = identifier.split(".", 1)[-1]
            name = re.sub(r"-\d+$", "", name)
            if "method" in words:
                is_method = re.search(r"\((?:mut )?(?:&(?:'\w+ )?(?:mut )?)?self\b", signature)
                kind = "m" if is_method else "a"
            elif "associatedconstant" in words:
                kind = "c"
            elif "associatedtype" in words:
                kind = "t"
            else:
                continue
            signature = re.sub(r"^pub (?:const )?", "", signature)
            signature = re.sub(r"^const (?=(?:unsafe )?fn)", "", signature)
            out.append("\t".join([kind, name, signature, docs(doc)]))
        return out

    def record(self) -> list[str]:
        kind = {"constant": "const"}.get(self.kind, self.kind)
        return ["\t".join(["#" + kind, self.path, self.declaration(), self.doc()]), *self.lines()]


def main() -> None:
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    root = Path(sysroot) / "share/doc/rust/html"
    if not (root / "std/index.html").is_file():
        sys.exit("the component rust-docs is not installed: rustup component add rust-docs")
    records: list[list[str]] = []
    for path in sorted((root / "std").rglob("*.html")):
        parts = path.relative_to(root / "std").parts
        if parts[0] in SKIPPED and path.name.split(".")[0] not in ("attr",) or "!" in path.name:
            continue
        if path.name == "all.html" or path.name.split(".")[0] not in [*KINDS, "index"]:
            continue
        if "http-equiv" in (text := path.read_text())[:2000] and "refresh" in text[:2000]:
            continue
        page = Page(path, root)
        if not page.is_stable():
            continue
        record = page.record()
        if parts[0] == "prelude":
            record[0] = record[0].replace("std::prelude::v1::", "", 1) if parts[1] == "v1" else ""
        if record[0]:
            records.append(record)
    # The same item under two paths: the shorter one is where it lives.
    lives: dict[str, str] = {}
    out: list[str] = []
    for record in sorted(records, key=lambda r: (r[0].split("\t")[1].count("::"), r[0])):
        kind, path, *rest = record[0].split("\t")
        body = "\n".join([kind, path.rsplit("::", 1)[-1], *rest, *record[1:]])
        if kind not in ("#primitive", "#keyword", "#mod") and len(record) > 3 and body in lives:
            out.append(f"={path}\t{lives[body]}")
            continue
        lives[body] = path
        out.extend(record)
    text = "\n".join(out) + "\n"
    target = HERE / "std.index.deflate"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    target.write_bytes(packer.compress(text.encode()) + packer.flush())
    print(f"{target.name}: {len(out)} lines, {len(text) >> 10} KiB, {target.stat().st_size >> 10} KiB compressed")


if __name__ == "__main__":
    main()
