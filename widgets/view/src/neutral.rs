//! Text of cells for a terminal: colours and styles stay, other escape sequences are shown as signs. They are titles,
//! links, the clipboard, moves of the cursor, and questions that a terminal answers on standard input.

/// Longer ones are no colours.
const LONGEST: usize = 64;

/// One stream of text, which may be cut anywhere.
#[derive(Default)]
pub struct Neutral {
    /// The beginning of what may become a colour.
    held: String,
}

impl Neutral {
    /// The complete part of the text so far.
    pub fn pass(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            if self.held.is_empty() {
                match c {
                    '\x1b' => self.held.push(c),
                    c => push(c, &mut out),
                }
                continue;
            }
            let is_parameter = self.held.len() > 1 && matches!(c, '0'..='9' | ';' | ':') && self.held.len() < LONGEST;
            if (self.held.len() == 1 && c == '[') || is_parameter {
                self.held.push(c);
            } else if self.held.len() > 1 && c == 'm' {
                out.push_str(&std::mem::take(&mut self.held));
                out.push(c);
            } else {
                out.push_str(&self.finish());
                match c {
                    '\x1b' => self.held.push(c),
                    c => push(c, &mut out),
                }
            }
        }
        out
    }

    /// The rest of the text at the end.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        for c in std::mem::take(&mut self.held).chars() {
            push(c, &mut out);
        }
        out
    }
}

/// A whole text with its colours.
pub fn neutral(text: &str) -> String {
    let mut neutral = Neutral::default();
    let shown = neutral.pass(text);
    shown + &neutral.finish()
}

fn push(c: char, out: &mut String) {
    match c {
        // A return of the carriage is how programs draw progress.
        '\n' | '\r' | '\t' => out.push(c),
        '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + c as u32)),
        '\x7f' => out.push('␡'),
        // The same commands in one character, for terminals of old.
        c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The sequences are those of ECMA-48 and of xterm's ctlseqs.
    #[test]
    fn colours_stay_and_commands_are_signs() {
        for text in ["plain ü\n\tb\r", "\x1b[1;31mred\x1b[0m", "\x1b[38;2;1;2;3mx\x1b[m", "\x1b[4:3mwavy"] {
            assert_eq!(neutral(text), text);
        }
        let title = "\x1b]0;title\x07";
        let clipboard = "\x1b]52;c;aGk=\x1b\\";
        let link = "\x1b]8;;http://x\x1b\\x";
        for text in
            [title, clipboard, link, "\x1b[2J", "\x1b[6n", "\x1bc", "\u{9d}0;t\u{9c}", "\u{9b}31m", "a\x08b", "\x1b"]
        {
            let shown = neutral(text);
            assert!(shown.chars().all(|c| !c.is_control()), "{shown:?}");
        }
        assert_eq!(neutral(title), "␛]0;title␇");
        assert_eq!(neutral("\x1b[\x1b[31mx"), "␛[\x1b[31mx");
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let text = "a\x1b[1;31mred\x1b[0m\x1b]0;t\x07\x1b[2Jb";
        for cut in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let mut stream = Neutral::default();
            let shown = stream.pass(&text[..cut]) + &stream.pass(&text[cut..]) + &stream.finish();
            assert_eq!(shown, neutral(text), "cut at {cut}");
        }
    }
}
