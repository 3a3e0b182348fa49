//! Lines of a cell that are no Rust: `:vars` and its kin, `!command`, and the whole-cell magic `%%sql`.
//!
//! Only what they mean is found here; the executor carries them out.

use onrush_wire::{Class, Diagnostic, Span};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub line: u32,
    pub kind: CommandKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    Vars,
    Help,
    Clear,
    Type(String),
    Timing,
    /// `None` asks what it is.
    Opt(Option<u8>),
    Dep(String),
    Shell(String),
}

pub const HELP: &str = "\
A cell is Rust: items, `let`s, statements, and a last expression that is shown. Variables and items stay for later cells.
`?` ends a cell with the error's text. Frames: `read_csv(\"…\")`, `read_parquet(\"…\")`, `frame! { … }`, `x!(…)`, `sql(\"…\")`.

:vars          the variables, their types and values
:type NAME     the type of a variable
:clear         forget all variables and items
:opt [0-3]     optimisation of the cells from here on (`#![opt(3)]` at the top of a cell: of that cell)
:timing        say after each cell how long it took to compile and to run (again: stop)
:dep NAME      arrow, chrono and serde are there already
!COMMAND       run a shell command
%%sql          the rest of the cell is a query over the frames by their variable names
";

const NAMES: [&str; 7] = [":vars", ":help", ":clear", ":type", ":timing", ":opt", ":dep"];
const MAGICS: [&str; 1] = ["%%sql"];

fn error(file: &str, line: u32, length: usize, code: &str, message: String) -> Diagnostic {
    let span = Span { file: file.to_string(), line, column: 1, length: length.max(1) as u32 };
    Diagnostic::error(Class::Compile, code, message).at(span, "")
}

pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().copied().min_by_key(|name| strsim::damerau_levenshtein(word, name))?;
    (strsim::damerau_levenshtein(word, best) <= 2).then_some(best)
}

/// The commands of a cell, and its code with their lines blanked out. `is_rust` says whether a line that begins with `!` is an
/// expression.
pub fn separate(text: &str, file: &str, is_rust: &dyn Fn(&str) -> bool) -> Result<(Vec<Command>, String), Diagnostic> {
    if let Some((line, magic)) = first_line(text).filter(|(_, l)| l.starts_with("%%")) {
        return magic_cell(text, file, line, magic).map(|code| (Vec::new(), code));
    }
    let mut commands = Vec::new();
    let mut code = String::with_capacity(text.len());
    let mut open_string = false;
    for (i, line) in text.split('\n').enumerate() {
        let number = i as u32 + 1;
        if i > 0 {
            code.push('\n');
        }
        // Inside a string or a block comment of many lines, nothing is a command.
        let rest = line.trim_end();
        let is_command = !open_string
            && (rest.strip_prefix(':').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_alphabetic()))
                || rest.strip_prefix('!').is_some_and(|r| !r.is_empty() && !is_rust(rest))
                || rest.starts_with('%'));
        if is_command {
            commands.push(Command { line: number, kind: parse(rest, file, number)? });
        } else {
            code.push_str(line);
            open_string = crate::scan::scan(&code).unterminated.is_some();
        }
    }
    Ok((commands, code))
}

fn first_line(text: &str) -> Option<(u32, &str)> {
    text.split('\n').enumerate().find(|(_, l)| !l.trim().is_empty()).map(|(i, l)| (i as u32 + 1, l.trim_end()))
}

