//! Lines of a cell that are not Rust: commands such as `:vars`, `!command`, and cell magics such as `%%sql`.
//!
//! This module parses the lines. The executor runs the commands.

mod foreign_magics;
pub mod python;
mod rust;

use onrush_wire::{Class, Diagnostic, Span};

use crate::cuda::Target;
use crate::reference;
use python::PythonCell;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub line: u32,
    pub kind: CommandKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    Vars,
    Stale,
    /// A command or a function; `None` lists the commands.
    Help(Option<String>),
    Clear,
    RestartCells,
    Top,
    Type(String),
    Timing,
    /// `None` asks what it is.
    Opt(Option<u8>),
    /// `None` asks what it is.
    Engine(Option<String>),
    /// The address of a cluster.
    Cluster(String),
    /// A line as of `[dependencies]`; an empty one asks what there is.
    Dep(String),
    Shell(String),
    /// `:test`, with a part of the names if some are meant.
    Test(String),
    /// `:export crate`, with a folder if one is given.
    Export(Option<String>),
}

impl CommandKind {
    /// Whether it is about the code of its cell, wherever it stands.
    fn prepares(&self) -> bool {
        matches!(self, CommandKind::Opt(_) | CommandKind::Timing | CommandKind::Dep(_))
    }
}

/// A cell taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellParts {
    /// Carried out before the code: those above its first line, and those that are about it.
    pub before: Vec<Command>,
    /// Carried out if the code has succeeded.
    pub after: Vec<Command>,
    /// The Rust code, with the lines of commands blank.
    pub code: String,
    /// `%%time`.
    pub timed: bool,
    /// `%%html` and `%%markdown`: the MIME type and the text.
    pub shown: Option<(&'static str, String)>,
    /// `%%sql`: the line of the magic.
    pub query: Option<u32>,
    /// `%%python`: the code is Python.
    pub python: Option<PythonCell>,
}

pub const HELP: &str = "\
A cell is Rust: items, `let`s, statements, and a last expression that is shown.
Variables and items stay for later cells. `?` ends a cell with the error's text;
a cell that fails leaves every variable as it was.

Look
  :vars            variables: type, value, size, and the cell that made them
  :stale           cells whose outputs do not follow from the cells above them
  :type NAME       the type of a variable
  NAME?            what a name is: type, signature, documentation
  :engine          where frames are computed, and what the session holds
  :top             the session's tasks, and its memory by notebook
  :cluster ADDRESS the workers at `onrush://host:port,…`, and what they run
  :timing          say after each cell where its time went (again: stop)
  :test [NAME]     run the cells' `#[test]` functions, as `cargo test` does
  :help [WORD]     this text; of a WORD the reference: `:help group_by`; also
                   for names of pandas, Polars and SQL: `:help fillna`
Change
  :dep NAME        a crate for this notebook, as cargo takes it: `:dep regex`,
                   `:dep rand = \"0.9\"`, features, git and paths; alone: the list
  :opt [0-3]       optimisation from here on; `#![opt(3)]` for its cell alone
  :clear           forget all variables and items
  :restart-cells   a new cell process: variables and items go, the session stays
  !COMMAND         run a shell command in the notebook's folder
  :export crate [FOLDER]
                   the cells that succeeded, as a cargo project
At the top of a cell
  %%time           say how long the cell takes, and of which processor time
  %%sql [NAME]     the rest is a query over frames by their variables' names;
                   its result is shown, and kept as NAME
  %%cuda [check]   the rest is CUDA C++: each `__global__` function becomes one
                   of Rust, launched as name(blocks, threads, arguments);
                   `check` finds races and wrong accesses, also with a GPU
  %%python         the rest is Python, whose variables stay; `-i a,b` gives it
                   frames as tables of `--as polars`, `pandas` or `pyarrow`;
                   `-o c` makes a frame of its table `c`
  %%html           the rest is shown as HTML
  %%markdown       the rest is shown as Markdown
