//! User-defined functions of `%%cuda` cells: finds the `__device__` functions that `x!` can call once per row, and the
//! source they need.
//!
//! Only function heads are parsed. The compiler checks the bodies.

use onrush_wire::reserved_names;

use super::{QUALIFIERS, Reader, is_type_word, is_word, rust_type};

/// A function of numbers that returns a number.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The byte offset of the name.
    pub at: usize,
    /// Parameter names, and types in Rust's spelling.
    pub parameters: Vec<(String, &'static str)>,
    pub result: &'static str,
}

/// A function that `x!` cannot call.
#[derive(Debug, PartialEq, Eq)]
pub struct RejectedFunction {
    pub name: String,
    pub why: String,
}

/// Specifiers that a head may have in addition to its types.
const SPECIFIERS: &[&str] = &[
    "static",
    "inline",
    "extern",
    "constexpr",
    "const",
    "volatile",
    "__device__",
    "__host__",
    "__forceinline__",
    "__noinline__",
    "__inline__",
];

/// Words before parentheses that are not a parameter list.
const WITH_ARGUMENTS: &[&str] = &["__attribute__", "__launch_bounds__", "__align__", "alignas", "noexcept", "decltype"];

/// Features of CUDA kernels only: block indices, and synchronisation of threads.
const OF_KERNELS: &[&str] = &[
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "__shared__",
    "__syncthreads",
    "__syncthreads_count",
    "__syncthreads_and",
    "__syncthreads_or",
    "__syncwarp",
    "__shfl_sync",
    "__shfl_up_sync",
    "__shfl_down_sync",
    "__shfl_xor_sync",
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__match_any_sync",
    "__match_all_sync",
    "__activemask",
];

/// The functions of a source without comments and strings.
pub fn find(masked: &str) -> (Vec<Function>, Vec<RejectedFunction>) {
    let bare = without_directives(masked);
    let mut heads: Vec<Head> = Vec::new();
    for at in super::words(&bare, "__device__") {
        let found = Head::read(&bare, at);
        heads.extend(found.filter(|head| heads.iter().all(|other| other.at != head.at)));
    }
    let mut busy: Vec<(&str, String)> = Vec::new();
    loop {
        let next = heads.iter().find_map(|head| {
            let uses = |word: &str| super::find_word(head.body, word).is_some();
            if busy.iter().any(|(name, _)| *name == head.name) {
                return None;
            }
            let own = OF_KERNELS.iter().find(|word| uses(word)).map(|word| word.to_string());
            let others = || busy.iter().find(|(name, _)| uses(name)).map(|(_, word)| word.clone());
            Some((head.name, own.or_else(others)?))
        });
        match next {
            Some(found) => busy.push(found),
            None => break,
        }
    }
    let (mut functions, mut left) = (Vec::new(), Vec::<RejectedFunction>::new());
    for head in &heads {
        let several = heads.iter().filter(|other| other.name == head.name).count() > 1;
        let word = busy.iter().find(|(name, _)| *name == head.name);
        let refusal = if several {
            Some("there are several functions of that name".to_string())
        } else if super::validation::is_keyword(head.name) {
            Some("its name is a word of Rust".to_string())
        } else if reserved_names::is_taken(head.name) {
            Some("`x!` has a function of that name".to_string())
        } else {
            word.map(|(_, word)| {
                format!("it uses `{word}`, and there are no blocks of threads: it is called once for each row")
            })
        };
        let function = match refusal {
            Some(why) => Err(why),
            None => head.function(),
        };
        match function {
            Ok(function) => functions.push(function),
            Err(_) if left.iter().any(|other| other.name == head.name) => {}
            Err(why) => left.push(RejectedFunction { name: head.name.to_string(), why }),
        }
    }
    (functions, left)
}

/// The head and the body of a function definition.
struct Head<'a> {
    name: &'a str,
    at: usize,
    is_template: bool,
    /// The result type before the name, without specifiers.
    result: Vec<&'a str>,
    parameters: &'a str,
    body: &'a str,
}