/// `%%sql` and its query become a call in the same lines.
fn magic_cell(text: &str, file: &str, line: u32, magic: &str) -> Result<String, Diagnostic> {
    let name = magic.split_whitespace().next().unwrap_or(magic);
    if name != "%%sql" {
        let message = format!("there is no cell magic `{name}`");
        let diagnostic = error(file, line, name.chars().count(), "unknown-magic", message);
        return Err(match nearest(name, &MAGICS) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help("there is `%%sql`; everything else in a cell is Rust (`:help`)"),
        });
    }
    let mut lines = text.split('\n');
    let before: Vec<&str> = lines.by_ref().take(line as usize - 1).collect();
    let first = lines.next().unwrap_or("").trim().strip_prefix(name).unwrap_or("");
    let query: Vec<&str> = std::iter::once(first).chain(lines).collect();
    let query = query.join("\n");
    if query.trim().is_empty() {
        return Err(error(file, line, name.len(), "empty-query", "`%%sql` is followed by no query".to_string())
            .help("write the query in the lines below: `select … from …`"));
    }
    let hashes = "#".repeat((1..).find(|&n| !query.contains(&format!("\"{}", "#".repeat(n)))).unwrap_or(1));
    let query = query.trim_end().trim_end_matches(';');
    Ok(format!("{}sql(r{hashes}\"{query}\"{hashes})", before.iter().map(|_| "\n").collect::<String>()))
}

fn parse(line: &str, file: &str, number: u32) -> Result<CommandKind, Diagnostic> {
    if let Some(shell) = line.strip_prefix('!') {
        return Ok(CommandKind::Shell(shell.trim().to_string()));
    }
    let (name, argument) = line.split_once(char::is_whitespace).map_or((line, ""), |(n, a)| (n, a.trim()));
    let fails = |code: &str, message: String| error(file, number, line.chars().count(), code, message);
    match name {
        ":vars" | ":v" => Ok(CommandKind::Vars),
        ":help" | ":h" => Ok(CommandKind::Help),
        ":clear" => Ok(CommandKind::Clear),
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
        ":dep" if !argument.is_empty() => Ok(CommandKind::Dep(argument.to_string())),
        ":dep" => Err(fails("argument", "`:dep` needs the name of a crate".into()).help("`:dep chrono`")),
        _ => {
            let what = if name.starts_with('%') { "magic" } else { "command" };
            let names: &[&str] = if name.starts_with('%') { &MAGICS } else { &NAMES };
            let diagnostic = fails(&format!("unknown-{what}"), format!("there is no {what} `{name}`"));
            Err(match nearest(name, names) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.help("`:help` lists what there is"),
            })
        }
    }
}

/// What `:dep` says about a crate: `Ok` if it is there already.
pub fn dependency(text: &str, file: &str, line: u32) -> Result<String, Diagnostic> {
    let name = text.split(['=', ' ']).next().unwrap_or(text).trim();
    match name {
        "arrow" | "chrono" | "serde" => {
            Ok(format!("`{name}` is the one that Onrush itself uses: `use {name}::…;` works in every cell\n"))
        }
        _ => Err(error(
            file,
            line,
            5 + text.chars().count(),
            "dep",
            format!("`{name}` cannot be added: cells cannot use other crates yet"),
        )
        .help("`arrow`, `chrono` and `serde` are there without `:dep`; other code can be put into cells as `mod`s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_leave_blank_lines() {
        let (commands, code) = separate(":vars\nlet x = 1;\n!ls -l\nlet s = \"\n:help\";", "c", &|_| false).unwrap();
        assert_eq!(commands.len(), 2);
        assert_eq!(commands[1], Command { line: 3, kind: CommandKind::Shell("ls -l".into()) });
        assert_eq!(code, "\nlet x = 1;\n\nlet s = \"\n:help\";");
        assert_eq!(separate("::std::mem::drop(1);", "c", &|_| false).unwrap().0, []);
    }

    #[test]
    fn sql_keeps_its_lines() {
        let (_, code) = separate("\n%%sql\nselect \"a\"#\nfrom t;\n", "c", &|_| false).unwrap();
        assert_eq!(code, "\nsql(r##\"\nselect \"a\"#\nfrom t\"##)");
    }

    #[test]
    fn unknown_ones_name_the_nearest() {
        let error = separate(":var", "c", &|_| false).unwrap_err();
        assert_eq!(error.help, ["did you mean `:vars`?"]);
        assert_eq!(separate("%%sq\nselect 1", "c", &|_| false).unwrap_err().help, ["did you mean `%%sql`?"]);
    }
}