In the code
  input!(\"name: \")   ask for a line; password!(\"token: \") does not show it
  show!(a, b)      show values; show_html(text), show_markdown, show_latex,
                   show_svg, show_png(bytes): rich output, as IPython.display
  read_csv(\"…\"), read_parquet(\"…\"), frame! { … }, x!(…), sql(\"…\")   frames
";

const NAMES: [&str; 14] = [
    ":vars",
    ":stale",
    ":top",
    ":help",
    ":clear",
    ":restart-cells",
    ":type",
    ":timing",
    ":opt",
    ":engine",
    ":cluster",
    ":dep",
    ":export",
    ":test",
];
const MAGICS: [&str; 6] = ["%%time", "%%sql", "%%cuda", "%%python", "%%html", "%%markdown"];

/// Commands and what `:help` says of them.
pub fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().map(|name| (*name, help(name)))
}

/// Magics of whole cells.
pub fn magics() -> impl Iterator<Item = (&'static str, &'static str)> {
    MAGICS.iter().map(|name| (*name, help(name)))
}

fn help(name: &str) -> &'static str {
    let line = HELP.lines().find(|line| line.split_whitespace().next() == Some(name));
    line.and_then(|line| line.split_once("  ")).map_or("", |(_, text)| text.trim())
}

/// The text of `:help WORD`: the lines of a command or magic, and the entries of the reference.
///
/// # Errors
/// If nothing has this name. The help names the nearest ones.
pub fn about(word: &str) -> Result<String, Diagnostic> {
    let is_meant = |name: &&&str| **name == word || name.trim_start_matches([':', '%']) == word;
    let command = NAMES.iter().chain(&MAGICS).find(is_meant).map(|name| lines_of(name));
    match (command, reference::help(word)) {
        (Some(command), Ok(entries)) => Ok(format!("{command}\n{entries}")),
        (Some(command), Err(_)) => Ok(command),
        (None, Ok(entries)) => Ok(entries),
        (None, Err(hint)) => {
            let near = nearest(word, &NAMES).filter(|_| word.starts_with(':'));
            let hint = near.map_or(hint, |near| format!("did you mean `{near}`?"));
            let message = format!("neither a command nor a function is called `{word}`");
            Err(Diagnostic::error(Class::Compile, "help", message).help(hint))
        }
    }
}

/// The lines of `:help` about a command.
fn lines_of(name: &str) -> String {
    let mut lines = HELP.lines().skip_while(|line| line.split_whitespace().next() != Some(name));
    let first = lines.next().unwrap_or_default();
    let more = lines.take_while(|line| line.starts_with("         "));
    std::iter::once(first).chain(more).map(|line| format!("{line}\n")).collect()
}

fn error(file: &str, line: u32, length: usize, code: &str, message: String) -> Diagnostic {
    let span = Span { file: file.to_string(), line, column: 1, length: length.max(1) as u32 };
    Diagnostic::error(Class::Compile, code, message).at(span, "")
}

pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().copied().min_by_key(|name| strsim::damerau_levenshtein(word, name))?;
    (strsim::damerau_levenshtein(word, best) <= 2).then_some(best)
}

