//! `onrush doctor`: a health check of the installation, with advice. It only reads: it starts no session and builds
//! nothing.

mod find;

use std::path::Path;

use onrush_wire::paths;

use crate::{install, session};
use find::{disk_usage, gpu, megabytes, output_of};

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Good,
    /// Something is missing that only some need.
    Note,
    /// Without it nothing works.
    Bad,
}

/// One line, and what to do.
struct Finding {
    level: Level,
    subject: &'static str,
    text: String,
    help: Option<String>,
}

fn good(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { level: Level::Good, subject, text: text.into(), help: None }
}

fn note(subject: &'static str, text: impl Into<String>, help: impl Into<String>) -> Finding {
    Finding { level: Level::Note, subject, text: text.into(), help: Some(help.into()) }
}

fn bad(subject: &'static str, text: impl Into<String>, help: impl Into<String>) -> Finding {
    Finding { level: Level::Bad, subject, text: text.into(), help: Some(help.into()) }
}

/// Prints the report; false if something necessary is missing.
pub fn report() -> bool {
    println!("onrush {}\n", env!("ONRUSH_VERSION"));
    let mut findings = rust();
    findings.extend(session_findings());
    findings.extend(devices());
    findings.extend(jupyter());
    findings.extend(folders());
    for finding in &findings {
        let mark = match finding.level {
            Level::Good => "ok",
            Level::Note => "--",
            Level::Bad => "!!",
        };
        print_wrapped(&format!("{mark}  {:<9} ", finding.subject), &finding.text);
        if let Some(help) = &finding.help {
            print_wrapped(&format!("{:>14}", "-> "), help);
        }
    }
    let missing: Vec<&str> = findings.iter().filter(|f| f.level == Level::Bad).map(|f| f.subject).collect();
    println!();
    if missing.is_empty() {
        println!("Everything necessary is there.");
    } else {
        println!("Missing: {}. The lines marked !! say what to do.", missing.join(", "));
    }
    missing.is_empty()
}

