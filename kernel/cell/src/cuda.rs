//! Rust bindings for `%%cuda` cells: finds the CUDA kernels in CUDA C++ and writes a Rust function with typed
//! parameters for each. A `__device__` function that `x!` can call gets one too (`cuda/functions.rs`).
//!
//! Only function heads are parsed; the worker's compiler checks the rest. Each Rust function stands in the line of its
//! CUDA kernel, with its name in the same column. rustc's errors about it point there.

mod functions;
mod validation;

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use functions::{Function, RejectedFunction};
use onrush_wire::{Class, Diagnostic, Span};

/// Qualifiers that do not affect how a parameter is passed.
const QUALIFIERS: &[&str] =
    &["const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "register", "struct", "enum"];

const ATTRIBUTES: &str = " #[track_caller] #[allow(non_snake_case)]";

#[derive(Debug, PartialEq, Eq)]
struct Kernel {
    name: String,
    /// The byte offset of the name.
    at: usize,
    parameters: Vec<Parameter>,
    /// `void name(…)` as written.
    declaration: String,
}

#[derive(Debug, PartialEq, Eq)]
struct Parameter {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A pointer to elements of this type; whether the kernel may write.
    Buffer(&'static str, bool),
    Scalar(&'static str),
}

/// The device of a cell's CUDA kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// On the GPU, or on the emulated device if there is none.
    Device,
    /// On the emulated device, which checks each access.
    Checked,
}

impl Target {
    /// The target that follows `%%cuda` in the first line of a cell.
    pub fn named(argument: &str) -> Option<Target> {
        match argument {
            "" => Some(Target::Device),
            CHECK => Some(Target::Checked),
            _ => None,
        }
    }
}

/// The word after `%%cuda` for [`Target::Checked`].
pub const CHECK: &str = "check";

/// The Rust code of a cell whose magic is on line `line`.
pub fn generate(text: &str, line: u32, target: Target, file: &str) -> Result<String, Diagnostic> {
    let start: usize = text.split_inclusive('\n').take(line as usize).map(str::len).sum();
    // The source for the compiler: blank lines stand for the lines above, including the magic.
    let mut source = "\n".repeat(line as usize) + &text[start..];
    if start == text.len() && !text.ends_with('\n') {
        source.push('\n');
    }
    let fails = Fails { text: &source, file };
    let (masked, braces) = validation::without_dead(&mask(&source));
    let source_ = validation::without_includes(&source, &masked, &fails)?;
    if masked.trim().is_empty() {
        return Err(fails
            .at_line(line, "empty-magic", "`%%cuda` is followed by nothing".to_string())
            .help("write kernels in the lines below: `__global__ void add_one(float* data, int n) { … }`"));
    }
    validation::host_code(&masked, &fails)?;
    validation::shared_without_length(&masked, &fails)?;
    validation::shared_with_value(&masked, &fails)?;
    let kernels = kernels(&masked, &braces, &fails)?;
    validation::open_end(&braces, &fails)?;
    kernels.iter().try_for_each(|kernel| validation::called(&kernel.name, kernel.at, &masked, &fails))?;
    for (at, kernel) in kernels.iter().enumerate() {
        if kernels[..at].iter().any(|earlier| earlier.name == kernel.name) {
            let message = format!("there are two kernels `{}` in this cell", kernel.name);
            return Err(fails
                .at(kernel.at, kernel.name.len(), "cuda-name", message)
                .help("give one of them another name"));
        }
    }
    let (functions, left) = functions::find(&masked);
    if kernels.is_empty() && functions.is_empty() {
        let message = "there is no `__global__` function in this cell, and no `__device__` function that `x!` can call";
        let error = fails.at_line(line, "cuda-no-kernel", message.to_string());
        let error = left.iter().fold(error, |error, left| error.note(format!("`{}`: {}", left.name, left.why)));
        return Err(error
            .help("a kernel begins with `__global__ void`: `__global__ void add_one(float* data, int n) { … }`")
            .help("a function for `x!` takes and gives numbers: `__device__ float twice(float x) { return 2 * x; }`"));
    }
    let device = if functions.is_empty() { String::new() } else { functions::without_kernels(&source_, &masked) };
    Ok(write_rust(&Cell { source: &source_, target, device, kernels, functions, left }, line, file))
}

/// Whether the source has variables that stay on the device between launches.
pub fn has_variables(text: &str) -> bool {
    let masked = mask(text);
    ["__device__", "__managed__"].iter().any(|word| {
        words(&masked, word).any(|at| {
            let head = masked[at..].split(['(', ';', '=', '{', '[']).next().unwrap_or("");
            !matches!(masked[at + head.len()..].chars().next(), None | Some('('))
        })
    })
}

struct Fails<'a> {
    text: &'a str,
    file: &'a str,
}

impl Fails<'_> {
    /// An error about `length` bytes from `at` on.
    fn at(&self, at: usize, length: usize, code: &str, message: String) -> Diagnostic {
        let (line, column) = crate::lexer::position(self.text, at);
        let found = self.text.get(at..at + length).unwrap_or("");
        let length = found.lines().next().unwrap_or("").trim_end().chars().count().max(1) as u32;
        let span = Span { file: self.file.to_string(), line, column, length };
        Diagnostic::error(Class::Compile, code, message).at(span, "")
    }

    fn at_line(&self, line: u32, code: &str, message: String) -> Diagnostic {
        let span = Span { file: self.file.to_string(), line, column: 1, length: "%%cuda".len() as u32 };
        Diagnostic::error(Class::Compile, code, message).at(span, "")
    }
}

