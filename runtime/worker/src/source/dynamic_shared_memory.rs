//! Dynamic shared memory on the emulated device: `extern __shared__ float tile[];` is a pointer to the block's memory.
//! Inside of a function it is a variable. Outside of all functions it is a macro. The macro ends with the text, or
//! where a function, a struct or a parameter list has the name for something else.

use super::instrument_uninitialized::{is_word, masked};

/// Words before the type, in any order.
const WORDS: &[&str] = &["extern", "__shared__", "static", "volatile"];
/// Words behind which a name is used, and not declared.
const USES: &[&str] = &["return", "case", "else", "do", "throw", "goto", "delete", "new", "sizeof", "and", "or", "not"];
const TYPES: &[&str] = &[
    "auto", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "void", "size_t", "uchar",
    "float2", "float3", "float4", "int2", "int4", "double2", "T",
];

struct Declaration {
    /// From the first word to behind the `;`, in bytes.
    start: usize,
    end: usize,
    element: String,
    name: String,
    inside: bool,
}

impl Declaration {
    fn pointer(&self) -> String {
        format!("(({}*)onrush_fiber->dynamic_shared)", self.element)
    }
}

/// The text for the host's compiler. Lines and columns stay as they are, but for the code behind a declaration on its
/// line in a function.
pub fn with_pointers(text: &str, file: &str) -> String {
    let masked = masked(text);
    let found = declarations(&masked);
    // If a directive stands alone, the code behind it begins in its own column again.
    let directive = |at: usize, directive: String| {
        let (line, start) = place(text, at);
        format!("\n{directive}\n#line {line} \"{file}\"\n{}", " ".repeat(text[start..at].chars().count()))
    };
    let mut changes: Vec<(usize, usize, String)> = Vec::new();
    for one in &found {
        let lines = "\n".repeat(text[one.start..one.end].matches('\n').count());
        if one.inside {
            let pointer = format!("{}* {} = {};{lines}", one.element, one.name, one.pointer());
            changes.push((one.start, one.end, pointer));
            continue;
        }
        let define = format!("#define {} {}", one.name, one.pointer());
        changes.push((one.start, one.end, directive(one.end, define.clone())));
        for (from, to) in parts(&masked).into_iter().filter(|(from, _)| *from >= one.end) {
            let part = &masked[from..to];
            let declares = declares(part, &one.name);
            let body = part.find('{').filter(|_| !declares && has_member(part, &one.name));
            if let Some(body) = body {
                // A function that uses another's member of this name has a variable.
                let at = from + body + 1;
                changes.push((at, at, format!("{}* {} = {};", one.element, one.name, one.pointer())));
            }
            if declares || body.is_some() {
                changes.push((from, from, directive(from, format!("#undef {}", one.name))));
                changes.push((to, to, directive(to, define.clone())));
            }
        }
    }
    // Ends at a position come before begins at the same position.
    changes.sort_by_key(|(from, to, text)| (*from, *to, text.contains("#undef")));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (from, to, change) in changes {
        out.push_str(&text[at..from]);
        out.push_str(&change);
        at = to;
    }
    out.push_str(&text[at..]);
    for one in found.iter().filter(|one| !one.inside) {
        out.push_str(&format!("\n#undef {}", one.name));
    }
    out
}

/// The line of a place, from 1, and where it begins.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    (before.matches('\n').count() + 1, before.rfind('\n').map_or(0, |end| end + 1))
}

fn declarations(masked: &str) -> Vec<Declaration> {
    let mut found: Vec<Declaration> = Vec::new();
    let mut depth = 0;
    for (at, c) in masked.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        let free = !masked[..at].ends_with(is_word) && found.last().is_none_or(|last| last.end <= at);
        if free && (masked[at..].starts_with("extern") || masked[at..].starts_with("__shared__")) {
            found.extend(declaration(masked, at, depth > 0));
        }
    }
    found
}

fn declaration(masked: &str, start: usize, inside: bool) -> Option<Declaration> {
    let end = start + masked[start..].find(';')? + 1;
    let mut inner = masked[start..end - 1].trim_end().strip_suffix(']')?.trim_end().strip_suffix('[')?.trim_end();
    let (mut is_extern, mut is_shared, mut is_volatile) = (false, false, false);
    loop {
        inner = inner.trim_start();
        let word = &inner[..inner.find(|c| !is_word(c)).unwrap_or(inner.len())];
        if matches!(word, "__align__" | "alignas") {
            inner = inner.split_once(')')?.1;
            continue;
        }
        if !WORDS.contains(&word) {
            break;
        }
        is_extern |= word == "extern";
        is_shared |= word == "__shared__";
        is_volatile |= word == "volatile";
        inner = &inner[word.len()..];
    }
    let name = &inner[inner.rfind(|c| !is_word(c))? + 1..];
    let element = inner[..inner.len() - name.len()].trim();
    let element = if is_volatile { format!("volatile {element}") } else { element.to_string() };
    let is_one = is_extern && is_shared && !name.is_empty() && !inner[..inner.len() - name.len()].trim().is_empty();
    is_one.then(|| Declaration { start, end, element, name: name.to_string(), inside })
}

