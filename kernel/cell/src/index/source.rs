//! An index from Rust source of a crate or a cell. The source is parsed, not compiled. Only the crate's `macro_rules!`
//! macros are expanded.

#[path = "expand.rs"]
mod expand;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

/// The visibility of the wanted items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Public items of a crate.
    Public,
    /// For a module of a cell: the names that the rest of the notebook can use.
    Shared,
    /// For a cell itself: its items are made public.
    All,
}

impl Which {
    fn sees(self, visibility: &Visibility) -> bool {
        match self {
            Which::All => true,
            Which::Shared => !matches!(visibility, Visibility::Inherited),
            Which::Public => is_public(visibility),
        }
    }
}

/// One item with the lines below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub path: String,
    pub is_impl: bool,
    pub text: String,
}

/// The index of the crate whose root is `file`, under the name that code uses for it.
pub fn index_crate(root: &Path, name: &str) -> String {
    let mut reader = Reader::default();
    reader.file(root, name, root.parent().unwrap_or(Path::new(".")), 0);
    let mut text = String::new();
    reader.chunks.iter().for_each(|chunk| text.push_str(&chunk.text));
    reader.write_uses(&mut text);
    text
}

/// Items of a cell; paths begin at the root of the notebook.
pub fn chunks_of(items: &[Item]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    items.iter().for_each(|item| collect(item, "", Which::All, &mut chunks));
    chunks
}

#[derive(Default)]
struct Reader {
    chunks: Vec<Chunk>,
    /// `pub use`: the module, the name in it (`*` for all), the target as written.
    uses: Vec<(String, String, String)>,
    modules: Vec<String>,
    macros: expand::Macros,
}

impl Reader {
    fn file(&mut self, file: &Path, module: &str, folder: &Path, depth: usize) {
        let Ok(text) = std::fs::read_to_string(file) else { return };
        let Ok(parsed) = syn::parse_file(&text) else { return };
        if depth < 16 {
            self.items(&parsed.items, module, folder, depth);
        }
    }

    fn items(&mut self, items: &[Item], module: &str, folder: &Path, depth: usize) {
        self.modules.push(module.to_string());
        for item in items {
            if let Item::Macro(call) = item
                && call.ident.is_none()
            {
                for made in expand::items(&self.macros, &call.mac) {
                    collect(&made, module, Which::Public, &mut self.chunks);
                }
            }
            if let Item::Macro(definition) = item
                && let Some(name) = &definition.ident
            {
                self.macros.insert(name.to_string(), definition.mac.tokens.clone());
            }
            match item {
                Item::Mod(inner) if !is_left_out(&inner.attrs) => {
                    let path = join(module, &plain(&inner.ident));
                    if is_public(&inner.vis) {
                        self.chunks.push(chunk("mod", &path, String::new(), &inner.attrs, String::new()));
                    }
                    let name = plain(&inner.ident);
                    match &inner.content {
                        Some((_, items)) => self.items(items, &path, &folder.join(&name), depth + 1),
                        None => {
                            if let Some((file, folder)) = find(folder, &name, &inner.attrs) {
                                self.file(&file, &path, &folder, depth + 1);
                            }
                        }
                    }
                }
                Item::Use(item) if is_public(&item.vis) => {
                    let mut leaves = Vec::new();
                    leaves_of(&item.tree, "", &mut leaves);
                    self.uses.extend(leaves.into_iter().map(|(name, target)| (module.to_string(), name, target)));
                }
                other => collect(other, module, Which::Public, &mut self.chunks),
            }
        }
    }

    /// Resolves re-exports, after all modules are known.
    fn write_uses(&self, text: &mut String) {
        let root = self.modules.first().map_or("", String::as_str);
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for chunk in self.chunks.iter().filter(|c| !c.is_impl) {
            let (parent, name) = chunk.path.rsplit_once("::").unwrap_or(("", &chunk.path));
            children.entry(parent).or_default().push(name);
        }
        let absolute = |module: &str, target: &str| -> String {
            let mut module = module.to_string();
            let mut rest = target.trim_start_matches("::");
            if let Some(after) = rest.strip_prefix("crate::") {
                return join(root, after);
            }
            while let Some(after) = rest.strip_prefix("self::") {
                rest = after;
            }
            while let Some(after) = rest.strip_prefix("super::") {
                module = module.rsplit_once("::").map_or(String::new(), |(parent, _)| parent.to_string());
                rest = after;
            }
            let first = rest.split("::").next().unwrap_or(rest);
            let here = join(&module, first);
            let is_here = self.modules.contains(&here)
                || children.get(module.as_str()).is_some_and(|names| names.contains(&first));
            if is_here || rest != target { join(&module, rest) } else { rest.to_string() }
        };
        for (module, name, target) in &self.uses {
            let target = absolute(module, target);
            if name == "*" {
                // A glob brings in the globs of its module, too.
                let (mut modules, mut at) = (vec![target], 0);
                while let Some(target) = modules.get(at).cloned() {
                    at += 1;
                    for child in children.get(target.as_str()).into_iter().flatten() {
                        let _ = writeln!(text, "={}\t{}", join(module, child), join(&target, child));
                    }
                    for (_, name, inner) in self.uses.iter().filter(|(m, ..)| *m == target) {
                        let inner = absolute(&target, inner);
                        if name != "*" {
                            let _ = writeln!(text, "={}\t{}", join(module, name), join(&target, name));
                        } else if !modules.contains(&inner) {
                            modules.push(inner);
                        }
                    }
                }
            } else if *name != "_" {
                let path = join(module, name);
                if path != target {
                    let _ = writeln!(text, "={path}\t{target}");
                }
            }
        }
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_string() } else { format!("{module}::{name}") }
}

