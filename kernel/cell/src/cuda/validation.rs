//! Checks of a `%%cuda` cell before a compiler sees it. They find unknown headers, host code, reserved names, and CUDA
//! kernels in places where no launch finds them.

use onrush_wire::{Diagnostic, Label};

use super::{Fails, Reader, find_word, is_word, words};

/// Headers whose contents are built in.
const BUILT_IN: &[&str] = &[
    "stdio.h",
    "cstdio",
    "stdint.h",
    "cstdint",
    "stddef.h",
    "cstddef",
    "math.h",
    "cmath",
    "assert.h",
    "cassert",
    "stdlib.h",
    "cstdlib",
    "string.h",
    "cstring",
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "device_functions.h",
    "math_constants.h",
    "vector_types.h",
    "vector_functions.h",
    "limits.h",
    "climits",
    "float.h",
    "cfloat",
];

/// Functions of C and CUDA, without the `f` of the float versions: compilers define them in every source.
const TAKEN: &[&str] = &[
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sincos",
    "sinpi",
    "cospi",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "logb",
    "ilogb",
    "pow",
    "sqrt",
    "rsqrt",
    "cbrt",
    "rcbrt",
    "hypot",
    "rhypot",
    "norm",
    "norm3d",
    "norm4d",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "lrint",
    "lround",
    "llrint",
    "llround",
    "fabs",
    "fmod",
    "remainder",
    "remquo",
    "modf",
    "frexp",
    "ldexp",
    "scalbn",
    "scalbln",
    "copysign",
    "nextafter",
    "fmin",
    "fmax",
    "fdim",
    "fma",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "erfcinv",
    "normcdf",
    "normcdfinv",
    "tgamma",
    "lgamma",
    "j0",
    "j1",
    "jn",
    "y0",
    "y1",
    "yn",
    "nan",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "fdivide",
    "abs",
    "labs",
    "llabs",
    "min",
    "max",
    "umin",
    "umax",
    "llmin",
    "llmax",
    "ullmin",
    "ullmax",
    "printf",
    "sprintf",
    "snprintf",
    "puts",
    "putchar",
    "memcpy",
    "memset",
    "memmove",
    "memcmp",
    "strlen",
    "strcmp",
    "strcpy",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "assert",
    "exit",
    "abort",
    "clock",
    "clock64",
];

/// Blanks out the lines that include built-in headers; others are errors.
pub fn without_includes(source: &str, masked: &str, fails: &Fails<'_>) -> Result<String, Diagnostic> {
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    for (line, visible) in source.split_inclusive('\n').zip(masked.split_inclusive('\n')) {
        let directive = visible.trim_start().strip_prefix('#').map(str::trim_start);
        if directive.is_some_and(|rest| rest.starts_with("include")) {
            let name = line.split(['<', '"']).nth(1).and_then(|rest| rest.split(['>', '"']).next()).unwrap_or("");
            if !BUILT_IN.contains(&name) {
                let message = format!("there is no header `{name}` for kernels");
                return Err(fails.at(at, line.trim_end().len(), "cuda-include", message).help(instead(name)));
            }
            // Keeps the length, so that later positions stay.
            out.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(line);
        }
        at += line.len();
    }
    Ok(out)
}

