//! One package for pip: a folder with the files of its wheel, its description, and the archive. The format:
//! <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{NAME, TRIPLE, make, remove, write};
use crate::process::{self, Failure};
use crate::workspace::Workspace;

/// The largest file of a project on the Python package index, in bytes.
const LARGEST: u64 = 100_000_000;

/// The level of compression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// For an index.
    Small,
    /// For a test on this machine. A wheel may be larger than the index allows.
    Fast,
}

/// The fields of a description that differ between packages.
pub struct Description<'a> {
    pub summary: &'a str,
    /// A licence expression of SPDX.
    pub license: &'a str,
    /// Fields with a value, such as `Requires-Dist: numpy`.
    pub fields: Vec<String>,
    /// The text of the package's page, in Markdown.
    pub page: String,
}

pub struct WheelFolder {
    pub name: &'static str,
    pub version: String,
    tree: PathBuf,
}

impl WheelFolder {
    /// A package without files.
    pub fn new(workspace: &Workspace, name: &'static str, version: &str) -> Result<Self, Failure> {
        let tree = workspace.target.join("wheel").join(name);
        remove(&tree)?;
        make(&tree)?;
        Ok(WheelFolder { name, version: version.to_string(), tree })
    }

    fn stem(&self) -> String {
        format!("{}-{}", self.name.replace('-', "_"), self.version)
    }

    /// The folder of the files that Python imports.
    pub fn root(&self) -> &Path {
        &self.tree
    }

    /// The folder of the files that are installed below the prefix (`data`) and next to Python (`scripts`).
    pub fn data(&self) -> PathBuf {
        self.tree.join(format!("{}.data", self.stem()))
    }

    pub fn description(&self) -> PathBuf {
        self.tree.join(format!("{}.dist-info", self.stem()))
    }

    /// Copies a licence into the description.
    pub fn license(&self, from: &Path, name: &str) -> Result<(), Failure> {
        let folder = self.description().join("licenses");
        make(&folder)?;
        fs::copy(from, folder.join(name)).map(drop).map_err(|e| Failure::io(from.display(), e))
    }

    /// Writes a bill of materials where PEP 770 says.
    pub fn bill(&self, bill: &Value) -> Result<(), Failure> {
        let folder = self.description().join("sboms");
        make(&folder)?;
        write(&folder.join(format!("{}.cdx.json", self.name)), &format!("{bill:#}\n"))
    }

    /// Writes the description and packs the wheel into `dist`. `glibc`: the oldest minor version of glibc 2 that the
    /// files run with.
    pub fn pack(
        self,
        workspace: &Workspace,
        description: &Description<'_>,
        glibc: u32,
        compression: Compression,
    ) -> Result<PathBuf, Failure> {
        let tag = format!("py3-none-manylinux_2_{glibc}_x86_64");
        self.describe(description, &tag)?;
        let folder = workspace.root.join("dist");
        make(&folder)?;
        // A call packs the kernel first.
        if self.name == NAME {
            remove_earlier(&folder)?;
        }
        let wheel = folder.join(format!("{}-{tag}.whl", self.stem()));
        archive(workspace, &self.tree, &wheel, compression)?;
        let size = fs::metadata(&wheel).map_err(|e| Failure::io(wheel.display(), e))?.len();
        println!("{:>6.1} MB  {}", size as f64 / 1e6, wheel.display());
        if compression == Compression::Small && size > LARGEST {
            return Err(Failure::new(format!(
                "{} has {:.1} MB, and a package index takes {} MB",
                wheel.display(),
                size as f64 / 1e6,
                LARGEST / 1_000_000
            )));
        }
        if compression == Compression::Fast {
            check_repeatable(workspace, &self.tree, &wheel)?;
        }
        remove(&self.tree)?;
        Ok(wheel)
    }

    /// The fields of the package: <https://packaging.python.org/en/latest/specifications/core-metadata/>.
    fn describe(&self, description: &Description<'_>, tag: &str) -> Result<(), Failure> {
        let folder = self.description();
        make(&folder)?;
        let mut licenses: Vec<String> = fs::read_dir(folder.join("licenses"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| format!("License-File: {}", entry.file_name().to_string_lossy()))
            .collect();
        licenses.sort();
        let mut fields = vec![
            "Metadata-Version: 2.4".to_string(),
            format!("Name: {}", self.name),
            format!("Version: {}", self.version),
            format!("Summary: {}", description.summary),
            format!("License-Expression: {}", description.license),
        ];
        fields.extend(licenses);
        fields.push("Classifier: Operating System :: POSIX :: Linux".to_string());
        fields.push("Classifier: Programming Language :: Rust".to_string());
        fields.push("Requires-Python: >=3.9".to_string());
        fields.extend(description.fields.iter().cloned());
        fields.push("Description-Content-Type: text/markdown".to_string());
        write(&folder.join("METADATA"), &format!("{}\n\n{}", fields.join("\n"), description.page))?;
        let wheel = format!("Wheel-Version: 1.0\nGenerator: cargo xtask wheel\nRoot-Is-Purelib: false\nTag: {tag}\n");
        write(&folder.join("WHEEL"), &wheel)
    }
}

/// Removes the wheels of earlier calls from the folder that they are written to. One of another version or with another
/// tag would be installed together with the new ones.
pub fn remove_earlier(folder: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.starts_with("onrush_kernel-") || name.starts_with("onrush_toolchain_");
        if is_ours && name.ends_with(".whl") {
            fs::remove_file(entry.path()).map_err(|e| Failure::io(entry.path().display(), e))?;
        }
    }
    Ok(())
}