/// The source with comments and strings blanked out, byte for byte.
fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    let blank = |out: &mut Vec<u8>, from: usize, to: usize| {
        out[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let length = match rest {
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.windows(2).skip(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4),
            [quote @ (b'"' | b'\''), ..] => {
                let mut end = 1;
                while end < rest.len() && rest[end] != *quote && rest[end] != b'\n' {
                    end += if rest[end] == b'\\' { 2 } else { 1 };
                }
                (end + 1).min(rest.len())
            }
            _ => 0,
        };
        if length > 0 {
            blank(&mut out, at, at + length);
        }
        at += length.max(1);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    words(text, word).next()
}

fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = text[..*at].chars().next_back().is_some_and(is_word);
        let after = text[*at + word.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

/// A cursor over source text.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn word(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    fn takes(&mut self, c: char) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    /// Skips to after the bracket that closes the one just taken.
    fn until(&mut self, open: char, close: char) -> Option<()> {
        let (mut depth, mut round) = (1, 0);
        for (at, c) in self.text[self.at..].char_indices() {
            round += i32::from(c == '(') - i32::from(c == ')');
            // In parentheses `<` and `>` are comparisons.
            if round == 0 || open != '<' {
                depth += i32::from(c == open) - i32::from(c == close);
            }
            if depth == 0 {
                self.at += at + c.len_utf8();
                return Some(());
            }
        }
        None
    }

    /// The source between the bracket just taken and the one that closes it.
    fn inside(&mut self) -> Option<(usize, &'a str)> {
        let (start, mut depth) = (self.at, 1);
        for (at, c) in self.text[start..].char_indices() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 {
                self.at = start + at + 1;
                return Some((start, &self.text[start..start + at]));
            }
        }
        None
    }
}