fn plain(name: &syn::Ident) -> String {
    name.to_string().trim_start_matches("r#").to_string()
}

/// The file of `mod name;` and the folder of its submodules.
fn find(folder: &Path, name: &str, attributes: &[Attribute]) -> Option<(PathBuf, PathBuf)> {
    let given = attributes.iter().find(|a| a.path().is_ident("path")).and_then(text_of);
    if let Some(path) = given {
        let file = folder.join(path);
        return Some((file.clone(), file.parent()?.to_path_buf()));
    }
    let inside = folder.join(name);
    [folder.join(format!("{name}.rs")), inside.join("mod.rs")].into_iter().find(|f| f.is_file()).map(|f| (f, inside))
}

fn text_of(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        syn::Meta::NameValue(syn::MetaNameValue {
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an item is left out: tests, hidden and deprecated items.
fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let hidden = |list: &syn::MetaList| list.tokens.to_string() == "hidden";
        let test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        match &a.meta {
            syn::Meta::List(list) if a.path().is_ident("doc") => hidden(list),
            syn::Meta::List(list) if a.path().is_ident("cfg") => test(list),
            _ => a.path().is_ident("test") || a.path().is_ident("deprecated"),
        }
    })
}

fn leaves_of(tree: &UseTree, prefix: &str, leaves: &mut Vec<(String, String)>) {
    match tree {
        UseTree::Path(path) => leaves_of(&path.tree, &join(prefix, &plain(&path.ident)), leaves),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves_of(tree, prefix, leaves)),
        UseTree::Glob(_) => leaves.push(("*".to_string(), prefix.to_string())),
        UseTree::Rename(rename) => leaves.push((plain(&rename.rename), join(prefix, &plain(&rename.ident)))),
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((prefix.rsplit("::").next().unwrap_or(prefix).to_string(), prefix.to_string()));
        }
        UseTree::Name(name) => leaves.push((plain(&name.ident), join(prefix, &plain(&name.ident)))),
    }
}

fn chunk(kind: &str, path: &str, signature: String, attributes: &[Attribute], lines: String) -> Chunk {
    let text = format!("#{kind}\t{path}\t{signature}\t{}\n{lines}", docs(attributes));
    Chunk { path: path.to_string(), is_impl: false, text }
}