fn archive(workspace: &Workspace, tree: &Path, wheel: &Path, compression: Compression) -> Result<(), Failure> {
    let level = match compression {
        Compression::Small => "9",
        Compression::Fast => "1",
    };
    let mut pack = workspace.command("python3");
    process::run("wheel.py", pack.arg(workspace.root.join("xtask/wheel.py")).arg(tree).arg(wheel).arg(level))
}

/// Packs small packages again: the archive depends on the files alone. Large ones go the same way, and take long.
fn check_repeatable(workspace: &Workspace, tree: &Path, wheel: &Path) -> Result<(), Failure> {
    let read = |path: &Path| fs::read(path).map_err(|e| Failure::io(path.display(), e));
    let first = read(wheel)?;
    if first.len() as u64 > LARGEST {
        return Ok(());
    }
    let again = wheel.with_extension("again");
    archive(workspace, tree, &again, Compression::Fast)?;
    let is_same = read(&again)? == first;
    fs::remove_file(&again).map_err(|e| Failure::io(again.display(), e))?;
    if is_same {
        Ok(())
    } else {
        Err(Failure::new(format!("{}: two archives of the same files differ", wheel.display())))
    }
}

/// The largest minor version of glibc 2 that the programs and shared objects of a folder name in their symbols.
pub fn glibc_of_folder(folder: &Path) -> Result<u32, Failure> {
    let mut needed = 0;
    for entry in fs::read_dir(folder).map_err(|e| Failure::io(folder.display(), e))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            needed = needed.max(glibc_of_folder(&path)?);
        } else if !path.extension().is_some_and(|extension| extension == "rlib" || extension == "rmeta") {
            needed = needed.max(glibc_of(&fs::read(&path).map_err(|e| Failure::io(path.display(), e))?));
        }
    }
    Ok(needed)
}

/// The largest version of glibc in the names of a program's dynamic symbols.
pub fn glibc_of(program: &[u8]) -> u32 {
    let minor = |name: &[u8]| {
        let version = std::str::from_utf8(name.strip_prefix(b"GLIBC_2.")?).ok()?;
        version.split('.').next()?.parse().ok()
    };
    program.split(|byte| *byte == 0).filter_map(minor).max().unwrap_or(0)
}

/// A bill of materials of CycloneDX 1.5, without a time and a serial number: it depends on its contents alone.
pub fn bill_of(name: &str, version: &str, components: Vec<Value>, dependencies: Vec<Value>) -> Value {
    serde_json::json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": format!("pkg:pypi/{name}@{version}"),
                "name": name,
                "version": version,
                "purl": format!("pkg:pypi/{name}@{version}"),
            },
            "properties": [{ "name": "cargo:target", "value": TRIPLE }],
        },
        "components": components,
        "dependencies": dependencies,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_of_other_projects_stay() {
        let folder = std::env::temp_dir().join(format!("onrush-dist-{}", std::process::id()));
        remove_earlier(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        let theirs = ["onrush-1.0-py3-none-any.whl", "onrush_kernel-0.1.0.tar.gz"];
        let ours = ["onrush_kernel-0.1.0-py3-none-any.whl", "onrush_toolchain_prelude-0.0.9-py3-none-any.whl"];
        for name in theirs.iter().chain(&ours) {
            fs::write(folder.join(name), "").unwrap();
        }
        remove_earlier(&folder).unwrap();
        let is_there = |name: &&str| folder.join(name).is_file();
        assert!(theirs.iter().all(is_there) && !ours.iter().any(is_there));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_newest_version_of_glibc_counts() {
        assert_eq!(glibc_of(b"\x7fELF\0memcpy\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.9\0GLIBC_PRIVATE\0"), 28);
        assert_eq!(glibc_of(b"\x7fELF\0no versions\0"), 0);
    }
}