/// Takes a cell apart. `is_value` says whether a name is that of a variable or an item of an earlier cell.
pub fn separate(text: &str, file: &str, is_value: &dyn Fn(&str) -> bool) -> Result<CellParts, Diagnostic> {
    if let Some((line, magic)) = first_line(text).filter(|(_, l)| l.starts_with("%%")) {
        return magic_cell(text, file, line, magic, is_value);
    }
    let mut found: Vec<Command> = Vec::new();
    let mut code = String::with_capacity(text.len());
    let mut open = crate::lexer::Open::default();
    let mut first_code = None;
    let lines: Vec<&str> = text.split('\n').collect();
    for (i, &line) in lines.iter().enumerate() {
        let number = i as u32 + 1;
        if i > 0 {
            code.push('\n');
        }
        // Inside a string or a block comment of many lines, nothing is a command.
        let open_string = open != crate::lexer::Open::Nothing;
        let rest = line.trim_end();
        let is_command = !open_string
            && (rest.strip_prefix(':').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_alphabetic()))
                || rest.strip_prefix('!').is_some_and(|r| !r.is_empty())
                || rest.starts_with('%'))
            && !rust::is_rust(&code, &lines[i..], is_value);
        if is_command {
            found.push(Command { line: number, kind: parse(rest, file, number)? });
        } else {
            let comment = !open_string && (rest.trim_start().is_empty() || rest.trim_start().starts_with("//"));
            if !comment && first_code.is_none() {
                first_code = Some(number);
            }
            code.push_str(line);
            open = open.after(&format!("{line}\n"));
        }
    }
    let (before, after) =
        found.into_iter().partition(|c| c.kind.prepares() || first_code.is_none_or(|first| c.line < first));
    Ok(CellParts { before, after, code, ..CellParts::default() })
}

/// The first line that is neither blank nor a comment.
fn first_line(text: &str) -> Option<(u32, &str)> {
    let lines = text.split('\n').enumerate();
    let mut lines = lines.filter(|(_, l)| !l.trim().is_empty() && !l.trim_start().starts_with("//"));
    lines.next().map(|(i, l)| (i as u32 + 1, l.trim_end()))
}

