//! The lines of `:dep`: `serde`, `rand = "0.9"`, `foo = { path = "../foo", features = ["x"] }`, read and written as
//! cargo does.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A value on the right of a `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    Text(String),
    /// `true`, `false`, or a number: written as it came.
    Plain(String),
    List(Vec<Setting>),
}

impl Setting {
    fn text(&self) -> Option<&str> {
        match self {
            Setting::Text(text) => Some(text),
            _ => None,
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Setting::Text(text) => {
                // The strings of TOML and JSON are escaped alike.
                let _ = write!(out, "{}", serde_json::Value::from(text.as_str()));
            }
            Setting::Plain(text) => out.push_str(text),
            Setting::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
        }
    }
}

/// The request of a notebook for one crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrateRequest {
    settings: BTreeMap<String, Setting>,
}

impl CrateRequest {
    /// The right side of a line of `[dependencies]`.
    pub fn code(&self) -> String {
        let mut settings = self.settings.clone();
        if !["version", "path", "git"].iter().any(|key| settings.contains_key(*key)) {
            settings.insert("version".to_string(), Setting::Text("*".to_string()));
        }
        let mut out = String::from("{");
        for (i, (key, value)) in settings.iter().enumerate() {
            let _ = write!(out, "{} {key} = ", if i > 0 { "," } else { "" });
            value.write(&mut out);
        }
        out.push_str(" }");
        out
    }

    /// The request in a word or two.
    pub fn wanted(&self) -> String {
        let of = |key: &str| self.settings.get(key).and_then(Setting::text);
        match (of("path"), of("git"), of("version")) {
            (Some(path), ..) => path.to_string(),
            (_, Some(git), _) => git.to_string(),
            (.., Some(version)) => version.to_string(),
            _ => "any version".to_string(),
        }
    }

    /// The name of the crate where it comes from, if the notebook calls it by another one.
    pub fn package(&self) -> Option<&str> {
        self.settings.get("package").and_then(Setting::text)
    }

    /// Paths are the notebook's: cargo runs in another folder.
    pub fn resolve_path(&mut self, folder: &Path) {
        if let Some(Setting::Text(path)) = self.settings.get_mut("path") {
            let whole = folder.join(&*path);
            let whole: PathBuf = std::fs::canonicalize(&whole).unwrap_or(whole);
            *path = whole.display().to_string();
        }
    }

    /// Asked for once more: features come together, everything else is the newer request's.
    pub fn add(&mut self, newer: CrateRequest) {
        let source = |r: &CrateRequest| ["version", "path", "git"].iter().any(|key| r.settings.contains_key(*key));
        if source(&newer) {
            for key in ["version", "path", "git", "branch", "tag", "rev"] {
                self.settings.remove(key);
            }
        }
        for (key, value) in newer.settings {
            match (self.settings.get_mut(&key), value) {
                (Some(Setting::List(have)), Setting::List(more)) => {
                    have.extend(more.into_iter().filter(|item| !have.contains(item)).collect::<Vec<_>>());
                }
                (_, value) => drop(self.settings.insert(key, value)),
            }
        }
    }
}

/// The name and the request of one line, or what is wrong with it.
pub fn parse(line: &str) -> Result<(String, CrateRequest), String> {
    let mut reader = Reader { rest: line.trim() };
    let name = reader.name().ok_or_else(|| "a crate's name was expected".to_string())?;
    let mut request = CrateRequest::default();
    if let Some(version) = reader.rest.strip_prefix('@') {
        let version = version.trim();
        request.settings.insert("version".to_string(), Setting::Text(version.to_string()));
        return Ok((name, request));
    }
    if reader.at_end() {
        return Ok((name, request));
    }
    if !reader.take('=') {
        return Err(format!("`=` was expected after `{name}`, found `{}`", reader.rest));
    }
    if reader.take('{') {
        while !reader.take('}') {
            let key = reader.name().ok_or_else(|| format!("a setting was expected, found `{}`", reader.shown()))?;
            if !reader.take('=') {
                return Err(format!("`=` was expected after `{key}`, found `{}`", reader.shown()));
            }
            let value = reader.value()?;
            // As manifests of editions before 2024 have it: `default_features`.
            request.settings.insert(key.replace('_', "-"), value);
            if !reader.take(',') && !reader.rest.trim_start().starts_with('}') {
                return Err(format!("`,` or `}}` was expected, found `{}`", reader.shown()));
            }
        }
    } else {
        let value = reader.value()?;
        request.settings.insert("version".to_string(), value);
    }
    if reader.at_end() { Ok((name, request)) } else { Err(format!("`{}` is too much", reader.shown())) }
}

/// As [`parse`], and evcxr's shorter forms: `../a_crate` for a crate in a folder, seen from `folder`, and a line in
/// braces.
pub fn parse_in(line: &str, folder: &Path) -> Result<(String, CrateRequest), String> {
    let line = line.trim();
    if let Some(inner) = line.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return parse(inner);
    }
    let quoted = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let path = quoted.unwrap_or(line);
    if !path.starts_with(['.', '/', '~']) {
        return parse(line);
    }
    let whole = match (path.strip_prefix("~/"), onrush_wire::paths::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    };
    let manifest = whole.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).map_err(|e| format!("{} cannot be read: {e}", manifest.display()))?;
    let name = package_name(&text).ok_or_else(|| format!("{} names no package", manifest.display()))?;
    let path = ("path".to_string(), Setting::Text(whole.display().to_string()));
    Ok((name, CrateRequest { settings: BTreeMap::from([path]) }))
}