fn kernels(masked: &str, braces: &str, fails: &Fails<'_>) -> Result<Vec<Kernel>, Diagnostic> {
    let mut found = Vec::new();
    for at in words(masked, "__global__") {
        let before = masked[..at].trim_end();
        if before.ends_with('>') && before.rfind("template").is_some_and(|t| !before[t..].contains(['{', '}', ';'])) {
            return Err(fails.at(at, "__global__".len(), "cuda-template", "a kernel of a cell cannot be a template".to_string())
                .help("write it for the type that you need: `float*` in place of `T*`; a `__device__` function may be a template"));
        }
        let mut reader = Reader { text: masked, at: at + "__global__".len() };
        let mut returns: Vec<&str> = Vec::new();
        let (name, name_at) = loop {
            let Some(word) = reader.word() else {
                let message = "`__global__` begins no function".to_string();
                return Err(fails
                    .at(at, "__global__".len(), "cuda-kernel", message)
                    .help("a kernel is `__global__ void name(float* data, int n) { … }`"));
            };
            let end = reader.at;
            if !reader.takes('(') {
                if !matches!(word, "static" | "inline" | "extern" | "__forceinline__" | "__noinline__") {
                    returns.push(word);
                }
            } else if matches!(word, "__launch_bounds__" | "__cluster_dims__" | "__attribute__" | "__maxnreg__") {
                reader.inside();
            } else {
                break (word, end - word.len());
            }
        };
        if returns != ["void"] {
            let kind = if returns.is_empty() { "nothing".to_string() } else { format!("`{}`", returns.join(" ")) };
            let message = format!("the kernel `{name}` returns {kind}, and a kernel returns `void`");
            return Err(fails
                .at(name_at, name.len(), "cuda-kernel", message)
                .help(format!("`__global__ void {name}(…)`: results go into a buffer that it is given")));
        }
        let Some((start, list)) = reader.inside() else {
            let message = format!("the parameters of `{name}` have no end: a `)` is missing");
            let help = format!("`__global__ void {name}(float* data, int n) {{ … }}`");
            return Err(fails.at(name_at, name.len(), "cuda-kernel", message).help(help));
        };
        // `__global__ void name(…);` is a declaration only.
        if reader.takes(';') {
            continue;
        }
        validation::place(name, name_at, braces, fails)?;
        validation::name(name, name_at, fails)?;
        let mut parameters = Vec::new();
        let mut offset = start;
        for piece in list.split(',') {
            if !(piece.trim().is_empty() && list.trim().is_empty()) && piece.trim() != "void" {
                let spot = offset + (piece.len() - piece.trim_start().len());
                let found = parameter(piece, name, spot, fails)?;
                if parameters.iter().any(|other: &Parameter| parameter_name(&other.name) == parameter_name(&found.name))
                {
                    let message = format!("two parameters of `{name}` are called `{}`", found.name);
                    return Err(fails
                        .at(spot, piece.trim().len(), "cuda-parameter", message)
                        .help("give one of them another name; capital and small letters count as the same"));
                }
                parameters.push(found);
            }
            offset += piece.len() + 1;
        }
        let written = |range: std::ops::Range<usize>| masked[range].split_whitespace().collect::<Vec<_>>().join(" ");
        let declaration = format!("void {name}({})", written(start..start + list.len()));
        found.push(Kernel { name: name.to_string(), at: name_at, parameters, declaration });
    }
    Ok(found)
}