/// A cell that a magic has to itself.
fn magic_cell(
    text: &str,
    file: &str,
    line: u32,
    magic: &str,
    is_value: &dyn Fn(&str) -> bool,
) -> Result<CellParts, Diagnostic> {
    let name = magic.split_whitespace().next().unwrap_or(magic);
    let argument = magic[name.len()..].trim();
    // The lines from the magic on, and as many blank ones as were above.
    let above = "\n".repeat(line as usize - 1);
    let below = text.split('\n').skip(line as usize).collect::<Vec<_>>().join("\n");
    let fails = |code: &str, message: String| error(file, line, magic.chars().count(), code, message);
    match name {
        "%%time" if argument.is_empty() => {
            let code = format!("{above}\n{below}");
            if let Some((inner, magic)) = first_line(&below).filter(|(_, l)| l.starts_with("%%")) {
                let message = format!("`%%time` and `{magic}` cannot share a cell");
                let help = match magic {
                    magic if magic.starts_with("%%cuda") => {
                        "a launch says its time itself, as the last expression of a cell"
                    }
                    magic if magic.starts_with("%%python") => "`time.perf_counter()` takes the time in Python",
                    _ => "a query inside Rust is `sql(\"select …\")`",
                };
                return Err(error(file, line + inner, magic.chars().count(), "magic", message).help(help));
            }
            Ok(CellParts { timed: true, ..separate(&code, file, is_value)? })
        }
        "%%time" => Err(fails("argument", format!("`%%time` times the lines below it, and takes no `{argument}`"))
            .help("put the code into the lines below")),
        "%%html" | "%%markdown" => {
            let mime = if name == "%%html" { "text/html" } else { "text/markdown" };
            let shown = [argument, below.as_str()].join("\n").trim().to_string();
            if shown.is_empty() {
                let help = "write what is to be shown in the lines below";
                return Err(fails("empty-magic", format!("`{name}` is followed by nothing")).help(help));
            }
            Ok(CellParts { shown: Some((mime, shown)), ..CellParts::default() })
        }
        "%%sql" => {
            let is_name = |word: &str| syn::parse_str::<syn::Ident>(word).is_ok();
            let (bound, first) = match argument {
                word if is_name(word) && !below.trim().is_empty() => (Some(word), ""),
                word if !word.contains(char::is_whitespace) && !word.is_empty() && !below.trim().is_empty() => {
                    return Err(fails("argument", format!("`{word}` is not a variable name"))
                        .help("`%%sql top` keeps the result as `top`"));
                }
                text => (None, text),
            };
            let query = format!("{first}\n{below}");
            if query.trim().is_empty() || bound.is_some() && below.trim().is_empty() {
                return Err(fails("empty-query", "`%%sql` is followed by no query".to_string())
                    .help("write the query in the lines below: `select … from …`"));
            }
            let hashes = "#".repeat((1..).find(|&n| !query.contains(&format!("\"{}", "#".repeat(n)))).unwrap_or(1));
            let query = query.trim_end().trim_end_matches(';');
            let call = format!("sql(r{hashes}\"{query}\"{hashes})");
            let code = match bound {
                Some(name) => format!("{above}let {name} = {call}; {name}"),
                None => format!("{above}{call}"),
            };
            Ok(CellParts { code, query: Some(line), ..CellParts::default() })
        }
        "%%cuda" => {
            let Some(target) = Target::named(argument) else {
                let error = fails("argument", format!("`%%cuda` takes `check` or nothing, not `{argument}`"));
                let check =
                    "`%%cuda check` runs the CUDA kernels with memcheck and racecheck, also on a machine with a GPU";
                return Err(error.help("put the CUDA C++ into the lines below").help(check));
            };
            Ok(CellParts { code: crate::cuda::generate(text, line, target, file)?, ..CellParts::default() })
        }
        "%%python" => {
            let cell = python::options(&magic[name.len()..], name.len() as u32 + 1).map_err(|mistake| {
                let python::Mistake { column, length, message } = mistake;
                let span = Span { file: file.to_string(), line, column, length: length.max(1) };
                let usage = format!("{} is the form", python::USAGE);
                Diagnostic::error(Class::Compile, "argument", message).at(span, "").help(usage)
            })?;
            if below.trim().is_empty() {
                let help = "write the Python code into the lines below";
                return Err(fails("empty-magic", "`%%python` is followed by no code".to_string()).help(help));
            }
            let python = PythonCell { line, code: format!("{above}\n{below}"), ..cell };
            Ok(CellParts { python: Some(python), ..CellParts::default() })
        }
        // A blank that is too many: `%% cuda`.
        "%%" if !argument.is_empty() => {
            let meant = format!("%%{}", argument.split_whitespace().next().unwrap_or(""));
            let near = nearest(&meant.to_lowercase(), &MAGICS).unwrap_or("%%sql");
            Err(fails("unknown-magic", "`%%` and the name of a magic stand together".to_string())
                .help(format!("did you mean `{near}`?")))
        }
        _ => Err(unknown("cell magic", name, &MAGICS, |message| {
            error(file, line, name.chars().count(), "unknown-magic", message)
        })),
    }
}

/// A name that is not there: what does its work here, else the nearest.
fn unknown(what: &str, name: &str, names: &[&str], fails: impl Fn(String) -> Diagnostic) -> Diagnostic {
    let diagnostic = fails(format!("there is no {what} `{name}`"));
    match (foreign_magics::advice(name), nearest(name, names).or_else(|| nearest(&name.to_lowercase(), names))) {
        (Some(advice), _) => diagnostic.help(advice),
        (None, Some(near)) => diagnostic.help(format!("did you mean `{near}`?")),
        (None, None) => diagnostic.help("`:help` lists what there is"),
    }
}

