//! `cargo xtask corpus`: public corpora of files and queries, read and answered by the product. The program that judges
//! the answers is `tests/corpus/run.py`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::process::{self, Failure};
use crate::workspace::Workspace;
use crate::{bench, lab, python};

#[derive(Args)]
pub struct Corpora {
    /// Folder of the clones, each under the name of its repository [default: ONRUSH_CORPORA]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Run one corpus only, or a part of it, such as duckdb/test/sql/window
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Limit for each corpus of queries [default: 600]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u32>,
    /// Engine that answers queries [default: cpu]
    #[arg(long)]
    engine: Option<String>,
    /// Write each answer that is not right there, a JSON list for each line
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
}

/// Fails if an answer is wrong.
pub fn run(workspace: &Workspace, options: &Corpora) -> Result<(), Failure> {
    let start = Instant::now();
    let data = match &options.data {
        Some(folder) => folder.clone(),
        None => std::env::var_os("ONRUSH_CORPORA").filter(|v| !v.is_empty()).map(PathBuf::from).ok_or_else(|| {
            Failure::new(
                "--data FOLDER or ONRUSH_CORPORA must name the folder of the corpora\n\
                 help: with an empty folder, the command says where each corpus can be cloned from",
            )
        })?,
    };
    lab::check_tools(workspace)?;
    python::check(workspace)?;
    process::stage(start, "Building, and the Python environment");
    lab::build(workspace)?;
    bench::build_engine(workspace)?;
    python::prepare(workspace, &[python::LAB, python::TESTS])?;
    process::run("onrush kit", workspace.command(workspace.binary("onrush")).arg("kit"))?;

    process::stage(start, "Reading and answering the corpora");
    let mut program = workspace.command(python::python(workspace));
    program.arg(workspace.root.join("tests/corpus/run.py")).arg("--data").arg(absolute(&data)?);
    program.arg("--onrush").arg(workspace.binary("onrush"));
    program.arg("--oracle").arg(workspace.binary("onrush-oracle"));
    if let Some(name) = &options.only {
        program.arg("--only").arg(name);
    }
    if let Some(seconds) = options.seconds {
        program.arg("--seconds").arg(seconds.to_string());
    }
    if let Some(engine) = &options.engine {
        program.arg("--engine").arg(engine);
    }
    if let Some(list) = &options.list {
        program.arg("--list").arg(absolute(list)?);
    }
    process::run("the comparison of the corpora", &mut program)
}

/// The programs run in the root of the clone, and paths are relative to the folder of the call.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|e| Failure::io(path.display(), e))
}
