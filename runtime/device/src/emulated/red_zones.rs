//! Space between the variables of a module, so that a pointer that walks out of one is seen before it is in the next
//! one. Done in the compiler's assembly, as neither C++ nor a linker has a word for it.

use std::collections::HashSet;
use std::fmt::Write;

/// Bytes on each side of a variable, as in runtime.cpp: a row of an array, or a warp's `double`s.
const RED_ZONE_BYTES: u64 = 256;

const DATA: [&str; 16] = [
    ".zero", ".long", ".quad", ".byte", ".value", ".string", ".ascii", ".asciz", ".short", ".octa", ".float",
    ".double", ".2byte", ".4byte", ".8byte", ".word",
];

/// The same assembly, its variables apart from each other.
pub fn with_red_zones(assembly: &str) -> String {
    let variables: HashSet<&str> = assembly.lines().filter_map(variable).collect();
    let space = format!("\t.zero\t{RED_ZONE_BYTES}\n");
    let mut out = String::with_capacity(assembly.len() * 5 / 4);
    let mut inside = false;
    let mut alignment = "";
    for line in assembly.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or("");
        if inside && !DATA.contains(&first) {
            out.push_str(&space);
            inside = false;
        }
        if first == ".comm" {
            let all = words.collect::<String>();
            if let [name, bytes, align] = all.split(',').collect::<Vec<_>>()[..] {
                let head = format!(".pushsection .bss\n\t.balign\t{align}\n{space}\t.balign\t{align}");
                let kind = format!("\t.type\t{name}, @object\n\t.size\t{name}, {bytes}");
                let _ = writeln!(out, "\t{head}\n{kind}\n{name}:\n\t.zero\t{bytes}\n{space}\t.popsection");
                continue;
            }
        }
        if line.strip_suffix(':').is_some_and(|name| variables.contains(name)) {
            let _ = writeln!(out, "{space}{alignment}");
            inside = true;
        }
        match first {
            ".align" | ".balign" | ".p2align" => alignment = line,
            ".section" | ".text" | ".data" | ".bss" => alignment = "",
            _ => {}
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The variable whose type a line gives. Data without a symbol is the compiler's own.
fn variable(line: &str) -> Option<&str> {
    let (name, kind) = line.trim_start().strip_prefix(".type")?.trim_start().split_once(',')?;
    let kind = kind.split_whitespace().next()?;
    (kind.ends_with("object") && !name.starts_with(".L")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_space_on_both_sides() {
        let gcc = "\t.data\n\t.align 16\n\t.type\ta, @object\n\t.size\ta, 8\na:\n\t.long\t1\n\t.long\t2\n\t.text\nk:\n\tret\n";
        let expected =
            "\t.size\ta, 8\n\t.zero\t256\n\t.align 16\na:\n\t.long\t1\n\t.long\t2\n\t.zero\t256\n\t.text\nk:\n\tret\n";
        assert!(with_red_zones(gcc).ends_with(expected), "{}", with_red_zones(gcc));
        let clang = "\t.type\tb,@object                # @b\n\t.bss\n\t.p2align\t3\nb:\n\t.quad\t0                # 0x0\n\t.size\tb, 8\n";
        let expected =
            "\t.zero\t256\n\t.p2align\t3\nb:\n\t.quad\t0                # 0x0\n\t.zero\t256\n\t.size\tb, 8\n";
        assert!(with_red_zones(clang).ends_with(expected), "{}", with_red_zones(clang));
        let common = with_red_zones("\t.local\tc\n\t.comm\tc,12,8\n\t.text\n");
        assert!(common.contains("\t.size\tc, 12\nc:\n\t.zero\t12\n\t.zero\t256\n\t.popsection\n\t.text\n"), "{common}");
        let own = "\t.type\t.Ldata0, @object\n.Ldata0:\n\t.quad\t1\n";
        assert_eq!(with_red_zones(own), own);
    }
}