impl<'a> Head<'a> {
    /// The function of this `__device__`, if it defines a function here, outside of all braces.
    fn read(bare: &'a str, device: usize) -> Option<Head<'a>> {
        let start = statement(bare, device);
        if depth(&bare[..start]) > 0 {
            return None;
        }
        let mut reader = Reader { text: bare, at: start };
        let (mut tokens, mut is_template) = (Vec::new(), false);
        loop {
            if let Some(word) = reader.word() {
                match word {
                    "template" => {
                        is_template = true;
                        reader.takes('<').then(|| reader.until('<', '>'))?;
                    }
                    _ if WITH_ARGUMENTS.contains(&word) => {
                        if reader.takes('(') {
                            reader.inside()?;
                        }
                        if word == "decltype" {
                            tokens.push(word);
                        }
                    }
                    _ => tokens.push(word),
                }
                continue;
            }
            let at = reader.at;
            match bare[at..].chars().next()? {
                '(' => break,
                '<' => {
                    reader.at += 1;
                    reader.until('<', '>')?;
                    tokens.push("<…>");
                }
                '*' | '&' | ':' => {
                    reader.at += 1;
                    tokens.push(&bare[at..at + 1]);
                }
                // A variable, a type, an operator.
                _ => return None,
            }
        }
        let name = tokens.pop().filter(|name| !SPECIFIERS.contains(name) && name.starts_with(is_word))?;
        // A member that is defined outside of its type.
        if tokens.last() == Some(&":") || tokens.contains(&"operator") || name == "operator" {
            return None;
        }
        let at = bare[..reader.at].rfind(name)?;
        reader.takes('(');
        let (_, parameters) = reader.inside()?;
        let result = tokens.into_iter().filter(|token| !SPECIFIERS.contains(token)).collect();
        while matches!(reader.word(), Some("const" | "noexcept")) {}
        let body = reader.at;
        if !reader.takes('{') {
            return None;
        }
        reader.until('{', '}')?;
        Some(Head { name, at, is_template, result, parameters, body: &bare[body..reader.at] })
    }

    fn function(&self) -> Result<Function, String> {
        if self.is_template {
            return Err("it is a template: write it for the type that you need".to_string());
        }
        let result = number("it gives", &self.result)?;
        let mut parameters: Vec<(String, &'static str)> = Vec::new();
        let pieces = pieces(self.parameters);
        let is_empty = matches!(pieces[..], [only] if matches!(only.trim(), "" | "void"));
        for piece in pieces.into_iter().filter(|_| !is_empty) {
            let (name, kind) = parameter(piece)?;
            let name = name.filter(|name| {
                let as_rust = super::parameter_name(name);
                parameters.iter().all(|(other, _)| super::parameter_name(other) != as_rust)
            });
            let number = parameters.len() + 1;
            parameters.push((name.map_or_else(|| format!("argument_{number}"), str::to_string), kind));
        }
        Ok(Function { name: self.name.to_string(), at: self.at, parameters, result })
    }
}

/// The name of a parameter, if it has one, and its type.
fn parameter(piece: &str) -> Result<(Option<&str>, &'static str), String> {
    // The default value is for C++: a call from a cell gives all arguments.
    let piece = piece.split('=').next().unwrap_or(piece);
    let mut tokens = Vec::new();
    let mut reader = Reader { text: piece, at: 0 };
    loop {
        match reader.word() {
            Some(word) => tokens.push(word),
            None if reader.at < piece.len() => {
                let end = reader.at + piece[reader.at..].chars().next().map_or(1, char::len_utf8);
                tokens.push(&piece[reader.at..end]);
                reader.at = end;
            }
            None => break,
        }
    }
    tokens.retain(|token| !QUALIFIERS.contains(token));
    let is_array = tokens.ends_with(&["[", "]"]);
    let words = &tokens[..tokens.len() - if is_array { 2 } else { 0 }];
    let is_name = |last: &&&str| last.chars().all(is_word) && words.len() > 1 && !is_type_word(last);
    let name = words.last().filter(is_name).copied();
    let what = match name {
        Some(name) => format!("its parameter `{name}` is"),
        None => "a parameter is".to_string(),
    };
    let mut types = words[..words.len() - usize::from(name.is_some())].to_vec();
    types.extend(is_array.then_some("*"));
    Ok((name, number(&what, &types)?))
}

/// A number type, or `bool`.
fn number(what: &str, words: &[&str]) -> Result<&'static str, String> {
    let shown = words.join(" ").replace(" *", "*").replace(" &", "&").replace(" : : ", "::");
    if let Some(found) = rust_type(&shown) {
        return Ok(found);
    }
    let of_columns = "columns hold numbers and `bool`";
    Err(match shown.as_str() {
        "void" => format!("{what} nothing (`void`)"),
        "" => format!("{what} what is not said"),
        _ if shown.contains('&') => format!("{what} a reference (`{shown}`), and {of_columns}"),
        _ if shown.contains(['*', '[']) => format!("{what} a pointer (`{shown}`), and {of_columns}"),
        _ => format!("{what} `{shown}`, and {of_columns}"),
    })
}

/// The parameters of a list, one by one.
fn pieces(list: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '{' | '[' => depth += 1,
            ')' | '>' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found
}

/// The start of the statement that contains a byte of the source.
fn statement(bare: &str, at: usize) -> usize {
    bare[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1)
}

fn depth(text: &str) -> i32 {
    text.chars().map(|c| i32::from(c == '{') - i32::from(c == '}')).sum()
}

/// Preprocessor lines and their continuation lines, blanked out.
fn without_directives(masked: &str) -> String {
    let mut goes_on = false;
    let lines = masked.split_inclusive('\n').map(|line| {
        let is_directive = goes_on || line.trim_start().starts_with('#');
        goes_on = is_directive && line.trim_end().ends_with('\\');
        if is_directive { blank(line) } else { line.to_string() }
    });
    lines.collect()
}

/// Blanks with as many bytes and lines as the source.
pub fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// The source without its CUDA kernels, each function under its plain name, for expressions. An edit of a kernel does
/// not change it.
pub fn without_kernels(source: &str, masked: &str) -> String {
    let bare = without_directives(masked);
    let mut out = source.to_string();
    for at in super::words(&bare, "__global__") {
        let mut reader = Reader { text: &bare, at };
        let opens = bare[at..].find(['{', ';']).map_or(bare.len(), |end| at + end);
        reader.at = opens;
        let end = match reader.takes('{') {
            true => reader.until('{', '}').map_or(bare.len(), |()| reader.at),
            false => (opens + 1).min(bare.len()),
        };
        let start = statement(&bare, at);
        // Directives stay: functions may need a macro or the end of an `#if`.
        let mut from = start;
        for line in bare[start..end].split_inclusive('\n') {
            let to = from + line.len();
            let is_kernel = !line.trim().is_empty() || masked[from..to].trim().is_empty();
            if is_kernel {
                out.replace_range(from..to, &blank(&source[from..to]));
            }
            from = to;
        }
    }
    // Within a namespace the name would be equal in all sources.
    for at in super::words(&bare, "extern") {
        let rest = &out[at + "extern".len()..];
        let linkage = rest.trim_start();
        if let Some(after) = linkage.strip_prefix("\"C\"").filter(|after| !after.trim_start().starts_with('{')) {
            let end = out.len() - after.len();
            let gap = blank(&out[at..end]);
            out.replace_range(at..end, &gap);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> String {
        let (functions, left) = find(&crate::cuda::mask(text));
        let shown = |function: &Function| {
            assert_eq!(text[function.at..function.at + function.name.len()], function.name);
            let list: Vec<String> = function.parameters.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
            format!("{}({}) {}", function.name, list.join(", "), function.result)
        };
        let left = left.iter().map(|left| format!("no {}: {}", left.name, left.why));
        functions.iter().map(shown).chain(left).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn heads_of_all_kinds() {
        assert_eq!(names("__device__ float f(float x) { return x; }"), "f(x f32) f32");
        assert_eq!(
            names(
                "static __forceinline__ __host__ __device__ unsigned long long int /* of */ f // two\n(const int a, bool\n b) { return a; }"
            ),
            "f(a i32, b bool) u64"
        );
        assert_eq!(
            names("inline __device__ double f(double x, double k = g(1, 2)) noexcept { return x; }"),
            "f(x f64, k f64) f64"
        );
        assert_eq!(
            names("double __device__ f(double, long n, uint8_t) { return 1; }"),
            "f(argument_1 f64, n i64, argument_3 u8) f64"
        );
        assert_eq!(names("__device__ int f(void) { return 1; }\n__device__ int g() { return 2; }"), "f() i32; g() i32");
        assert_eq!(
            names("#define F(x) \\\n  __device__ int x() { return 1; }\n__device__ int g(int N, int n) { return n; }"),
            "g(N i32, n i32) i32"
        );
        assert_eq!(names("__device__ __attribute__((noinline)) int f(int x) { return x; }"), "f(x i32) i32");
        assert_eq!(names("extern \"C\" __device__ int f(int x) { return x; }"), "f(x i32) i32");
        assert_eq!(names("__device__ int f(int x);\n__device__ int f(int x) { return x; }"), "f(x i32) i32");
        // A declaration that is not a function, or not a free function.
        assert_eq!(names("__device__ float table[2] = {1, 2};\n__device__ int n;\n// __device__ int f(int x) { }"), "");
        assert_eq!(
            names(
                "struct P { float x; __device__ float f(float y) { return x; } };\nnamespace a { __device__ int g(int x) { return x; } }"
            ),
            ""
        );
        assert_eq!(
            names("__device__ P operator+(P a, P b) { return a; }\n__device__ float P::f(float x) { return x; }"),
            ""
        );
    }

    #[test]
    fn what_cannot_be_called_has_a_reason() {
        let has = |text: &str, why: &str| {
            assert!(names(text).starts_with("no ") && names(text).contains(why), "{}", names(text))
        };
        has("__device__ void f(int x) {}", "no f: it gives nothing (`void`)");
        has(
            "__device__ float f(const float* data, int n) { return 0; }",
            "its parameter `data` is a pointer (`float*`)",
        );
        has("__device__ float f(float& x) { return 0; }", "its parameter `x` is a reference (`float&`)");
        has("__device__ float f(Point p) { return 0; }", "its parameter `p` is `Point`");
        has("__device__ float f(int data[], float) { return 0; }", "its parameter `data` is a pointer (`int*`)");
        has("__device__ Point f(float x) { return {}; }", "it gives `Point`");
        has("__device__ const float* f(float x) { return 0; }", "it gives a pointer (`float*`)");
        has("template <typename T, int N = (3 > 2)> __device__ T f(T x) { return x; }", "template");
        has("__device__ int f(int x) { return x; }\n__device__ float f(float x) { return x; }", "several");
        has("__device__ float loop(float x) { return x; }", "its name is a word of Rust");
        has("__device__ float abs(float x) { return x; }", "`x!` has a function of that name");
        has("__device__ int f(int x) { return threadIdx.x; }", "it uses `threadIdx`");
        let through =
            names("__device__ int f(int x) { __syncthreads(); return x; }\n__device__ int g(int x) { return f(x); }");
        assert!(through.contains("no g: it uses `__syncthreads`"), "{through}");
    }

    #[test]
    fn kernels_are_left_out_of_what_expressions_take_along() {
        let text = "\nextern \"C\" __global__ void k(float* a)\n{ if (a) { *a = 'é'; } } __device__ int f(int x) { return x; }\n__global__ void later(int n);\nextern \"C\" __device__ int g() { return 1; }";
        let left = without_kernels(text, &crate::cuda::mask(text));
        assert_eq!(left.lines().count(), text.lines().count());
        assert!(!left.contains("__global__") && !left.contains("*a") && !left.contains("\"C\""), "{left}");
        assert!(
            left.contains("__device__ int f(int x) { return x; }\n")
                && left.contains("__device__ int g() { return 1; }")
        );
    }

    #[test]
    fn directives_around_a_kernel_and_in_it_stay() {
        let text = "#define N 16\n#define M \\\n  2\n__global__ void k(float* a) {\n#ifdef N\n  a[0] = 1;\n#endif\n}\n#ifdef N\n__global__ void l(float* a) {}\n#endif\n__device__ int f(int x) { return x * N * M; }\n";
        assert_eq!(
            without_kernels(text, &crate::cuda::mask(text))
                .split('\n')
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n"),
            "#define N 16\n#define M \\\n  2\n\n#ifdef N\n\n#endif\n\n#ifdef N\n\n#endif\n__device__ int f(int x) { return x * N * M; }\n"
        );
    }
}
