//! The line of `%%python`: the names of frames that go in and come out, and the library of those that go in.

/// A `%%python` cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonCell {
    /// The line of the magic, from 1.
    pub line: u32,
    /// The cell with blank lines up to the magic.
    pub code: String,
    pub inputs: Vec<Argument>,
    pub outputs: Vec<Argument>,
    /// The library whose tables the inputs become; `None` is the worker's choice.
    pub library: Option<&'static str>,
}

/// A name in the line of the magic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    /// In code points, from 1.
    pub column: u32,
}

impl PythonCell {
    pub fn input_names(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.name.clone()).collect()
    }

    pub fn output_names(&self) -> Vec<String> {
        self.outputs.iter().map(|output| output.name.clone()).collect()
    }
}

pub const USAGE: &str = "`%%python [-i NAME,…] [-o NAME,…] [--as polars|pandas|pyarrow]`";
/// Options, and what completion says of them.
pub const OPTIONS: [(&str, &str); 3] = [
    ("-i", "frames that become Python variables"),
    ("-o", "Python tables that become frames"),
    ("--as", "the library of the frames that go in"),
];
pub const LIBRARIES: [&str; 4] = ["polars", "pandas", "pyarrow", "onrush"];

/// Words that Rust takes as names and Python does not.
const KEYWORDS: [&str; 22] = [
    "None", "True", "False", "and", "assert", "class", "def", "del", "elif", "except", "finally", "from", "global",
    "import", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "with",
];

/// The error in the line of a magic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// In code points, from 1.
    pub column: u32,
    pub length: u32,
    pub message: String,
}

/// Parses the options of a magic. `rest` is the line after the name, which ends at `column`.
pub fn options(rest: &str, column: u32) -> Result<PythonCell, Mistake> {
    let mut cell = PythonCell::default();
    let mut words = words(rest, column).into_iter().peekable();
    while let Some((at, word)) = words.next() {
        let mistake = |message: String| Mistake { column: at, length: word.chars().count() as u32, message };
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some((at + option.chars().count() as u32 + 1, value.to_string()))),
            None => (word.as_str(), None),
        };
        let mut value = match (OPTIONS.iter().any(|(known, _)| *known == option), value) {
            (false, _) => return Err(mistake(format!("`%%python` has no option `{option}`"))),
            (true, Some(value)) => value,
            (true, None) => match words.next_if(|(_, next)| !next.starts_with('-')) {
                Some(value) => value,
                None => return Err(mistake(format!("`{option}` is followed by no name"))),
            },
        };
        if option == "--as" {
            let Some(library) = LIBRARIES.iter().find(|library| **library == value.1) else {
                let length = value.1.chars().count() as u32;
                let message = format!("`--as` takes polars, pandas or pyarrow, not `{}`", value.1);
                return Err(Mistake { column: value.0, length, message });
            };
            cell.library = Some(library);
            continue;
        }
        let names = if option == "-i" { &mut cell.inputs } else { &mut cell.outputs };
        // A list may have blanks after its commas.
        loop {
            let goes_on = value.1.ends_with(',');
            list(&value, names)?;
            match words.next_if(|(_, next)| goes_on && !next.starts_with('-')) {
                Some(next) => value = next,
                None => break,
            }
        }
    }
    Ok(cell)
}

/// Words with their columns.
fn words(text: &str, column: u32) -> Vec<(u32, String)> {
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut inside = false;
    for (at, c) in text.chars().enumerate() {
        if c.is_whitespace() {
            inside = false;
            continue;
        }
        match found.last_mut().filter(|_| inside) {
            Some((_, word)) => word.push(c),
            None => found.push((column + at as u32, c.to_string())),
        }
        inside = true;
    }
    found
}

/// The names of one word: `a,b`.
fn list((at, word): &(u32, String), names: &mut Vec<Argument>) -> Result<(), Mistake> {
    let mut column = *at;
    for name in word.split(',') {
        let length = name.chars().count() as u32;
        let is_keyword = KEYWORDS.contains(&name);
        if !name.is_empty() && (is_keyword || syn::parse_str::<syn::Ident>(name).is_err()) {
            let of = if is_keyword { "a keyword of Python" } else { "not the name of a variable" };
            return Err(Mistake { column, length, message: format!("`{name}` is {of}") });
        }
        if !name.is_empty() && !names.iter().any(|known| known.name == name) {
            names.push(Argument { name: name.to_string(), column });
        }
        column += length + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(cell: &PythonCell) -> (Vec<String>, Vec<String>, Option<&'static str>) {
        (cell.input_names(), cell.output_names(), cell.library)
    }

    #[test]
    fn options_are_taken_in_any_order_and_form() {
        let all = |a: &[&str]| a.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        for line in [" -i a,b -o c --as pandas", " --as=pandas -o=c -i a, b", " -i a -i b,a -o c -o c --as pandas "] {
            let cell = options(line, 9).unwrap();
            assert_eq!(names(&cell), (all(&["a", "b"]), all(&["c"]), Some("pandas")), "{line}");
        }
        assert_eq!(options("", 9), Ok(PythonCell::default()));
        let cell = options(" -i späte,b", 9).unwrap();
        assert_eq!(cell.inputs[1], Argument { name: "b".into(), column: 19 });
    }

    #[test]
    fn mistakes_have_their_place() {
        for (line, column, length, message) in [
            (" -x a", 10, 2, "`%%python` has no option `-x`"),
            (" late", 10, 4, "`%%python` has no option `late`"),
            (" -i", 10, 2, "`-i` is followed by no name"),
            (" -i -o b", 10, 2, "`-i` is followed by no name"),
            (" -o a,2b", 15, 2, "`2b` is not the name of a variable"),
            (" -o lambda", 13, 6, "`lambda` is a keyword of Python"),
            (" -i fn", 13, 2, "`fn` is not the name of a variable"),
            (" --as numpy", 15, 5, "`--as` takes polars, pandas or pyarrow, not `numpy`"),
        ] {
            let expected = Mistake { column, length, message: message.to_string() };
            assert_eq!(options(line, 9), Err(expected), "{line}");
        }
    }
}