/// The `name` of `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let lines = manifest.lines().map(str::trim).skip_while(|line| !line.starts_with("[package]")).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    lines.find_map(|line| {
        let value = line.strip_prefix("name")?.trim_start().strip_prefix('=')?;
        match (Reader { rest: value }).value() {
            Ok(Setting::Text(name)) => Some(name),
            _ => None,
        }
    })
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn at_end(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty() || self.rest.starts_with('#') || self.rest.starts_with("//")
    }

    fn shown(&self) -> String {
        let rest = self.rest.trim();
        if rest.is_empty() { "the end of the line".to_string() } else { rest.chars().take(20).collect() }
    }

    fn take(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn name(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_string())
    }

    fn value(&mut self) -> Result<Setting, String> {
        if self.take('"') {
            // A string of TOML is one of JSON, for what names and versions hold.
            let end = self.rest.find('"').ok_or("a string does not end")?;
            let text = serde_json::from_str::<String>(&format!("\"{}\"", &self.rest[..end]));
            self.rest = &self.rest[end + 1..];
            return text.map(Setting::Text).map_err(|e| e.to_string());
        }
        if self.take('\'') {
            let end = self.rest.find('\'').ok_or("a string does not end")?;
            let text = self.rest[..end].to_string();
            self.rest = &self.rest[end + 1..];
            return Ok(Setting::Text(text));
        }
        if self.take('[') {
            let mut items = Vec::new();
            while !self.take(']') {
                items.push(self.value()?);
                if !self.take(',') && !self.rest.trim_start().starts_with(']') {
                    return Err(format!("`,` or `]` was expected, found `{}`", self.shown()));
                }
            }
            return Ok(Setting::List(items));
        }
        match self.name().as_deref() {
            Some(word @ ("true" | "false")) => Ok(Setting::Plain(word.to_string())),
            Some(word) => {
                let all = format!("{word}{}", self.rest.split([',', ' ', '}']).next().unwrap_or(""));
                Err(format!("`{all}` needs quotes: `\"{all}\"`"))
            }
            None => Err(format!("a value was expected, found `{}`", self.shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> String {
        let (name, request) = parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        format!("{name} = {}", request.code())
    }

    #[test]
    fn lines_are_cargos() {
        assert_eq!(code("serde"), "serde = { version = \"*\" }");
        assert_eq!(code("rand = \"0.9\"  # why"), "rand = { version = \"0.9\" }");
        assert_eq!(code("rand@0.9.1"), "rand = { version = \"0.9.1\" }");
        assert_eq!(
            code("serde = { version = '1', features = [\"derive\", \"rc\"], default-features = false }"),
            "serde = { default-features = false, features = [\"derive\", \"rc\"], version = \"1\" }"
        );
        assert_eq!(code("a = { git = \"https://x/y\", rev = \"12\" }"), "a = { git = \"https://x/y\", rev = \"12\" }");
        assert_eq!(code("b = { package = \"bee\", version = \"2\" }"), "b = { package = \"bee\", version = \"2\" }");
    }

    /// Forms of evcxr's documentation, and a key as manifests before 2024 have it.
    #[test]
    fn shorter_and_older_forms() {
        assert_eq!(
            code("num = { version = \"^0.2\", default_features = false }"),
            "num = { default-features = false, version = \"^0.2\" }"
        );
        let folder = std::env::temp_dir().join(format!("onrush-dep-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bee")).unwrap();
        std::fs::write(folder.join("bee/Cargo.toml"), "[lib]\nname = \"x\"\n[package]\nname = \"a-bee\" # it\n")
            .unwrap();
        for line in ["./bee", "\"./bee\"", &folder.join("bee").display().to_string()] {
            let (name, request) = parse_in(line, &folder).unwrap();
            assert_eq!(name, "a-bee");
            assert!(request.wanted().ends_with("/bee"), "{}", request.wanted());
        }
        assert_eq!(parse_in(".", &folder.join("bee")).unwrap().0, "a-bee");
        assert!(parse_in("./none", &folder).unwrap_err().contains("none/Cargo.toml cannot be read"));
        assert_eq!(parse_in("{ rand = \"0.7.3\" }", &folder).unwrap().0, "rand");
        assert_eq!(parse_in("rand", &folder).unwrap().0, "rand");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(parse("rand = 0.9").unwrap_err(), "`0.9` needs quotes: `\"0.9\"`");
        assert_eq!(parse("rand 0.9").unwrap_err(), "`=` was expected after `rand`, found `0.9`");
        assert_eq!(parse("rand = { version \"1\" }").unwrap_err(), "`=` was expected after `version`, found `\"1\" }`");
        assert!(parse("rand = \"1").unwrap_err().contains("does not end"));
        assert!(parse("").is_err());
    }

    #[test]
    fn features_come_together() {
        let (_, mut have) = parse("tokio = { version = \"1\", features = [\"rt\"] }").unwrap();
        have.add(parse("tokio = { features = [\"rt\", \"net\"] }").unwrap().1);
        assert_eq!(have.code(), "{ features = [\"rt\", \"net\"], version = \"1\" }");
        have.add(parse("tokio = { path = \"t\" }").unwrap().1);
        assert_eq!(have.code(), "{ features = [\"rt\", \"net\"], path = \"t\" }");
        have.resolve_path(Path::new("/none"));
        assert_eq!(have.wanted(), "/none/t");
    }
}
