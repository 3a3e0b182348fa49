//! The front end's extension as files: what `build.rs` made of the sources in `ts/`. Nothing here runs in a kernel.

/// Path below the folder of the extension, and contents. Empty if the build found no node: `MISSING` says why.
pub const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The reason for missing files; empty if there are files.
pub const MISSING: &str = include_str!(concat!(env!("OUT_DIR"), "/missing"));

/// The extension's name, and its folder below `labextensions`.
pub const NAME: &str = "@onrush/jupyterlab";

/// The script of a dashboard's page; empty if there are no files.
pub fn page_script() -> &'static str {
    let file = FILES.iter().find(|(path, _)| *path == "static/standalone.js");
    file.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_a_file_that_is_there() {
        assert_eq!(MISSING, "");
        let file = |name: &str| FILES.iter().find(|(path, _)| *path == name).map(|(_, bytes)| *bytes).unwrap();
        let description = std::str::from_utf8(file("package.json")).unwrap();
        let (_, rest) = description.split_once("\"load\": \"").unwrap();
        let (entry, _) = rest.split_once('"').unwrap();
        assert!(std::str::from_utf8(file(entry)).unwrap().contains(&format!("_JUPYTERLAB[\"{NAME}\"]")));
    }
}
