//! Rules about names of types: one public type for each name in a crate, and no name that is a bare participle.
//!
//! Types are found by their line (`pub struct Name`), in `src` folders and outside of tests.

use std::collections::BTreeMap;
use std::path::Path;

use super::standing::{PARTICIPLES, TWICE};
use super::{Finding, SourceFile, Tree, finding};

/// Words that end in `-ed` and are nouns.
const NOUNS: &[&str] = &["Bed", "Breed", "Feed", "Need", "Seed", "Shed", "Speed"];

/// Participles without `-ed`, and other words that say when something was met rather than what it is. Most words in
/// `-ing` are nouns (`Binding`, `Tuning`), so those that are not are listed.
const IRREGULAR: &[&str] = &[
    "Again",
    "Begun",
    "Bound",
    "Built",
    "Compiling",
    "Done",
    "Drawn",
    "Found",
    "Given",
    "Going",
    "Gone",
    "Held",
    "Holding",
    "Joining",
    "Kept",
    "Known",
    "Left",
    "Lent",
    "Looking",
    "Lost",
    "Made",
    "Making",
    "Meant",
    "Moving",
    "Pending",
    "Placing",
    "Probing",
    "Running",
    "Seen",
    "Sent",
    "Shown",
    "Spent",
    "Taken",
    "Told",
    "Unset",
    "Waiting",
    "Walking",
    "Warming",
    "Working",
    "Written",
];

/// A type, and where it is.
struct Type<'a> {
    /// The folder of its crate. A binary in `src/bin` is a separate crate.
    folder: String,
    name: &'a str,
    is_public: bool,
    place: String,
    path: &'a Path,
}

pub fn public_names(tree: &Tree) -> Vec<Finding> {
    let mut places: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
    for found in types(tree).filter(|found| found.is_public) {
        places.entry((found.folder, found.name)).or_default().push(found.place);
    }
    places.retain(|_, places| places.len() > 1);
    let mut findings = Vec::new();
    for ((folder, name), places) in places.iter().filter(|((_, name), _)| !TWICE.contains(name)) {
        for place in places {
            let message =
                format!("`{name}` names {} public types of `{folder}`: name each after what it is", places.len());
            findings.push(finding("type-names", place.clone(), message));
        }
    }
    findings.extend(stale("type-names", "TWICE", TWICE, |name| places.keys().any(|(_, other)| *other == name)));
    findings
}

pub fn participles(tree: &Tree) -> Vec<Finding> {
    let found: Vec<Type> = types(tree).filter(|found| is_participle(found.name)).collect();
    let message = |found: &Type| {
        let message = format!("`{}` says what happened to a thing, not what it is: add the noun", found.name);
        finding("participles", found.place.clone(), message)
    };
    let mut findings: Vec<Finding> =
        found.iter().filter(|found| !PARTICIPLES.contains(&found.name)).map(message).collect();
    let is_there = |name: &str| found.iter().any(|found| found.name == name);
    findings.extend(stale("participles", "PARTICIPLES", PARTICIPLES, is_there));
    findings
}

/// The file of each type that is named by a bare participle, also of those that `PARTICIPLES` lists.
pub fn participle_types(tree: &Tree) -> impl Iterator<Item = &Path> {
    types(tree).filter(|found| is_participle(found.name)).map(|found| found.path)
}

/// Entries of a list that nothing needs any more: the lists only shrink.
fn stale(rule: &'static str, list: &str, names: &[&str], is_there: impl Fn(&str) -> bool) -> Vec<Finding> {
    let message = |name: &&str| {
        finding(rule, "xtask/src/tidy/standing.rs", format!("`{name}` is not needed in {list} any more: take it out"))
    };
    names.iter().filter(|name| !is_there(name)).map(message).collect()
}

fn types(tree: &Tree) -> impl Iterator<Item = Type<'_>> {
    tree.sources.iter().filter(|file| file.is("rs")).flat_map(|file| {
        let folder = crate_folder(&file.path.to_string_lossy()).unwrap_or_default();
        let code =
            if folder.is_empty() { "" } else { file.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default() };
        code.lines().enumerate().filter_map(move |(index, line)| type_of(file, &folder, index + 1, line))
    })
}

fn type_of<'a>(file: &'a SourceFile, folder: &str, number: usize, line: &'a str) -> Option<Type<'a>> {
    let line = line.trim_start();
    let (is_public, rest) = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (true, rest.split_once(") ")?.1),
        Some(rest) => (true, rest.strip_prefix(' ')?),
        None => (false, line),
    };
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let (keyword, rest) = rest.split_once(' ')?;
    if !matches!(keyword, "struct" | "enum" | "union" | "trait" | "type") {
        return None;
    }
    // An associated type is not a type of the crate: its `type` is indented and not public.
    if keyword == "type" && !is_public {
        return None;
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let name = &rest[..end];
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase());
    is_name.then(|| Type { folder: folder.to_string(), name, is_public, place: file.place(number), path: &file.path })
}

fn crate_folder(path: &str) -> Option<String> {
    let (folder, inside) = path.split_once("/src/")?;
    if inside.ends_with("tests.rs")
        || inside.contains("/tests/")
        || folder.contains("/tests")
        || folder.starts_with("tests")
    {
        return None;
    }
    let Some(binary) = inside.strip_prefix("bin/") else { return Some(folder.to_string()) };
    let name = binary.split(['/', '.']).next().unwrap_or_default();
    Some(format!("{folder}/src/bin/{name}"))
}

/// Whether a name is one word, and that a participle.
fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().skip(1).all(|c| c.is_ascii_lowercase());
    is_one_word && (IRREGULAR.contains(&name) || name.ends_with("ed") && !NOUNS.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let sources = files.iter().map(|(path, text)| SourceFile { path: path.into(), text: (*text).into() }).collect();
        Tree { root: PathBuf::new(), paths: Vec::new(), sources, packages: Vec::new() }
    }

    /// Without what the standing lists would have taken out.
    fn places(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|f| f.place).filter(|place| !place.starts_with("xtask")).collect()
    }

    #[test]
    fn a_public_name_that_is_there_twice_is_found() {
        let bad = tree(&[
            ("a/src/one.rs", "pub struct Widget;\nstruct Own;\npub type Id = u32;\n"),
            ("a/src/two.rs", "pub(crate) enum Widget {}\nstruct Own;\nimpl X for Y { type Id = u8; }\n"),
            ("a/src/bin/tool.rs", "pub struct Widget;\n"),
            ("b/src/lib.rs", "pub struct Widget;\n#[cfg(test)]\nmod tests {\n    pub struct Widget;\n}\n"),
            ("a/tests/x.rs", "pub struct Widget;\n"),
        ]);
        assert_eq!(places(public_names(&bad)), ["a/src/one.rs:1", "a/src/two.rs:1"]);
    }

    #[test]
    fn a_bare_participle_is_found() {
        let bad = tree(&[(
            "a/src/lib.rs",
            "struct Meant;\npub struct Going;\nenum Grumbled {}\npub struct KnownWords;\nstruct Binding;\nstruct Seed;\ntrait Ring {}\n",
        )]);
        assert_eq!(places(participles(&bad)), ["a/src/lib.rs:1", "a/src/lib.rs:2", "a/src/lib.rs:3"]);
    }

    #[test]
    fn an_entry_that_is_not_needed_is_found() {
        let findings = stale("participles", "PARTICIPLES", &["Known", "Kept"], |name| name == "Known");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("`Kept`"));
    }
}