fn parameter(piece: &str, kernel: &str, at: usize, fails: &Fails<'_>) -> Result<Parameter, Diagnostic> {
    let shown = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    let fail =
        |message: String, help: String| Err(fails.at(at, piece.trim().len(), "cuda-parameter", message).help(help));
    if shown.is_empty() {
        return fail(
            format!("a parameter of `{kernel}` is missing"),
            "there is a `,` too many, or nothing between two of them".to_string(),
        );
    }
    if shown.contains('&') {
        let better = shown.replace('&', "");
        return fail(
            format!("`{shown}` of `{kernel}` is a reference, and a kernel cannot see the host's memory"),
            format!(
                "take a number by value (`{}`), or a pointer to several",
                better.split_whitespace().collect::<Vec<_>>().join(" ")
            ),
        );
    }
    if let Some((before, _)) = shown.split_once('=') {
        return fail(
            format!("`{shown}` of `{kernel}` has a default value"),
            format!("write `{}`, and give it at each launch", before.trim()),
        );
    }
    if shown.contains(['<', '(', ':']) {
        return fail(
            format!("`{shown}` of `{kernel}` is neither a number nor a pointer to numbers"),
            "kernels of cells take `float*`, `const int*`, `int`, `double`, … one after the other".to_string(),
        );
    }
    let mut tokens: Vec<String> = Vec::new();
    for c in shown.replace("__align__", " ").chars() {
        match c {
            ' ' => tokens.push(String::new()),
            c if is_word(c) && tokens.last().is_some_and(|t| t.chars().all(is_word)) => {
                tokens.last_mut().unwrap_or(&mut String::new()).push(c)
            }
            c => tokens.push(c.to_string()),
        }
        if !is_word(c) && c != ' ' {
            tokens.push(String::new());
        }
    }
    tokens.retain(|token| !token.is_empty());
    let stars =
        tokens.iter().filter(|token| *token == "*").count() + usize::from(tokens.iter().any(|token| token == "["));
    let first_star = tokens.iter().position(|token| token == "*").unwrap_or(tokens.len());
    let is_const = tokens[..first_star].iter().any(|token| token == "const");
    let end = tokens.iter().position(|token| token == "[").unwrap_or(tokens.len());
    let is_name = |token: &String| token.chars().next().is_some_and(|c| is_word(c) && !c.is_ascii_digit());
    let mut words: Vec<&str> = tokens[..end].iter().filter(|token| is_name(token)).map(String::as_str).collect();
    words.retain(|word| !QUALIFIERS.contains(word));
    let last_is_type = words.last().is_none_or(|word| is_type_word(word));
    if last_is_type {
        return fail(
            format!("a parameter of `{kernel}` has no name: `{shown}`"),
            format!("give it one: `{shown} {}`", if stars > 0 { "data" } else { "n" }),
        );
    }
    let name = words.pop().unwrap_or("").to_string();
    let base = words.join(" ");
    if base.is_empty() {
        return fail(
            format!("the parameter `{name}` of `{kernel}` has no type"),
            format!("write `int {name}` or `float* {name}`"),
        );
    }
    if stars > 1 {
        return fail(
            format!("`{name}` of `{kernel}` is a pointer to pointers"),
            format!("lay all rows out in one buffer: `{base}* {name}`, with `{name}[row * width + column]`"),
        );
    }
    let Some(rust) = rust_type(&base) else {
        if base == "void" {
            return fail(
                format!("`{name}` of `{kernel}` is a `void*`: a pointer to what?"),
                format!("say what it holds: `float* {name}`"),
            );
        }
        let shown = if stars > 0 { format!("{base}*") } else { base };
        return fail(
            format!("`{name}` of `{kernel}` is `{shown}`, and kernels of cells take numbers and pointers to numbers"),
            "`bool`, `char` to `long long` with and without `unsigned`, `int8_t` to `uint64_t`, `size_t`, `float`, `double`".to_string(),
        );
    };
    let kind = match stars {
        0 => Kind::Scalar(if base == "size_t" { "usize" } else { rust }),
        _ => Kind::Buffer(rust, !is_const),
    };
    Ok(Parameter { name, kind })
}

fn is_type_word(word: &str) -> bool {
    matches!(word, "unsigned" | "signed" | "long" | "short") || rust_type(word).is_some() || word == "void"
}

fn rust_type(base: &str) -> Option<&'static str> {
    let mut words: Vec<&str> = base.split(' ').collect();
    words.sort_unstable();
    Some(match words.join(" ").as_str() {
        "bool" => "bool",
        "char" | "char signed" | "int8_t" => "i8",
        "char unsigned" | "uint8_t" | "uchar" => "u8",
        "short" | "int short" | "short signed" | "int short signed" | "int16_t" => "i16",
        "short unsigned" | "int short unsigned" | "uint16_t" | "ushort" => "u16",
        "int" | "signed" | "int signed" | "int32_t" => "i32",
        "unsigned" | "int unsigned" | "uint32_t" | "uint" => "u32",
        "long" | "int long" | "long long" | "int long long" | "long signed" | "long long signed" | "int64_t"
        | "longlong" => "i64",
        "long unsigned"
        | "int long unsigned"
        | "long long unsigned"
        | "int long long unsigned"
        | "uint64_t"
        | "size_t"
        | "ulong"
        | "ulonglong" => "u64",
        "float" => "f32",
        "double" => "f64",
        _ => return None,
    })
}

/// The Rust spelling of a name: `in` is a keyword in Rust.
fn rust_name(name: &str) -> String {
    match name {
        "self" | "Self" | "super" | "crate" | "_" => format!("{name}_"),
        _ if validation::is_keyword(name) => format!("r#{name}"),
        _ => name.to_string(),
    }
}

/// The Rust name of a parameter, which must differ from the launch's parameters and from a constant of the notebook.
fn parameter_name(name: &str) -> String {
    match name {
        "blocks" | "threads" => format!("{name}_"),
        _ if name.starts_with(char::is_uppercase) => format!("{}_", name.to_lowercase()),
        _ => rust_name(name),
    }
}

