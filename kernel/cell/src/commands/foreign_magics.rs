//! Commands of IPython and evcxr, and what does their work here. Nothing of this is carried out.

/// Name and advice. Commands that have no answer here are not listed: the nearest name of ours is shown instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("%time", "write `%%time` as the first line of a cell: it times the whole cell"),
    ("%timeit", TIMEIT),
    ("%%timeit", TIMEIT),
    ("%matplotlib", "nothing has to be switched on: a plot as the last expression of a cell is shown"),
    ("%pylab", "nothing has to be switched on: a plot as the last expression of a cell is shown"),
    ("%config", "nothing has to be switched on: tables and plots are shown as they are"),
    ("!pip", INSTALL),
    ("%pip", INSTALL),
    ("%conda", "`:dep NAME` adds a crate to Rust cells; a terminal adds packages to the environment of Python"),
    ("!conda", "`:dep NAME` adds a crate to Rust cells; a terminal adds packages to the environment of Python"),
    ("%%bash", "`!COMMAND` runs a shell command, one line each"),
    ("%%sh", "`!COMMAND` runs a shell command, one line each"),
    ("%sh", "`!COMMAND` runs a shell command"),
    ("%system", "`!COMMAND` runs a shell command"),
    ("%ls", "`!ls` runs it in a shell"),
    ("%pwd", "`!pwd` runs it in a shell"),
    ("%cd", CHDIR),
    ("!cd", CHDIR),
    ("%env", "`std::env::var(\"NAME\")` reads a variable of the environment"),
    ("%who", "`:vars` lists the variables"),
    ("%whos", "`:vars` lists the variables"),
    ("%reset", "`:clear` forgets all variables and items"),
    ("%lsmagic", "`:help` lists what there is"),
    ("%magic", "`:help` lists what there is"),
    ("%history", "the history is in the notebook, and behind the arrow keys of a console"),
    ("%load_ext", "there are no extensions to load: `%%sql` and plots are there"),
    ("%autoreload", "cells that define items are run again to change them"),
    ("%sql", "`%%sql` takes the rest of the cell; inside Rust it is `sql(\"select …\")`"),
    ("%%latex", "`%%markdown` shows formulas between `$` signs"),
    ("%%writefile", "`std::fs::write(\"name\", text)?` writes a file"),
    ("%%capture", "a `;` after the last expression shows nothing"),
    ("%%python3", "`%%python` runs the rest of the cell as Python"),
    ("%%py", "`%%python` runs the rest of the cell as Python"),
    ("%python", "`%%python` runs the rest of the cell as Python"),
    ("%%rust", "every cell is Rust: leave the line out"),
    ("%debug", "`dbg!(value)` shows a value with its place"),
    ("%prun", "`%%time` times a cell, `:timing` shows where the time of each cell goes"),
    (":efmt", "an error that ends a cell is shown with its text and its sources, always"),
    (":sccache", "every compiled cell and crate is kept by itself; there is nothing to switch on"),
    (":cache", "every compiled cell and crate is kept by itself; there is nothing to switch on"),
    (
        ":toolchain",
        "cells are compiled by the `rustc` that was there when the kernel was started: choose it with `rustup default NAME` and restart the kernel",
    ),
    (":fmt", "`Debug` shows a value; `format!(\"{value:#x}\")` as the last expression shows it in another form"),
    (":version", "`!onrush --version` and `!rustc --version` say the versions"),
    (":clear_cache", CACHE),
    (":load_config", "there is no start-up file: put `:dep` and `:opt` lines into the first cell"),
    (":time_passes", "`:timing` shows where the time of each cell goes"),
    (":internal_debug", "`:timing` shows where the time of each cell goes"),
    (":codegen_backend", "`:opt 0` compiles fastest"),
    (":preserve_vars_on_panic", "variables always outlive a panic: they are as before the cell"),
    (":types", "`:vars` shows the types of all variables, `:type NAME` that of one"),
    (":linker", "the linker is chosen by itself; `onrush doctor` shows which"),
    (":offline", "`:dep` asks the registry only for what is not on this machine"),
    (":explain", "`!rustc --explain E0382` explains an error code"),
    (":last_error_json", "errors are shown whole, under the cell"),
    (":last_compile_dir", "compiled cells lie in the cache folder that `onrush doctor` shows"),
    (":build_num_threads", "crates are built on all processors"),
    (":env", "`std::env::set_var` sets a variable of the environment, in an `unsafe` block"),
    (":quit", "the notebook's menu shuts the kernel down"),
    (":q", "the notebook's menu shuts the kernel down"),
    (":restart", "`:restart-cells` starts a new cell process; the notebook's menu restarts the whole kernel"),
    (":doc", "Shift-Tab after a name shows its documentation"),
    (":sql", "`%%sql` takes the rest of the cell; inside Rust it is `sql(\"select …\")`"),
    (":time", "write `%%time` as the first line of a cell"),
];

const CACHE: &str = "the cache stays below its limit by itself; with no notebook open, deleting the folder that `onrush doctor` shows clears it";
const INSTALL: &str = "`:dep NAME` adds a crate to Rust cells; a `%%python` cell with `import subprocess, sys` installs a package: `subprocess.check_call([sys.executable, \"-m\", \"pip\", \"install\", \"NAME\"])`";
const TIMEIT: &str = "`%%time` times one run of a cell; for many runs write the loop: `for _ in 0..100 { … }`";
const CHDIR: &str =
    "each `!` line runs in a separate shell: `std::env::set_current_dir(\"folder\")?` changes the folder of the cells";

/// Advice for a command that exists elsewhere. A shell command is looked up by its first word.
pub fn advice(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        for (i, (name, advice)) in ELSEWHERE.iter().enumerate() {
            assert!(!ELSEWHERE[..i].iter().any(|(earlier, _)| earlier == name), "{name} twice");
            assert!(!advice.ends_with('.'), "{name}: a help does not end in a full stop");
        }
        assert!(advice("%TimeIt").is_some() && advice("%nonsense").is_none());
    }
}