fn collect(item: &Item, module: &str, which: Which, out: &mut Vec<Chunk>) {
    let wanted = |visibility: &Visibility, attributes: &[Attribute]| which.sees(visibility) && !is_left_out(attributes);
    match item {
        Item::Fn(f) if wanted(&f.vis, &f.attrs) => {
            let name = plain(&f.sig.ident);
            let is_macro = f.attrs.iter().any(|a| a.path().is_ident("proc_macro"));
            out.push(match is_macro {
                true => chunk("macro", &join(module, &name), format!("{name}!(…)"), &f.attrs, String::new()),
                false => chunk("fn", &join(module, &name), spell(&f.sig), &f.attrs, String::new()),
            });
        }
        Item::Struct(s) if wanted(&s.vis, &s.attrs) => {
            let name = plain(&s.ident);
            // Lines below an impl belong to it.
            let lines = fields(&s.fields, which) + &derives(&s.attrs, &name);
            out.push(chunk(
                "struct",
                &join(module, &name),
                format!("struct {name}{}", spell(&s.generics)),
                &s.attrs,
                lines,
            ));
        }
        Item::Union(u) if wanted(&u.vis, &u.attrs) => {
            let name = plain(&u.ident);
            let lines = fields(&Fields::Named(u.fields.clone()), which);
            out.push(chunk(
                "union",
                &join(module, &name),
                format!("union {name}{}", spell(&u.generics)),
                &u.attrs,
                lines,
            ));
        }
        Item::Enum(e) if wanted(&e.vis, &e.attrs) => {
            let name = plain(&e.ident);
            let mut lines = String::new();
            for variant in &e.variants {
                let shape = format!("{}{}", variant.ident, spell(&variant.fields));
                let _ = writeln!(lines, "v\t{}\t{shape}\t{}", plain(&variant.ident), docs(&variant.attrs));
            }
            lines.push_str(&derives(&e.attrs, &name));
            out.push(chunk(
                "enum",
                &join(module, &name),
                format!("enum {name}{}", spell(&e.generics)),
                &e.attrs,
                lines,
            ));
        }
        Item::Trait(t) if wanted(&t.vis, &t.attrs) => {
            let name = plain(&t.ident);
            let lines: String = t.items.iter().map(trait_line).collect();
            let above = spell(&t.supertraits);
            let colon = if above.is_empty() { "" } else { ": " };
            let signature = format!("trait {name}{}{colon}{above}", spell(&t.generics));
            out.push(chunk("trait", &join(module, &name), signature, &t.attrs, lines));
        }
        Item::Type(t) if wanted(&t.vis, &t.attrs) => {
            let name = plain(&t.ident);
            let signature = format!("type {name}{} = {}", spell(&t.generics), spell(&t.ty));
            out.push(chunk("type", &join(module, &name), signature, &t.attrs, String::new()));
        }
        Item::Const(c) if wanted(&c.vis, &c.attrs) => {
            let name = plain(&c.ident);
            let signature = format!("const {name}: {}", spell(&c.ty));
            out.push(chunk("const", &join(module, &name), signature, &c.attrs, String::new()));
        }
        Item::Static(s) if wanted(&s.vis, &s.attrs) => {
            let name = plain(&s.ident);
            let signature = format!("static {name}: {}", spell(&s.ty));
            out.push(chunk("static", &join(module, &name), signature, &s.attrs, String::new()));
        }
        Item::Macro(m) if which != Which::Public || m.attrs.iter().any(|a| a.path().is_ident("macro_export")) => {
            let Some(name) = m.ident.as_ref().filter(|_| !is_left_out(&m.attrs)).map(plain) else { return };
            // An exported macro is at its crate's root.
            let root = module.split("::").next().unwrap_or("");
            out.push(chunk("macro", &join(root, &name), format!("{name}!(…)"), &m.attrs, String::new()));
        }
        Item::Mod(m) if which != Which::Public && which.sees(&m.vis) && !is_left_out(&m.attrs) => {
            let path = join(module, &plain(&m.ident));
            out.push(chunk("mod", &path, format!("mod {}", plain(&m.ident)), &m.attrs, String::new()));
            for item in m.content.iter().flat_map(|(_, items)| items) {
                collect(item, &path, Which::Shared, out);
            }
        }
        Item::Impl(block) if !is_left_out(&block.attrs) => out.extend(impl_chunk(block, which)),
        _ => {}
    }
}

fn impl_chunk(block: &syn::ItemImpl, which: Which) -> Option<Chunk> {
    let parameters = parameters(&block.generics);
    let name = match &*block.self_ty {
        syn::Type::Path(path) => plain(&path.path.segments.last()?.ident),
        syn::Type::Slice(_) => "slice".to_string(),
        syn::Type::Array(_) => "array".to_string(),
        syn::Type::Tuple(_) => "tuple".to_string(),
        syn::Type::Reference(_) => "reference".to_string(),
        _ => return None,
    };
    // An impl for every type that has some trait.
    let is_parameter = parameters.iter().any(|p| p.split(':').next() == Some(name.as_str()));
    let name = if is_parameter { "*".to_string() } else { name };
    let of_trait = match &block.trait_ {
        Some((Some(_), ..)) => return None,
        Some((_, path, _)) => path.segments.iter().map(|s| plain(&s.ident)).collect::<Vec<_>>().join("::"),
        None => String::new(),
    };
    let mut text = format!("#impl\t{name}\t\t\n%\t{}\t{of_trait}\t{}\n", spell(&block.self_ty), parameters.join(","));
    for item in &block.items {
        match item {
            ImplItem::Type(t) if t.ident == "Target" && of_trait.ends_with("Deref") => {
                let _ = writeln!(text, ">{}", spell(&t.ty));
            }
            _ if !of_trait.is_empty() => {}
            ImplItem::Fn(f) if which.sees(&f.vis) && !is_left_out(&f.attrs) => {
                text.push_str(&method(&f.sig, &f.attrs));
            }
            ImplItem::Const(c) if which.sees(&c.vis) => {
                let name = plain(&c.ident);
                let _ = writeln!(text, "c\t{name}\tconst {name}: {}\t{}", spell(&c.ty), docs(&c.attrs));
            }
            _ => {}
        }
    }
    Some(Chunk { path: name, is_impl: true, text })
}