/// A parsed cell.
struct Cell<'a> {
    source: &'a str,
    target: Target,
    /// The source that expressions send with calls of its functions.
    device: String,
    kernels: Vec<Kernel>,
    functions: Vec<Function>,
    left: Vec<RejectedFunction>,
}

fn write_rust(cell: &Cell<'_>, line: u32, file: &str) -> String {
    let source = cell.source;
    let mut hasher = DefaultHasher::new();
    (source, file, cell.target).hash(&mut hasher);
    let number = hasher.finish();
    let program = format!("__CUDA_{number:016X}");
    let mut lines: Vec<String> = vec![String::new(); source.lines().count().max(line as usize)];
    let mut items: Vec<(usize, String)> = Vec::new();
    let (mut declarations, mut signatures) = (String::new(), Vec::new());
    for kernel in &cell.kernels {
        let _ = write!(declarations, "extern \"C\" __global__ {}; ", kernel.declaration);
        let (item, signature) = launch(kernel, &program);
        items.push((kernel.at, item));
        signatures.push(signature);
    }
    for (index, function) in cell.functions.iter().enumerate() {
        let (item, signature) = call(function, index, &program);
        items.push((function.at, item));
        signatures.push(signature);
    }
    let refusal = |left: &RejectedFunction| format!("`{}` cannot be called in `x!`: {}", left.name, left.why);
    let refusals: Vec<String> = cell.left.iter().map(refusal).collect();
    // A helper of CUDA kernels needs no note; a function with a signature for `x!` does.
    let is_told =
        |left: &&RejectedFunction| cell.kernels.is_empty() || onrush_wire::reserved_names::is_taken(&left.name);
    signatures.extend(cell.left.iter().filter(is_told).map(refusal));
    items.sort_by_key(|(at, _)| *at);
    for (at, item) in items {
        let (at_line, column) = crate::lexer::position(source, at);
        let index = at_line as usize - 1;
        // In the line above, unless that holds another kernel: the name keeps its column.
        match lines[index].is_empty() {
            true => lines[index - 1].push_str(ATTRIBUTES),
            false => lines[index].push_str(ATTRIBUTES),
        }
        let pad = (column as usize).saturating_sub(1 + "pub fn ".len() + lines[index].chars().count());
        let _ = write!(lines[index], "{:pad$}pub fn {item}", "");
    }
    let names: Vec<&str> = cell.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let functions: Vec<_> =
        cell.functions.iter().map(|f| (f.name.as_str(), f.parameters.as_slice(), f.result)).collect();
    let functions =
        functions.iter().map(|(name, parameters, result)| format!("({name:?}, &{parameters:?}, {result:?})"));
    let head = format!(
        "pub static {program}: ::onrush::cuda::Program = ::onrush::cuda::Program {{ number: {number}, line: {line}, file: {file:?}, \
         target: ::onrush::cuda::Target::{:?}, text: {source:?}, declarations: {declarations:?}, kernels: &{names:?}, signatures: &{signatures:?}, \
         device: {:?}, functions: &[{}], refusals: &{refusals:?} }};",
        cell.target,
        cell.device,
        functions.collect::<Vec<_>>().join(", "),
    );
    let magic = line as usize - 1;
    lines[magic] = head + &lines[magic];
    format!("{}\n::onrush::cuda::define(&{program})", lines.join("\n"))
}