/// The parts of the top level, one after the other: functions with their bodies, structs, declarations.
fn parts(masked: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut from, mut depth) = (0, 0);
    for (at, c) in masked.char_indices() {
        depth += i32::from("{(".contains(c)) - i32::from("})".contains(c));
        let ends = c == ';' || c == '}' && !masked[at + 1..].trim_start().starts_with(';');
        if depth == 0 && ends {
            let begin = from + masked[from..].len() - masked[from..].trim_start().len();
            if begin < at {
                found.push((begin, at + 1));
            }
            from = at + 1;
        }
    }
    found
}

fn has_member(part: &str, name: &str) -> bool {
    part.match_indices(name).any(|(at, _)| {
        (part[..at].trim_end().ends_with('.') || part[..at].trim_end().ends_with("->"))
            && !part[at + name.len()..].starts_with(is_word)
    })
}

/// Whether a part of the text has a parameter, a variable or a member of this name.
fn declares(part: &str, name: &str) -> bool {
    let head = part.find('{').unwrap_or(part.len());
    part.match_indices(name).any(|(at, _)| {
        let behind = part[at + name.len()..].chars().next();
        if part[..at].ends_with(is_word) || behind.is_some_and(is_word) {
            return false;
        }
        let mut before = part[..at].trim_end();
        let mut stars = false;
        loop {
            let rest = before.trim_end_matches(['*', '&']).trim_end();
            stars |= rest.len() < before.len() && before.ends_with(['*', '&']);
            let word =
                ["__restrict__", "__restrict", "const", "volatile"].into_iter().find_map(|w| rest.strip_suffix(w));
            before = word.unwrap_or(rest).trim_end();
            if word.is_none() {
                break;
            }
        }
        let word = &before[before.rfind(|c| !is_word(c)).map_or(0, |at| at + 1)..];
        match stars {
            // A multiplication stands in a body.
            true => at < head && !word.is_empty() || TYPES.contains(&word),
            false => word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !USES.contains(&word),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(text: &str) -> String {
        with_pointers(text, "c.rs")
    }

    #[test]
    fn inside_it_is_a_variable() {
        let text = "__global__ void k() {\n  extern __shared__ float tile[];\n  tile[0] = 1; }\nexternal";
        assert_eq!(
            pointers(text),
            "__global__ void k() {\n  float* tile = ((float*)onrush_fiber->dynamic_shared);\n  tile[0] = 1; }\nexternal"
        );
        for head in
            ["extern volatile __shared__", "__shared__ extern volatile", "extern __shared__ __align__(16) volatile"]
        {
            let found = pointers(&format!("void k() {{ {head} int s[]; }}"));
            assert!(found.contains("volatile int* s = ((volatile int*)onrush_fiber->dynamic_shared);"), "{found}");
        }
        for other in
            ["extern int x;", "__shared__ int s[4];", "extern \"C\" void f();", "// extern __shared__ int s[];"]
        {
            assert_eq!(pointers(other), other);
        }
    }

    #[test]
    fn outside_it_is_a_macro_while_nothing_else_has_the_name() {
        let found = pointers("extern __shared__ __align__(16) unsigned int s[ ]; int x;\nint y;");
        let pad = " ".repeat("extern __shared__ __align__(16) unsigned int s[ ];".len());
        let define = "#define s ((unsigned int*)onrush_fiber->dynamic_shared)";
        assert_eq!(found, format!("\n{define}\n#line 1 \"c.rs\"\n{pad} int x;\nint y;\n#undef s"));
        for own in [
            "void f(float* s) { s[0] = 1; }",
            "void f(const float* __restrict__ s) {}",
            "void f() { float a, b; int s = 3; }",
            "struct P { int s; };",
        ] {
            let found = pointers(&format!("extern __shared__ int s[];\n{own}\nvoid g() {{ s[0] = 1; }}"));
            let order: Vec<&str> =
                found.lines().filter(|line| line.starts_with("#undef") || line.contains(own)).collect();
            assert_eq!(order, ["#undef s", own, "#undef s"], "{found}");
            assert_eq!(found.matches("#define s").count(), 2, "{found}");
        }
        let member = pointers("extern __shared__ int s[];\nvoid f(P p) { p.s = s[0]; }\n");
        assert!(
            member.contains(
                "#undef s\n#line 2 \"c.rs\"\nvoid f(P p) {int* s = ((int*)onrush_fiber->dynamic_shared); p.s = s[0]; }"
            ),
            "{member}"
        );
        for use_ in [
            "void f(int n) { return s[n]; }",
            "void f(int n) { x = n * s[n]; g(&s[1]); case s[1]: }",
            "int sum(int ss) {}",
        ] {
            let found = pointers(&format!("extern __shared__ int s[];\n{use_}\n"));
            assert_eq!(found.matches("#define s").count(), 1, "{found}");
        }
    }
}
