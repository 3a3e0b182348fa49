//! The text that a compiler gets for a `%%cuda` cell: the cell's lines stay the cell's.

mod dynamic_shared_memory;
pub mod instrument_uninitialized;
pub mod lint_condition;

use onrush_device::C_CONSTANTS;
use onrush_wire::worker::Source;

/// Types that people expect without a header. The types of the headers, if a compiler has them built in.
const TYPES: &str = "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t; \
    typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;";
/// The same, of headers that are read less often: for cells that use them.
const SYSTEM_TYPES: &[(&str, &str)] = &[
    ("intptr_t", "long"),
    ("uintptr_t", "unsigned long"),
    ("ushort", "unsigned short"),
    ("uint", "unsigned int"),
    ("ulong", "unsigned long"),
];

fn types(text: &str) -> String {
    let words: Vec<&str> = text.split(|c| !instrument_uninitialized::is_word(c)).collect();
    let used = SYSTEM_TYPES.iter().filter(|(name, _)| words.contains(name));
    used.fold(TYPES.to_string(), |types, (name, of)| format!("{types} typedef {of} {name};"))
}

/// With `emulated`, dynamic shared memory is a pointer. A kernel without a definition keeps the module from being
/// loaded there, as its address stands in a table.
pub fn text(source: &Source, emulated: bool) -> String {
    let text = without_static(source.text.clone());
    let body = if emulated { dynamic_shared_memory::with_pointers(&text, &source.file) } else { text };
    let table = match emulated && !source.kernels.is_empty() {
        true => {
            let addresses: Vec<String> = source.kernels.iter().map(|kernel| format!("(void*)&{kernel}")).collect();
            let list = addresses.join(", ");
            format!("#line 1 \"kernels\"\n__attribute__((used)) static void* const onrush_kernels[] = {{{list}}};\n")
        }
        false => String::new(),
    };
    let assert = if emulated { "" } else { "#ifndef assert\n#define assert(c) ((c) ? (void)0 : __trap())\n#endif\n" };
    let types = types(&source.text);
    let before = format!("#line 1 \"names\"\n{C_CONSTANTS}{types}\n{assert}{}\n", source.declarations);
    format!("{before}#line 1 \"{}\"\n{body}\n{table}", source.file)
}

/// `static` before or behind a `__global__` is left out: the kernel is declared before the text, and NVRTC would give
/// it another name.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_headers_are_there_for_who_uses_them() {
        assert_eq!(types("int uint8; unsigned int x; // uints"), TYPES);
        assert_eq!(types("void k(const uint* a) {}"), format!("{TYPES} typedef unsigned int uint;"));
    }

    #[test]
    fn kernels_are_not_static() {
        let found = |text: &str| without_static(text.to_string());
        assert_eq!(found("static __global__ void k() {}"), "       __global__ void k() {}");
        assert_eq!(found("__global__\nstatic void k() {}"), "__global__\n       void k() {}");
        let others = "nonstatic __global__ void k(); static int x; __global__ statics k();";
        assert_eq!(found(others), others);
    }
}