/// The parameters of an impl with their trait bounds: `T:Clone:Debug`.
fn parameters(generics: &syn::Generics) -> Vec<String> {
    let traits = |bounds: &mut dyn Iterator<Item = &syn::TypeParamBound>| -> String {
        let mut text = String::new();
        for bound in bounds {
            if let syn::TypeParamBound::Trait(bound) = bound
                && !matches!(bound.modifier, syn::TraitBoundModifier::Maybe(_))
                && let Some(last) = bound.path.segments.last()
            {
                let _ = write!(text, ":{}", last.ident);
            }
        }
        text
    };
    let mut parameters: Vec<String> = Vec::new();
    for parameter in &generics.params {
        match parameter {
            syn::GenericParam::Type(t) => parameters.push(plain(&t.ident) + &traits(&mut t.bounds.iter())),
            syn::GenericParam::Const(c) => parameters.push(plain(&c.ident)),
            syn::GenericParam::Lifetime(_) => {}
        }
    }
    for condition in generics.where_clause.iter().flat_map(|w| &w.predicates) {
        if let syn::WherePredicate::Type(condition) = condition {
            let name = spell(&condition.bounded_ty);
            if let Some(known) = parameters.iter_mut().find(|p| p.split(':').next() == Some(name.as_str())) {
                known.push_str(&traits(&mut condition.bounds.iter()));
            }
        }
    }
    parameters
}

fn trait_line(item: &TraitItem) -> String {
    match item {
        TraitItem::Fn(f) if !is_left_out(&f.attrs) => method(&f.sig, &f.attrs),
        TraitItem::Const(c) => {
            let name = plain(&c.ident);
            format!("c\t{name}\tconst {name}: {}\t{}\n", spell(&c.ty), docs(&c.attrs))
        }
        TraitItem::Type(t) => format!("t\t{0}\ttype {0}\t{1}\n", plain(&t.ident), docs(&t.attrs)),
        _ => String::new(),
    }
}

fn method(signature: &syn::Signature, attributes: &[Attribute]) -> String {
    let kind = if signature.receiver().is_some() { 'm' } else { 'a' };
    format!("{kind}\t{}\t{}\t{}\n", plain(&signature.ident), spell(signature), docs(attributes))
}

fn fields(fields: &Fields, which: Which) -> String {
    let mut lines = String::new();
    for (i, field) in fields.iter().enumerate() {
        if which.sees(&field.vis) {
            let name = field.ident.as_ref().map_or_else(|| i.to_string(), plain);
            let _ = writeln!(lines, "f\t{name}\t{}\t{}", spell(&field.ty), docs(&field.attrs));
        }
    }
    lines
}

/// Adds an impl for each trait of `#[derive(Clone)]`.
fn derives(attributes: &[Attribute], name: &str) -> String {
    let mut lines = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("derive")) {
        let _ = attribute.parse_nested_meta(|meta| {
            if let Some(of_trait) = meta.path.segments.last() {
                let _ = writeln!(lines, "%\t{name}\t{}\t", of_trait.ident);
            }
            Ok(())
        });
    }
    lines
}

/// Tokens with the spacing of rustfmt.
pub fn spell(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string().replace('\n', " ");
    let mut out = text;
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("< ", "<"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("& ", "&"),
        (" : ", ": "),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
        (" . ", "."),
        (", )", ")"),
        (",)", ")"),
        ("' ", "'"),
        ("- >", "->"),
        ("->", "-> "),
        ("  ", " "),
        (">->", "> ->"),
        (")->", ") ->"),
        ("> (", ">("),
        (" ?", "?"),
        ("? ", "?"),
        ("* const", "*const"),
        ("* mut", "*mut"),
        (",", ", "),
        ("  ", " "),
    ] {
        out = out.replace(from, to);
    }
    out.trim().replace('\t', " ")
}

/// The documentation in one line, as the format wants it.
fn docs(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Some(line) = text_of(attribute) {
            let line = line.strip_prefix(' ').unwrap_or(&line);
            // Links of rustdoc lead nowhere in a notebook.
            text.push_str(&line.replace("[`", "`").replace("`]", "`"));
            text.push('\n');
        }
    }
    text.trim().replace('\t', "    ").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the reference of Rust, "Use declarations": a glob imports all public items, globs of the module included.
    #[test]
    fn globs_of_globs_are_followed() {
        let folder = std::env::temp_dir().join(format!("onrush-globs-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("lib.rs", "mod inner;\npub use inner::*;\n");
        write("inner.rs", "mod deep;\npub use deep::*;\npub fn shallow() {}\n");
        // Two modules that import each other have an end.
        write("inner/deep.rs", "pub use super::*;\npub fn deepest() {}\n");
        let text = index_crate(&folder.join("lib.rs"), "krate");
        std::fs::remove_dir_all(&folder).unwrap();
        for line in ["=krate::shallow\tkrate::inner::shallow", "=krate::deepest\tkrate::inner::deep::deepest"] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
