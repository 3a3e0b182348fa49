//! What compilers say of a text, taken apart.

/// One error of a compiler; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub line: u32,
    pub column: Option<u32>,
    pub message: String,
}

/// The errors about a file in what g++, clang or NVRTC says: `file:7:5: error: …` or `file(7): error: …`.
pub fn complaints(log: &str, file: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once(file) else { continue };
        let place = match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(')').map(|(line, rest)| (line.to_string(), rest)),
            None => {
                rest.strip_prefix(':').and_then(|rest| rest.split_once(": ")).map(|(p, rest)| (p.to_string(), rest))
            }
        };
        let Some((place, rest)) = place else { continue };
        let Some((kind, message)) = rest.trim_start_matches([':', ' ']).split_once("error") else {
            // clang and g++ have the kind behind the place.
            continue;
        };
        if !(kind.is_empty() || kind == "fatal " || kind == "catastrophic ") {
            continue;
        }
        // NVRTC may number its errors: `error #20: `, `error: `.
        let message = message.split_once(": ").map_or(message, |(_, text)| text).trim();
        let mut numbers = place.split(':').map(|number| number.trim().parse::<u32>());
        let Some(Ok(line)) = numbers.next() else { continue };
        let column = numbers.next().and_then(Result::ok);
        found.push(Complaint { line, column, message: plain(message) });
    }
    found
}

/// Names between backticks, without the emulation's own.
fn plain(message: &str) -> String {
    let text = message.replace(['\'', '"'], "`").replace("struct uint3", "uint3").replace("{aka ", "{");
    text.trim_end_matches('.').to_string()
}
