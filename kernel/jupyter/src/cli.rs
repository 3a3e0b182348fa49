//! The command line: subcommands, options and the exit status. 0: success; 1: failure, with a message; 2: wrong usage.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

use crate::options::{CellArgs, EngineArgs, settings};
use crate::{cluster, doctor, install, kernel, prelude_build, run, session};

/// Rust notebooks on a persistent dataframe session: a kernel for Jupyter
#[derive(Parser)]
#[command(name = "onrush", version = env!("ONRUSH_VERSION"), max_term_width = 80)]
#[command(after_help = "\
A first start:
  onrush install          make the kernel known to Jupyter
  onrush doctor           see what is there and what is missing
  onrush run IN.ipynb     run a notebook without Jupyter

Environment: ONRUSH_ENGINE (as --engine), ONRUSH_CELL_MEMORY (as --cell-memory),
ONRUSH_DEVICE_MEMORY (as --device-memory), ONRUSH_MEMORY (limit of the session,
such as 8G), ONRUSH_CACHE_DIR and ONRUSH_RUNTIME_DIR (where files are kept).")]
struct Cli {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Serve one notebook (Jupyter starts this)
    Kernel {
        /// The file in which Jupyter writes ports and key
        #[arg(long, short = 'f', value_name = "FILE")]
        connection_file: PathBuf,
        #[command(flatten)]
        engine: EngineArgs,
        #[command(flatten)]
        cells: CellArgs,
    },
    /// Make the kernel known to Jupyter as "Rust (Onrush)"
    Install(install::Location),
    /// Remove the kernel from Jupyter
    Uninstall(install::Location),
    /// Run a notebook without Jupyter
    ///
    /// Exits with status 1 if a cell fails. A cell with the tag `raises-exception` may fail.
    Run(run::Arguments),
    /// Start, ask or stop the session by hand (`onrush session --help`)
    #[command(disable_help_flag = true)]
    Session {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Start the workers of a cluster, here or on other machines
    Cluster {
        #[command(subcommand)]
        command: cluster::Command,
    },
    /// Build the prelude for the installed rustc, so that the first notebook starts at once
    Kit,
    /// Check this machine and say how to fix what is missing
    Doctor,
}

pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // The processes that this one starts take their settings from its environment.
    let settings = match &cli.command {
        Commands::Kernel { engine, cells, .. } => settings(engine, cells),
        Commands::Run(arguments) => settings(&arguments.engine, &arguments.cells),
        _ => Vec::new(),
    };
    if settings.iter().any(|(name, value)| std::env::var_os(name).is_none_or(|set| set != *value)) {
        return start_with(&settings);
    }
    let result = match cli.command {
        Commands::Kernel { connection_file, .. } => kernel::serve(&connection_file).map_err(|e| e.to_string()),
        Commands::Install(location) => install::install(&location).map_err(|e| e.to_string()),
        Commands::Uninstall(location) => install::uninstall(&location).map_err(|e| e.to_string()),
        Commands::Run(arguments) => match run::run(&arguments) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => Err(error.to_string()),
        },
        Commands::Session { arguments } => exec_session(&arguments),
        Commands::Cluster { command } => cluster::run(&command),
        Commands::Kit => prelude_build::build(),
        Commands::Doctor => return if doctor::report() { ExitCode::SUCCESS } else { ExitCode::FAILURE },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("onrush: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Starts this command anew with settings in its environment, which every process below it then inherits.
fn start_with(settings: &[(&str, &str)]) -> ExitCode {
    let error = match std::env::current_exe() {
        Ok(executable) => {
            Command::new(executable).args(std::env::args_os().skip(1)).envs(settings.iter().copied()).exec()
        }
        Err(error) => error,
    };
    eprintln!("onrush: the command could not be started anew with {settings:?}: {error}");
    ExitCode::FAILURE
}

fn exec_session(arguments: &[OsString]) -> Result<(), String> {
    let executable = session::executable().map_err(|diagnostic| diagnostic.to_string())?;
    let error = Command::new(&executable).args(arguments).exec();
    Err(format!("{} could not be started: {error}", executable.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_of_the_session_are_passed_on() {
        let cli = Cli::try_parse_from(["onrush", "session", "status", "--json"]).unwrap();
        let Commands::Session { arguments } = cli.command else { panic!("not the session command") };
        assert_eq!(arguments, ["status", "--json"]);
    }
}