/// The replacement for a header that is not available.
fn instead(header: &str) -> &'static str {
    match header.split(['/', '.']).next().unwrap_or("") {
        "cuda_fp16" | "cuda_bf16" | "cuda_fp8" | "cuda_fp6" | "cuda_fp4" => {
            "floats of 16 bits and fewer are not there: compute in `float`"
        }
        "cooperative_groups" => {
            "cooperative groups are not there: `__syncthreads()` is for a block, `__syncwarp()` and `__shfl_sync(…)` are for a warp, and a separate launch is for a grid"
        }
        "cub" => {
            "CUB is not there: blocks sum up in `__shared__` memory, warps with `__shfl_down_sync(…)`, grids with `atomicAdd(…)`"
        }
        "thrust" => {
            "Thrust is not there: Rust sorts and sums up buffers (`data.sort_unstable()`, `data.iter().sum::<i32>()`), frames columns on the GPU (`f.sort(\"x\")`)"
        }
        "curand" | "curand_kernel" => {
            "cuRAND is not there: fill a buffer with random numbers in Rust, or let each thread make its own from its index"
        }
        "mma" | "wmma" => "tensor cores are not there: multiply tiles in `__shared__` memory",
        "cuComplex" => "complex numbers are not there: `float2` holds two floats, `make_float2(x, y)` makes one",
        "cuda" | "nv" => "CUDA's C++ library is not there: what kernels need no header for is",
        "cublas" | "cublas_v2" | "cufft" | "cusparse" | "cusolver" | "cudnn" => {
            "libraries of the host are not there: a `%%cuda` cell holds kernels only"
        }
        _ if header.ends_with(".h") || header.ends_with(".cuh") || header.ends_with(".hpp") => {
            "put what kernels need of it into the cell; what they need no header for is built in"
        }
        _ => {
            "leave the line out: the C++ standard library is not there on a GPU, and what kernels need no header for is built in"
        }
    }
}

/// Host code in a `.cu` file.
pub fn host_code(masked: &str, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    if let Some(at) = masked.find("<<<") {
        let before = masked[..at].trim_end();
        let name = before.rsplit(|c: char| !is_word(c)).next().unwrap_or("");
        let message = "a kernel is launched from a Rust cell, not from its own".to_string();
        return Err(fails
            .at(at, 3, "cuda-host", message)
            .help(format!("in another cell: `{name}(blocks, threads, …)` with the kernel's arguments behind")));
    }
    for word in ["cudaMalloc", "cudaMemcpy", "cudaFree", "cudaMallocManaged", "cudaDeviceSynchronize", "cudaMemset"] {
        if let Some(at) = find_word(masked, word) {
            let message = format!("`{word}` is the host's, and a `%%cuda` cell holds kernels only");
            return Err(fails.at(at, word.len(), "cuda-host", message)
                .help("a Rust cell makes the memory: `let mut data = Buffer::from(vec![0.0f32; n]);`, and launches wait for their end"));
        }
    }
    if let Some(at) = find_word(masked, "main").filter(|at| masked[at + 4..].trim_start().starts_with('(')) {
        let message = "a `%%cuda` cell has no `main`: it holds kernels only".to_string();
        return Err(fails.at(at, 4, "cuda-host", message).help("write what `main` does as Rust in another cell"));
    }
    Ok(())
}

/// `extern __shared__ float s;`: the launch sets the size, so only an array can be extern.
pub fn shared_without_length(masked: &str, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    for at in words(masked, "extern") {
        let mut reader = Reader { text: masked, at: at + "extern".len() };
        let Some(end) = masked[at..].find(';').filter(|_| reader.word() == Some("__shared__")) else { continue };
        let declared = &masked[reader.at..at + end];
        let (head, length) = declared.split_once('[').unwrap_or((declared, "none"));
        if length.trim_end().trim_end_matches(']').trim().is_empty() {
            continue;
        }
        let head = head.trim_end();
        let name = &head[head.rfind(|c| !is_word(c)).map_or(0, |at| at + 1)..];
        let place = reader.at + head.len() - name.len();
        let kind = head[..head.len() - name.len()].split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!("how long `{name}` is, the launch says: it is an array without a length");
        return Err(fails.at(place, name.len(), "cuda-shared", message).help(format!(
            "write `extern __shared__ {kind} {name}[];`, and launch with `256.shared(bytes)` in place of `256` threads; a block's own variable has no `extern`"
        )));
    }
    Ok(())
}

