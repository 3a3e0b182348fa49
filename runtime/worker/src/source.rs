//! The text that a compiler gets for a `%%cuda` cell: the cell's lines stay the cell's.

pub mod condition;
pub mod unset;

use onrush_device::NAMES;
use onrush_wire::worker::Source;

/// Types that people expect without a header. Of the same types as the headers', where a compiler has them built in.
const TYPES: &str = "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t; \
    typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;";

/// `emulated`: dynamic shared memory is a pointer there, and a kernel that nothing defines keeps the module from being loaded, as its address
/// stands in a table.
pub fn text(source: &Source, emulated: bool) -> String {
    let text = without_static(source.text.clone());
    let body = if emulated { with_dynamic_shared(&text) } else { text };
    let table = match emulated && !source.kernels.is_empty() {
        true => {
            let addresses: Vec<String> = source.kernels.iter().map(|kernel| format!("(void*)&{kernel}")).collect();
            let list = addresses.join(", ");
            format!("#line 1 \"kernels\"\n__attribute__((used)) static void* const onrush_kernels[] = {{{list}}};\n")
        }
        false => String::new(),
    };
    let assert = if emulated { "" } else { "#ifndef assert\n#define assert(c) ((c) ? (void)0 : __trap())\n#endif\n" };
    let before = format!("#line 1 \"names\"\n{NAMES}{TYPES}\n{assert}{}\n", source.declarations);
    format!("{before}#line 1 \"{}\"\n{body}\n{table}", source.file)
}

/// `static` before or behind a `__global__` is left out: the kernel is declared before the text, and NVRTC would give it another name.
fn without_static(text: String) -> String {
    const KERNEL: &str = "__global__";
    const STATIC: &str = "static";
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = text;
    let kernels: Vec<usize> = out.match_indices(KERNEL).map(|(at, _)| at).collect();
    for at in kernels {
        let behind = at + KERNEL.len() + out[at + KERNEL.len()..].len() - out[at + KERNEL.len()..].trim_start().len();
        let before = out[..at].trim_end().len();
        let mut found = Vec::new();
        if out[behind..].strip_prefix(STATIC).is_some_and(|rest| !rest.starts_with(is_word)) {
            found.push(behind);
        }
        if out[..before].strip_suffix(STATIC).is_some_and(|rest| !rest.ends_with(is_word)) {
            found.push(before - STATIC.len());
        }
        for at in found {
            out.replace_range(at..at + STATIC.len(), &" ".repeat(STATIC.len()));
        }
    }
    out
}

/// `extern __shared__ float tile[];` as a pointer to the block's memory: inside a function a variable, outside of all a macro.
fn with_dynamic_shared(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("extern") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let free = !out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match declaration(rest).filter(|_| free) {
            Some((length, element, name)) => {
                let inside = depth(&out) > 0;
                let lines = "\n".repeat(rest[..length].matches('\n').count());
                out.push_str(&match inside {
                    true => format!("{element}* {name} = ({element}*)onrush_fiber->dynamic_shared;{lines}"),
                    false => format!("#define {name} (({element}*)onrush_fiber->dynamic_shared){lines}"),
                });
                rest = &rest[length..];
            }
            None => {
                out.push_str("extern");
                rest = &rest["extern".len()..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The length of a declaration of dynamic shared memory at the start of the text, the type and the name.
fn declaration(text: &str) -> Option<(usize, String, String)> {
    let end = text.find(';')? + 1;
    let inner = text[..end].strip_prefix("extern")?.trim_start().strip_prefix("__shared__")?;
    let inner = inner.strip_suffix(';')?.trim_end().strip_suffix(']')?.trim_end().strip_suffix('[')?.trim_end();
    let start = inner.rfind(|c: char| !(c.is_alphanumeric() || c == '_'))? + 1;
    let (mut element, name) = (inner[..start].trim(), &inner[start..]);
    for alignment in ["__align__", "alignas"] {
        if let Some(rest) = element.strip_prefix(alignment) {
            element = rest.split_once(')')?.1.trim();
        }
    }
    (!element.is_empty() && !name.is_empty()).then(|| (end, element.to_string(), name.to_string()))
}

/// How many braces are open at the end of a text.
fn depth(text: &str) -> i32 {
    text.chars().map(|c| i32::from(c == '{') - i32::from(c == '}')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_not_static() {
        let found = |text: &str| without_static(text.to_string());
        assert_eq!(found("static __global__ void k() {}"), "       __global__ void k() {}");
        assert_eq!(found("__global__\nstatic void k() {}"), "__global__\n       void k() {}");
        let others = "nonstatic __global__ void k(); static int x; __global__ statics k();";
        assert_eq!(found(others), others);
    }

    #[test]
    fn dynamic_shared_memory_is_a_pointer() {
        let text = "__global__ void k() {\n  extern __shared__ float tile[];\n  tile[0] = 1; }\nexternal";
        let found = with_dynamic_shared(text);
        assert_eq!(
            found,
            "__global__ void k() {\n  float* tile = (float*)onrush_fiber->dynamic_shared;\n  tile[0] = 1; }\nexternal"
        );
        let outside = with_dynamic_shared("extern __shared__ __align__(16) unsigned int s[ ];\nint x;");
        assert_eq!(outside, "#define s ((unsigned int*)onrush_fiber->dynamic_shared)\nint x;");
        assert_eq!(with_dynamic_shared("extern int x;"), "extern int x;");
    }
}