/// Wraps at 80 columns; long words, which are paths, stay whole.
fn print_wrapped(lead: &str, text: &str) {
    let indent = lead.chars().count();
    let mut line = lead.to_string();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > 80 {
            println!("{line}");
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    println!("{line}");
}

fn rust() -> Vec<Finding> {
    let cache = paths::cache_dir();
    let mut findings = Vec::new();
    let (mut stand_in, mut no_linker) = (None, None);
    match onrush_cell::prelude_build::toolchain(&cache) {
        Ok(toolchain) => {
            stand_in.clone_from(&toolchain.linker);
            no_linker.clone_from(&toolchain.no_linker);
            findings.push(good("rustc", format!("{} in {}", toolchain.version(), toolchain.sysroot.display())));
            findings.push(match onrush_cell::prelude_build::built(&cache, &toolchain) {
                true => good("prelude", format!("built for rustc {}", toolchain.version())),
                false => note(
                    "prelude",
                    format!("not built yet for rustc {}: the first cell builds it (some minutes)", toolchain.version()),
                    "build it now with `onrush kit`",
                ),
            });
        }
        Err(diagnostic) => findings.push(bad("rustc", diagnostic.message, diagnostic.help.join("; "))),
    }
    findings.extend(onrush_cell::prelude_build::mismatch_of_packages().map(|text| {
        bad("packages", text, "install all packages in the same version: `pip install -U 'onrush-kernel[toolchain]'`")
    }));
    const HELP: &str = "install a C compiler: `sudo apt install build-essential`, `sudo dnf install gcc`";
    findings.push(match (stand_in, no_linker, output_of("cc", &["--version"])) {
        (Some(_), ..) => note("linker", "rust-lld; crates of `:dep` that compile C need a C compiler", HELP),
        (None, Some(reason), _) => {
            let text = "`cc` or the C library's files for it were not found: rustc links cells with them";
            bad("linker", format!("{text}; {reason}"), HELP)
        }
        (None, None, Some(text)) => good("linker", format!("cc: {}", text.lines().next().unwrap_or("").trim())),
        (None, None, None) => bad("linker", "`cc` was not found: rustc links cells with it", HELP),
    });
    findings
}

fn session_findings() -> Vec<Finding> {
    let mut findings = Vec::new();
    match session::executable() {
        Ok(path) => findings.push(good("session", format!("program {}", path.display()))),
        Err(diagnostic) => findings.push(bad("session", diagnostic.message, diagnostic.help.join("; "))),
    }
    let socket = paths::session_socket();
    let wanted = std::env::var(paths::ENGINE).unwrap_or_else(|_| "auto".into());
    findings.push(match session::status(&socket) {
        Ok((status, engine)) => good(
            "running",
            format!(
                "yes (process {}), engine {engine}, {} notebooks, {} frames, {} of {} held",
                status.pid,
                status.notebooks.len(),
                status.frames,
                megabytes(status.resident_bytes),
                megabytes(status.memory_limit),
            ),
        ),
        Err(_) if !socket.exists() => good("running", format!("no session; one starts on demand (engine {wanted})")),
        Err(diagnostic) => note(
            "running",
            diagnostic.message,
            format!("end its process and remove {}; a new one starts on demand", socket.display()),
        ),
    });
    findings
}

/// The devices that frames can run on, as the session's program finds them. Without that program, as far as files tell.
fn devices() -> Vec<Finding> {
    let probed = session::executable().ok().and_then(|program| output_of(&program.to_string_lossy(), &["probe"]));
    let mut findings = Vec::new();
    let mut gpu_works = false;
    for line in probed.iter().flat_map(|text| text.lines()) {
        let [what, state, sentence, help] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        match (what, state) {
            ("GPU", "works") => {
                gpu_works = true;
                findings.push(good("GPU", sentence));
            }
            ("NVRTC", "works") if gpu_works => findings.push(good("NVRTC", sentence)),
            ("NVRTC", _) if gpu_works => {
                findings.push(note("NVRTC", format!("{sentence}: frames are computed on the CPU"), help));
            }
            ("emulated device", "works") => findings.push(good("emulated", sentence)),
            ("emulated device", _) => findings.push(note("emulated", sentence, help)),
            _ => {}
        }
    }
    if !gpu_works {
        findings.insert(0, graphics());
    }
    findings
}

fn graphics() -> Finding {
    let found = gpu(Path::new("/"));
    match (found.device, found.driver_library, found.description) {
        (true, Some(_), Some(description)) => good("GPU", description),
        (true, Some(library), None) => good("GPU", format!("a device and its driver ({})", library.display())),
        (true, None, _) => note(
            "GPU",
            "a device is there, but libcuda.so.1 is not: frames are computed on the CPU",
            "install NVIDIA's driver for this kernel version",
        ),
        (false, Some(library), _) => note(
            "GPU",
            format!(
                "the driver's library is there ({}), but no device: frames are computed on the CPU",
                library.display()
            ),
            "in a container, start it with access to the GPU (`--gpus all`); else check `nvidia-smi`",
        ),
        (false, None, _) => good("GPU", "none: frames are computed on the CPU"),
    }
}

fn jupyter() -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.push(match output_of("jupyter", &["--version"]) {
        Some(text) => {
            let lab = text.lines().find_map(|line| line.strip_prefix("jupyterlab")).map(|v| v.trim_matches([' ', ':']));
            match lab {
                Some(version) if !version.starts_with("not") => good("Jupyter", format!("JupyterLab {version}")),
                _ => note("Jupyter", "found, without JupyterLab", "install it: `pip install jupyterlab`"),
            }
        }
        None => note(
            "Jupyter",
            "not found on PATH; `onrush run` works without it",
            "install it: `pip install jupyterlab`, or activate the Python environment that has it",
        ),
    });
    let installed = install::installed();
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    if installed.is_empty() {
        findings.push(note("kernel", "not installed for Jupyter", "`onrush install`"));
    }
    for folder in installed {
        let program = program_of(&folder);
        findings.push(match program {
            Some(program) if !Path::new(&program).is_file() => note(
                "kernel",
                format!("{} starts {program}, which is not there", folder.display()),
                "`onrush install` writes it anew",
            ),
            Some(program) if own.as_deref() != Some(Path::new(&program)) => {
                good("kernel", format!("{} starts another onrush: {program}", folder.display()))
            }
            Some(_) => good("kernel", format!("installed in {}", folder.display())),
            None => note("kernel", format!("{} is damaged", folder.display()), "`onrush install` writes it anew"),
        });
    }
    if let Some(folder) = install::extension::installed() {
        findings.push(good("extension", format!("installed in {}", folder.display())));
    }
    findings.extend(install::extension::lacking(None).into_iter().map(|(what, help)| note("extension", what, help)));
    findings
}

/// The first word of a kernelspec's command. The kernelspec of a wheel names the program by the kernelspec's folder.
fn program_of(folder: &Path) -> Option<String> {
    let spec: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("kernel.json")).ok()?).ok()?;
    let program = spec["argv"][0].as_str()?.replace("{resource_dir}", &folder.display().to_string());
    Some(std::fs::canonicalize(&program).map_or(program, |path| path.display().to_string()))
}

fn folders() -> Vec<Finding> {
    let cache = paths::cache_dir();
    let runtime = paths::runtime_dir();
    let mut findings = vec![match paths::private_dir(&cache).and_then(|()| find::is_writable(&cache)) {
        Ok(()) => good("cache", format!("{} ({})", cache.display(), megabytes(disk_usage(&cache)))),
        Err(error) => bad(
            "cache",
            format!("{} cannot be used: {error}", cache.display()),
            format!("make it writable, or set {} to a folder that is", paths::CACHE_DIR),
        ),
    }];
    findings.extend(paths::cache_notice().map(|notice| {
        note("cache", notice, format!("make the home folder yours alone (`chmod go-w`), or set {}", paths::CACHE_DIR))
    }));
    findings.push(match paths::private_dir(&runtime) {
        Ok(()) => good("sockets", runtime.display().to_string()),
        Err(error) => bad(
            "sockets",
            format!("{} cannot be used: {error}", runtime.display()),
            format!("set {} to a folder of your own", paths::RUNTIME_DIR),
        ),
    });
    findings
}