/// `__shared__ int sum = 0;`: shared memory cannot have an initialiser. Compilers of the host accept it.
pub fn shared_with_value(masked: &str, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    for at in words(masked, "__shared__") {
        let declared = &masked[at..at + masked[at..].find(';').unwrap_or(masked.len() - at)];
        let mut depth = 0;
        let Some(sign) = declared.find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            depth == 0 && matches!(c, '=' | '{')
        }) else {
            continue;
        };
        if ["struct", "union", "class", "enum"].into_iter().any(|word| find_word(&declared[..sign], word).is_some()) {
            continue;
        }
        let head = declared[..sign].trim_end();
        let name_end = head.find('[').unwrap_or(head.len());
        let name = head[..name_end].trim_end().rsplit(|c| !is_word(c)).next().unwrap_or("");
        // The compiler reports `__shared__` before something that is not a variable.
        if name.is_empty() || declared[..sign].contains('(') {
            continue;
        }
        let place = at + head[..name_end].rfind(name).unwrap_or(0);
        let message = format!("`{name}` is `__shared__`, and cannot have a value where it is declared");
        let help = match head.contains('[') {
            true => format!("let the threads set it: `{name}[threadIdx.x] = …;`, then `__syncthreads();`"),
            false => format!("let one thread set it: `if (threadIdx.x == 0) {name} = …;`, then `__syncthreads();`"),
        };
        return Err(fails.at(place, name.len(), "cuda-shared", message).help(help));
    }
    Ok(())
}

/// A CUDA kernel that another function of the cell calls like a device function.
pub fn called(name: &str, at: usize, masked: &str, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    for call in words(masked, name).filter(|call| *call != at) {
        let before = masked[..call].trim_end();
        let is_call = masked[call + name.len()..].trim_start().starts_with('(');
        // A declaration, a member, or a name of another namespace.
        if !is_call || before.ends_with(|c: char| is_word(c) || matches!(c, '.' | '>' | ':' | '*' | '&')) {
            continue;
        }
        let message = format!("`{name}` is a kernel, and only a launch can call it");
        return Err(fails
            .at(call, name.len(), "cuda-call", message)
            .help("put what both do into a `__device__` function; a launch from Rust is for a whole grid"));
    }
    Ok(())
}

/// A source that ends before all its braces are closed.
pub fn open_end(braces: &str, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    let Some(open) = open_brace(braces) else { return Ok(()) };
    let message = "this `{` has no `}`".to_string();
    Err(fails
        .at(open, 1, "cuda-brace", message)
        .help("each `{` needs its `}`: that of a function stands behind its last line"))
}

/// Whether a name is a keyword of Rust.
pub fn is_keyword(name: &str) -> bool {
    name == "gen" || syn::parse_str::<syn::Ident>(name).is_err()
}

/// Names of CUDA kernels that Rust or the compilers reserve.
pub fn name(name: &str, at: usize, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    let is_taken = TAKEN.iter().any(|taken| name.strip_prefix(taken).is_some_and(|rest| matches!(rest, "" | "f")))
        || name.strip_prefix("atomic").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    let why = if is_keyword(name) {
        "a word of Rust, where it is launched"
    } else if is_taken {
        "the name of a function that CUDA has"
    } else if name.starts_with("__") || name.starts_with("onrush_") {
        "of those that are kept for compilers"
    } else {
        return Ok(());
    };
    let message = format!("a kernel cannot be called `{name}`: that is {why}");
    let better = format!("{}_kernel", name.trim_start_matches('_'));
    Err(fails.at(at, name.len(), "cuda-name", message).help(format!("give it another name: `{better}`")))
}

/// A CUDA kernel inside of braces: of a namespace, or of a block that has no end.
pub fn place(name: &str, at: usize, braces: &str, fails: &Fails<'_>) -> Result<(), Diagnostic> {
    let Some(open) = open_brace(&braces[..at]) else { return Ok(()) };
    let head = &braces[braces[..open].rfind([';', '{', '}']).map_or(0, |end| end + 1)..open];
    let has = |word: &str| find_word(head, word).is_some();
    let refused = |message: String| fails.at(at, name.len(), "cuda-kernel", message);
    if has("namespace") || has("struct") || has("class") {
        let what = if has("namespace") { "namespace" } else { "type" };
        let message = format!("the kernel `{name}` stands inside of a {what}, where a launch does not find it");
        return Err(refused(message).help(format!(
            "put it behind the `}}` of the {what}: what it uses of that has the name in front, as in `name::function(x)`"
        )));
    }
    let mut error = refused(format!("the kernel `{name}` begins inside of other code: a `}}` is missing before it"));
    if let Some(opened) = fails.at(open, 1, "", String::new()).labels.pop() {
        error.labels.push(Label { text: "this is still open".to_string(), primary: false, ..opened });
    }
    Err(error.help("each `{` needs its `}`, that of the function, too"))
}