/// A CUDA kernel as a Rust function after `pub fn`, and its signature for display.
fn launch(kernel: &Kernel, program: &str) -> (String, String) {
    let name = rust_name(&kernel.name);
    let (mut parameters, mut shown, mut calls) = (String::new(), String::new(), String::new());
    for Parameter { name, kind } in &kernel.parameters {
        let rust = parameter_name(name);
        let _ = match kind {
            Kind::Buffer(element, true) => {
                let _ = write!(shown, ", {name}: &mut Buffer<{element}>");
                let _ = write!(calls, ".write({name:?}, {rust})");
                write!(parameters, ", {rust}: &mut ::onrush::cuda::Buffer<{element}>")
            }
            Kind::Buffer(element, false) => {
                let _ = write!(shown, ", {name}: &Buffer<{element}>");
                let _ = write!(calls, ".read({name:?}, {rust})");
                write!(parameters, ", {rust}: &::onrush::cuda::Buffer<{element}>")
            }
            Kind::Scalar(number) => {
                let _ = write!(shown, ", {name}: {number}");
                let _ = write!(calls, ".scalar({name:?}, {rust})");
                write!(parameters, ", {rust}: {number}")
            }
        };
    }
    let item = format!(
        "{name}(blocks: impl ::onrush::cuda::Blocks, threads: impl ::onrush::cuda::Threads{parameters}) \
         -> ::onrush::cuda::LaunchReport {{ ::onrush::cuda::Call::new(&{program}, {:?}, blocks, threads){calls}.launch() }}",
        kernel.name,
    );
    (item, format!("{name}(blocks, threads{shown})"))
}