fn parse(line: &str, file: &str, number: u32) -> Result<CommandKind, Diagnostic> {
    let (name, argument) = line.split_once(char::is_whitespace).map_or((line, ""), |(n, a)| (n, a.trim()));
    let fails = |code: &str, message: String| error(file, number, line.chars().count(), code, message);
    if let Some(shell) = line.strip_prefix('!') {
        return match foreign_magics::advice(name) {
            Some(advice) => Err(fails("shell", format!("`{name}` does nothing for the cells here")).help(advice)),
            None => Ok(CommandKind::Shell(shell.trim().to_string())),
        };
    }
    match name {
        ":vars" | ":v" => Ok(CommandKind::Vars),
        ":stale" => Ok(CommandKind::Stale),
        ":top" => Ok(CommandKind::Top),
        ":help" | ":h" | ":?" => Ok(CommandKind::Help(Some(argument.to_string()).filter(|a| !a.is_empty()))),
        ":clear" => Ok(CommandKind::Clear),
        ":restart-cells" | ":restart_cells" => Ok(CommandKind::RestartCells),
        ":timing" => Ok(CommandKind::Timing),
        ":sh" if !argument.is_empty() => Ok(CommandKind::Shell(argument.to_string())),
        ":type" | ":t" if !argument.is_empty() => Ok(CommandKind::Type(argument.to_string())),
        ":type" | ":t" => Err(fails("argument", "`:type` needs the name of a variable".into()).help("`:type flights`")),
        ":opt" if argument.is_empty() => Ok(CommandKind::Opt(None)),
        ":opt" => match argument.parse() {
            Ok(level @ 0..=3) => Ok(CommandKind::Opt(Some(level))),
            _ => Err(fails("argument", format!("`:opt` takes a level from 0 to 3, not `{argument}`"))
                .help("`:opt 3` for hot loops, `:opt 1` is the default")),
        },
        ":engine" => Ok(CommandKind::Engine(Some(argument.to_string()).filter(|a| !a.is_empty()))),
        ":cluster" if !argument.is_empty() => Ok(CommandKind::Cluster(argument.to_string())),
        ":cluster" => Err(fails("argument", "`:cluster` needs the address of a cluster".into())
            .help("`:cluster onrush://host:port,host:port`")),
        ":export" => match argument.split_once(char::is_whitespace).map_or((argument, ""), |(w, f)| (w, f.trim())) {
            ("crate", folder) => Ok(CommandKind::Export(Some(folder.to_string()).filter(|f| !f.is_empty()))),
            _ => Err(fails("argument", "`:export` writes a cargo project".into()).help("`:export crate [FOLDER]`")),
        },
        ":test" => Ok(CommandKind::Test(argument.to_string())),
        ":dep" => Ok(CommandKind::Dep(argument.to_string())),
        // evcxr's name for the list.
        ":show_deps" => Ok(CommandKind::Dep(String::new())),
        _ if MAGICS.contains(&name) => Err(fails("magic", format!("`{name}` stands below the first line of its cell"))
            .help("make it the first line, or move it to a separate cell")),
        _ if name.starts_with('%') => Err(unknown("magic", name, &MAGICS, |message| fails("unknown-magic", message))),
        _ => Err(unknown("command", name, &NAMES, |message| fails("unknown-command", message))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> CellParts {
        separate(text, "c", &|_| false).unwrap()
    }

    fn help(text: &str) -> String {
        separate(text, "c", &|_| false).unwrap_err().help.join("\n")
    }

    #[test]
    fn commands_leave_blank_lines() {
        let cell_ = cell(":vars\nlet x = 1;\n!ls -l\nlet s = \"\n:help\";\n:opt 3");
        let command = |line, kind| Command { line, kind };
        assert_eq!(cell_.before, [command(1, CommandKind::Vars), command(6, CommandKind::Opt(Some(3)))]);
        assert_eq!(cell_.after, [command(3, CommandKind::Shell("ls -l".into()))]);
        assert_eq!(cell_.code, "\nlet x = 1;\n\nlet s = \"\n:help\";\n");
        assert_eq!(cell("::std::mem::drop(1);").before, []);
    }

    #[test]
    fn sql_keeps_its_lines() {
        assert_eq!(cell("\n%%sql\nselect \"a\"#\nfrom t;\n").code, "\nsql(r##\"\nselect \"a\"#\nfrom t\"##)");
        assert_eq!(cell("// the best\n%%sql top\nselect 1").code, "\nlet top = sql(r#\"\nselect 1\"#); top");
        assert_eq!(cell("%%sql select 1\nfrom t").code, "sql(r#\"select 1\nfrom t\"#)");
        assert!(help("%%sql 2nd\nselect 1").contains("`%%sql top`"));
        assert!(help("%%sql\n  \n").contains("select"));
    }

    #[test]
    fn the_rest_of_a_cell_is_shown() {
        assert_eq!(cell("%%html\n<b>x</b>\n").shown, Some(("text/html", "<b>x</b>".to_string())));
        assert_eq!(cell("// a title\n\n%%markdown\n# T\n\n1").shown, Some(("text/markdown", "# T\n\n1".to_string())));
        let timed = cell("%%time\n:opt 3\nlet x = 1;");
        assert!(timed.timed);
        assert_eq!((timed.before.len(), timed.code.as_str()), (1, "\n\nlet x = 1;"));
    }

    #[test]
    fn python_keeps_its_lines_and_names() {
        let python = cell("// a title\n%%python -i late -o worst --as pandas\n:vars\n!x\nworst = late").python.unwrap();
        assert_eq!(python.code, "\n\n:vars\n!x\nworst = late");
        assert_eq!((python.line, python.library), (2, Some("pandas")));
        assert_eq!((python.input_names(), python.output_names()), (vec!["late".into()], vec!["worst".into()]));
        let error = separate("\n%%python -i late --into x\n1", "c", &|_| false).unwrap_err();
        let span = &error.labels[0].span;
        assert_eq!((span.line, span.column, span.length), (2, 18, 6));
        assert!(error.help[0].contains("-o NAME"), "{error}");
        assert!(help("%%python -i late\n \n").contains("lines below"));
    }

    #[test]
    fn unknown_ones_name_the_nearest() {
        assert_eq!(help(":var"), "did you mean `:vars`?");
        assert_eq!(help("%%sq\nselect 1"), "did you mean `%%sql`?");
        assert_eq!(help("%%CUDA\n__global__ void k() {}"), "did you mean `%%cuda`?");
        assert_eq!(help("%% cuda\n__global__ void k() {}"), "did you mean `%%cuda`?");
        assert!(help("!pip install polars").contains(":dep"));
        assert!(help("%timeit f()").contains("%%time"));
        assert!(help("let x = 1;\n%%sql\nselect 1").contains("first line"));
        assert!(help("%%time\n%%sql\nselect 1").contains("sql("));
        assert!(help("%%time\n%%python\n1").contains("perf_counter"));
        assert_eq!(help("%%pyton\n1"), "did you mean `%%python`?");
    }

    #[test]
    fn a_cluster_has_an_address() {
        let address = "onrush://127.0.0.1:7433,127.0.0.1:7434";
        let kind = CommandKind::Cluster(address.to_string());
        assert_eq!(cell(&format!(":cluster {address}")).before, [Command { line: 1, kind }]);
        assert_eq!(help(":cluster"), "`:cluster onrush://host:port,host:port`");
    }

    #[test]
    fn help_takes_a_word() {
        assert_eq!(cell(":help group_by").before[0].kind, CommandKind::Help(Some("group_by".into())));
        assert_eq!(cell(":help").before[0].kind, CommandKind::Help(None));
        assert!(about(":dep").unwrap().starts_with("  :dep NAME ") && about("dep").unwrap().contains(":dep rand"));
        assert!(about("%%sql").unwrap().contains("kept as NAME"));
        assert!(about("groupby").unwrap().contains("Frame.group_by"));
        let error = about("gruopby").unwrap_err();
        assert!(error.help[0].contains("`groupby`") && error.message.contains("gruopby"), "{error}");
    }

    #[test]
    fn help_fits_a_terminal_and_names_everything() {
        for line in HELP.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for name in NAMES.iter().chain(&MAGICS) {
            assert!(HELP.contains(name), "{name}");
        }
    }
}