/// The innermost open brace at the end of a source, except those of `extern "C"`.
fn open_brace(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => open.push(at),
            '}' => _ = open.pop(),
            _ => {}
        }
    }
    open.into_iter().rev().find(|at| !text[..*at].trim_end().ends_with("extern"))
}

/// A source without comments and without plainly dead branches, such as those of `#if 0`. The second source is also
/// without `#else` branches and without macros, so that braces count once.
pub fn without_dead(masked: &str) -> (String, String) {
    struct Branch {
        dead: bool,
        /// Whether an earlier branch of this `#if` exists.
        later: bool,
        /// Whether the other branches are dead, because the first one is plainly taken.
        taken: bool,
    }
    let (mut live, mut first) = (String::with_capacity(masked.len()), String::with_capacity(masked.len()));
    let mut open: Vec<Branch> = Vec::new();
    let mut in_macro = false;
    for line in masked.split_inclusive('\n') {
        let directive = line.trim_start().strip_prefix('#').map(str::trim).unwrap_or("");
        let (word, condition) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        match word {
            "if" | "ifdef" | "ifndef" => {
                let plainly = |values: [&str; 2]| word == "if" && values.contains(&condition.trim());
                open.push(Branch { dead: plainly(["0", "false"]), later: false, taken: plainly(["1", "true"]) });
            }
            "else" | "elif" => {
                if let Some(branch) = open.last_mut() {
                    // After `#if 0` the next branch is live.
                    branch.later = !branch.dead || branch.later;
                    branch.dead = branch.taken;
                }
            }
            "endif" => _ = open.pop(),
            _ => {}
        }
        in_macro = word == "define" || in_macro;
        let is_dead = open.iter().any(|branch| branch.dead);
        let blank = || super::functions::blank(line);
        live.push_str(&if is_dead && word != "if" { blank() } else { line.to_string() });
        let is_first = !is_dead && !in_macro && open.iter().all(|branch| !branch.later);
        first.push_str(&if is_first { line.to_string() } else { blank() });
        in_macro = in_macro && line.trim_end().ends_with('\\');
    }
    (live, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_if_0_leaves_out_is_not_there() {
        let text = "a\n#if 0\nb {\n#ifdef X\nc\n#endif\n#else\nd\n#endif\n#ifdef Y\ne {\n#else\nf {\n#endif\n#if 1\ng\n#else\nh\n#endif\n";
        let shown =
            |text: &str| text.split_whitespace().filter(|word| word.len() == 1).collect::<String>().replace('#', "");
        let (live, first) = without_dead(text);
        assert_eq!(live.len(), text.len());
        assert_eq!(shown(&live).replace(['0', '1', 'X', 'Y'], ""), "ade{f{g");
        assert_eq!(shown(&first).replace(['0', '1', 'X', 'Y'], ""), "ade{g");
    }

    #[test]
    fn the_brace_that_is_open() {
        assert_eq!(open_brace("a { b } c {"), Some(10));
        assert_eq!(open_brace("namespace a { b { } }"), None);
        assert_eq!(open_brace("extern     { a {} "), None);
        let fails = Fails { text: "void k() {\n  if (x) {\n}", file: "c" };
        let found = open_end(fails.text, &fails).unwrap_err();
        assert_eq!((found.labels[0].span.line, found.labels[0].span.column), (1, 10));
    }
}