/// A device function as a Rust function for `x!`.
fn call(function: &Function, index: usize, program: &str) -> (String, String) {
    let name = rust_name(&function.name);
    let (mut parameters, mut shown, mut given) = (Vec::new(), Vec::new(), Vec::new());
    for (name, kind) in &function.parameters {
        let rust = parameter_name(name);
        parameters.push(format!("{rust}: impl ::onrush::ToExpr"));
        given.push(format!("::onrush::ToExpr::to_expr(&{rust})"));
        shown.push(format!("{name}: {kind}"));
    }
    let item = format!(
        "{name}({}) -> ::onrush::Expr {{ ::onrush::cuda::call(&{program}, {index}, [{}]) }}",
        parameters.join(", "),
        given.join(", "),
    );
    (item, format!("x!({name}({})) -> {}", shown.join(", "), function.result))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> String {
        generate(text, 1, Target::Device, "cell_1.rs").unwrap()
    }

    #[track_caller]
    fn refused(text: &str, message: &str, underlined: &str) {
        let text = format!("%%cuda\n{text}");
        let error = generate(&text, 1, Target::Device, "cell_1.rs").unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
        assert!(!error.help.is_empty(), "{}", error.message);
        let span = &error.labels[0].span;
        let line = text.lines().nth(span.line as usize - 1).unwrap();
        let found: String = line.chars().skip(span.column as usize - 1).take(span.length as usize).collect();
        assert_eq!(found, underlined);
    }

    #[test]
    fn a_kernel_is_a_function_in_its_own_line_and_column() {
        let text = "%%cuda\n// adds\n__global__ void add_one(float* data, const int *idx, unsigned long long n) {\n}\n";
        let rust = rust(text);
        let line = rust.lines().nth(2).unwrap();
        assert_eq!(line.find("add_one"), Some("__global__ void ".len()));
        let parameters = "data: &mut ::onrush::cuda::Buffer<f32>, idx: &::onrush::cuda::Buffer<i32>, n: u64)";
        assert!(line.contains(parameters), "{line}");
        assert!(line.contains(".write(\"data\", data).read(\"idx\", idx).scalar(\"n\", n).launch()"), "{line}");
        assert!(
            rust.lines().next().unwrap().contains("void add_one(float* data, const int *idx, unsigned long long n)")
        );
        assert!(
            syn::parse_file(&format!(
                "{} }}",
                rust.replace("\n::onrush::cuda::define", "\nfn f() { ::onrush::cuda::define")
            ))
            .is_ok()
        );
    }

    #[test]
    fn a_device_function_is_a_function_of_expressions() {
        let text = "%%cuda\n#include <math.h>\n__device__ float add(float a,\n    float N = 1) { return a + N; }\n__global__ void k() {}\n";
        let rust = rust(text);
        let line = rust.lines().nth(2).unwrap();
        assert_eq!(line.find("add"), Some("__device__ float ".len()));
        let head = "add(a: impl ::onrush::ToExpr, n_: impl ::onrush::ToExpr) -> ::onrush::Expr {";
        assert!(line.contains(head), "{line}");
        let first = rust.lines().next().unwrap();
        assert!(first.contains("functions: &[(\"add\", &[(\"a\", \"f32\"), (\"N\", \"f32\")], \"f32\")]"), "{first}");
        assert!(first.contains("x!(add(a: f32, N: f32)) -> f32"), "{first}");
        // The CUDA kernel is not part of the source that expressions send.
        assert_eq!(first.matches("__global__ void k() {}").count(), 1, "{first}");
        assert_eq!(first.matches("return a + N").count(), 2, "{first}");
        let rust = self::rust("%%cuda\n__device__ int one() { return 1; } __device__ int two(int x) { return x; }");
        assert!(syn::parse_file(&rust.replace("\n::onrush::cuda::define", "\n// ")).is_ok(), "{rust}");
        assert!(rust.contains("call(&__CUDA_") && rust.contains(", 1, [::onrush::ToExpr::to_expr(&x)])"), "{rust}");
    }

    #[test]
    fn a_checked_cell_is_another_program() {
        let text = "%%cuda check\n__global__ void k() {}\n";
        let [device, checked] =
            [Target::Device, Target::Checked].map(|target| generate(text, 1, target, "cell_1.rs").unwrap());
        assert!(device.contains("target: ::onrush::cuda::Target::Device,"), "{device}");
        assert!(checked.contains("target: ::onrush::cuda::Target::Checked,"), "{checked}");
        // A worker knows a program by its number.
        let number =
            |rust: &str| rust.split("number: ").nth(1).and_then(|rest| rest.split(',').next()).map(str::to_string);
        assert_ne!(number(&device), number(&checked));
    }

    #[test]
    fn types_are_those_of_rust() {
        let one = |text: &str| parameter(text, "k", 0, &Fails { text, file: "c" }).unwrap().kind;
        assert_eq!(one("const float* __restrict__ in"), Kind::Buffer("f32", false));
        assert_eq!(one("float const *in"), Kind::Buffer("f32", false));
        assert_eq!(one("float * const out"), Kind::Buffer("f32", true));
        assert_eq!(one("unsigned bins[]"), Kind::Buffer("u32", true));
        assert_eq!(one("bool *flags"), Kind::Buffer("bool", true));
        assert_eq!(one("size_t n"), Kind::Scalar("usize"));
        assert_eq!(one("unsigned short int x"), Kind::Scalar("u16"));
        assert_eq!(one("int8_t x"), Kind::Scalar("i8"));
        assert_eq!(one("const double scale"), Kind::Scalar("f64"));
    }

    #[test]
    fn keywords_comments_and_bounds_are_no_obstacles() {
        let text = "%%cuda\n/* __global__ void no(T x) */\n__global__ void __launch_bounds__(256, 2)\nmove_(const float* in, // from\n  float* out) { printf(\"__global__\"); }\n__device__ float f(float x) { return x; }";
        let rust = rust(text);
        assert!(rust.contains("pub fn move_(blocks"), "{rust}");
        assert!(rust.contains("r#in: &::onrush"), "{rust}");
        assert_eq!(rust.matches("-> ::onrush::cuda::LaunchReport").count(), 1);
        let rust = self::rust("%%cuda\n__global__ void k(int N, int threads) {}");
        assert!(rust.contains(", n_: i32, threads_: i32)") && rust.contains(".scalar(\"N\", n_)"), "{rust}");
    }

    #[test]
    fn each_header_that_is_not_there_has_its_own_advice() {
        let help = |header: &str| {
            let text = format!("%%cuda\n#include <{header}>\n__global__ void k() {{}}");
            generate(&text, 1, Target::Device, "cell_1.rs").unwrap_err().help[0].clone()
        };
        for (header, said) in [
            ("cuda_fp16.h", "`float`"),
            ("cooperative_groups/reduce.h", "`__syncthreads()`"),
            ("cub/cub.cuh", "`atomicAdd(…)`"),
            ("curand_kernel.h", "random numbers in Rust"),
            ("thrust/sort.h", "`f.sort(\"x\")`"),
            ("helper_math.h", "into the cell"),
            ("vector", "leave the line out"),
        ] {
            assert!(help(header).contains(said), "{}", help(header));
        }
        rust("%%cuda\n#include <cstring>\n#include <vector_types.h>\n__global__ void k() {}");
    }

    #[test]
    fn variables_are_no_functions() {
        for text in [
            "__device__ int n;",
            "__device__ float table[2] = {1, 2};",
            "__device__ int n = f(1);",
            "__managed__ int n;",
        ] {
            assert!(has_variables(text), "{text}");
        }
        assert!(!has_variables("__device__ float f(float x) { return x; } // __device__ int n;"));
    }

    #[test]
    fn kernels_that_are_left_out_are_not_there() {
        let rust = rust(
            "%%cuda\n#if 0\n__global__ void off(int* a) {}\n#endif\n#ifdef X\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n__global__ void on(int* a) {}\nextern \"C\" {\n__global__ void c(int* a) {}\n}",
        );
        assert!(!rust.contains("pub fn off") && rust.contains("pub fn on(") && rust.contains("pub fn c("), "{rust}");
        assert!(rust.contains("void off(int* a) {}"), "the compiler gets the text as it is");
    }

    #[test]
    fn what_cannot_be_is_said_at_its_place() {
        refused("template <typename T>\n__global__ void k(T* a) {}", "template", "__global__");
        refused("__global__ int k(float* a) {}", "returns `int`", "k");
        refused("__global__ void k(float& a) {}", "reference", "float& a");
        refused("__global__ void k(int n, float** a) {}", "pointer to pointers", "float** a");
        refused("__global__ void k(Particle* p) {}", "`Particle*`", "Particle* p");
        refused("__global__ void k(float*) {}", "no name", "float*");
        refused("__global__ void k(int n, , float* a) {}", "missing", ",");
        refused("__global__ void k(int n, float* n) {}", "two parameters", "float* n");
        refused("__global__ void k(void* a) {}", "void*", "void* a");
        refused("__global__ void k(int n = 3) {}", "default", "int n = 3");
        refused("#include <vector>\n__global__ void k() {}", "`vector`", "#include <vector>");
        refused("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }", "launched from a Rust cell", "<<<");
        refused("__global__ void k() {}\nint main() {}", "no `main`", "main");
        refused("__device__ void f() {}", "no `__global__`", "%%cuda");
        refused("__global__ void k() {}\n__global__ void k() {}", "two kernels", "k");
        refused("  ", "followed by nothing", "%%cuda");
        refused(
            "#include <cooperative_groups.h>\n__global__ void k() {}",
            "`cooperative_groups.h`",
            "#include <cooperative_groups.h>",
        );
        refused("__global__ void dyn(int* a) {}", "a word of Rust", "dyn");
        refused("__global__ void gen(int* a) {}", "a word of Rust", "gen");
        refused("__global__ void memcpy(int* a) {}", "a function that CUDA has", "memcpy");
        refused("__global__ void expf(int* a) {}", "a function that CUDA has", "expf");
        refused("__global__ void __k(int* a) {}", "kept for compilers", "__k");
        refused("namespace a {\n__global__ void k(int* a) {} }", "inside of a namespace", "k");
        refused("__global__ void k(int* a) {\n  if (a) {\n}\n__global__ void l(int* a) {}", "a `}` is missing", "l");
        refused("__global__ void k() { extern __shared__ float s; }", "without a length", "s");
        refused("__global__ void k() { __shared__ int sum = 0; }", "`sum` is `__shared__`", "sum");
        refused("__global__ void k() { __shared__ float s[2][3]{}; }", "`s` is `__shared__`", "s");
        refused("__global__ void l(int* a) {}\n__global__ void k(int* a) { l(a); }", "`l` is a kernel", "l");
        rust(
            "%%cuda\n__global__ void k(int* a);\n__global__ void k(int* a) { int l = 1; }\n__global__ void l(int* a) { k.l(a); }",
        );
        refused("__global__ void k(int* a) {\n  if (a) {\n}\n", "this `{` has no `}`", "{");
        rust("%%cuda\n__global__ void k() { __shared__ float s[1 == 1 ? 2 : 3]; __shared__ struct { int a; } t; }");
        rust("%%cuda\n#define BEGIN {\n__global__ void k() BEGIN }");
        refused("extern __shared__ __align__(8) float tile[64];\n__global__ void k() {}", "without a length", "tile");
    }
}
