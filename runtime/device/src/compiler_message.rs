//! Messages of compilers about a source, parsed.

/// One error of a compiler; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerMessage {
    pub line: u32,
    pub column: Option<u32>,
    pub message: String,
}

impl CompilerMessage {
    /// Column, from 1, and length of the word at the place in a text, or of the whole line without its indentation.
    /// NVRTC says no columns: there it is the first word that the message names.
    pub fn place(&self, text: &str) -> (u32, u32) {
        let line = text.lines().nth((self.line as usize).saturating_sub(1)).unwrap_or("");
        let named = self.message.split('`').nth(1).filter(|name| !name.is_empty());
        let column = self.column.or_else(|| {
            let named = named?;
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let whole = |at: &usize| !line[..*at].ends_with(is_part) && !line[at + named.len()..].starts_with(is_part);
            let at = line.match_indices(named).map(|(at, _)| at).find(whole)?;
            Some(line[..at].chars().count() as u32 + 1)
        });
        match column {
            Some(column) => {
                let rest = line.chars().skip((column as usize).saturating_sub(1));
                let word = rest.take_while(|c| c.is_alphanumeric() || *c == '_').count();
                (column, word.max(1) as u32)
            }
            None => {
                let indent = line.chars().take_while(|c| c.is_whitespace()).count() as u32;
                (indent + 1, line.trim().chars().count().max(1) as u32)
            }
        }
    }
}

/// The errors about a file in what g++, clang or NVRTC says: `file:7:5: error: …` or `file(7): error: …`.
pub fn compiler_messages(log: &str, file: &str) -> Vec<CompilerMessage> {
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
        found.push(CompilerMessage { line, column, message: plain(message) });
    }
    found
}

/// Names between backticks, without the emulation's own.
fn plain(message: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(message.len());
    for (at, c) in message.char_indices() {
        let (before, after) = (text.chars().next_back(), message[at + c.len_utf8()..].chars().next());
        // An apostrophe, or the character itself: "isn't", "missing terminating " character".
        let is_itself =
            before.is_some_and(is_word) && after.is_some_and(is_word) || before == Some(' ') && after == Some(' ');
        match c {
            '\'' | '"' if !is_itself => text.push('`'),
            _ => text.push(c),
        }
    }
    let text = text.trim_end_matches(" [-fpermissive]").replace("struct uint3", "uint3").replace("{aka ", "{");
    text.trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_between_backticks_and_apostrophes_stay() {
        assert_eq!(plain("storage size of 's' isn't constant"), "storage size of `s` isn't constant");
        assert_eq!(plain("missing terminating \" character"), "missing terminating \" character");
        assert_eq!(plain("identifier \"i\" is undefined."), "identifier `i` is undefined");
        assert_eq!(
            plain("'int f(char)' was not declared; did you mean 'g'?"),
            "`int f(char)` was not declared; did you mean `g`?"
        );
    }
}
