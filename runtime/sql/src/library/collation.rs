//! Keys of strings by which collations compare them.

use arrow::array::{Array, ArrayRef};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::scalar_udf::kernel_by_types;

use super::strings::without_accents;
use super::{at, strings_of, takes, text, to_strings};

pub fn functions() -> Vec<ScalarUDF> {
    vec![
        kernel_by_types("collation_key", text, |args| mapped("collation_key", args, language_key)),
        kernel_by_types("composed_letters", text, |args| mapped("nfc_normalize", args, composed)),
    ]
}

fn mapped(name: &str, args: &[ArrayRef], f: fn(&str) -> String) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let values = strings_of(&args[0])?;
    to_strings(values.len(), |row| Ok(at(&values, row).map(f)))
}

/// Letters of one canonical form: three signs that are letters, and letters with the most frequent combining marks.
fn composed(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for letter in value.chars() {
        let whole = match letter {
            '\u{212a}' => 'K',
            '\u{212b}' => 'Å',
            '\u{2126}' => 'Ω',
            mark if ('\u{300}'..='\u{327}').contains(&mark) => {
                match out.chars().next_back().and_then(|base| with_mark(base, mark)) {
                    Some(whole) => {
                        out.pop();
                        whole
                    }
                    None => mark,
                }
            }
            other => other,
        };
        out.push(whole);
    }
    out
}

fn with_mark(base: char, mark: char) -> Option<char> {
    // Letters, and the same letters with each mark.
    let (bases, wholes) = match mark {
        '\u{300}' => ("AEIOUaeiou", "ÀÈÌÒÙàèìòù"),
        '\u{301}' => ("AEIOUYaeiouyCcNnSsZz", "ÁÉÍÓÚÝáéíóúýĆćŃńŚśŹź"),
        '\u{302}' => ("AEIOUaeiou", "ÂÊÎÔÛâêîôû"),
        '\u{303}' => ("ANOano", "ÃÑÕãñõ"),
        '\u{308}' => ("AEIOUaeiouy", "ÄËÏÖÜäëïöüÿ"),
        '\u{30a}' => ("AUau", "ÅŮåů"),
        '\u{30c}' => ("CSZcszRrEeDN", "ČŠŽčšžŘřĚěĎŇ"),
        '\u{327}' => ("CScs", "ÇŞçş"),
        _ => return None,
    };
    bases.chars().zip(wholes.chars()).find_map(|(from, to)| (from == base).then_some(to))
}

/// The three levels of the Unicode Collation Algorithm: letters, then accents, then case with lower case first. The
/// order of letters is that of their code points, without the rules of single languages.
fn language_key(value: &str) -> String {
    let value = composed(value);
    let cases: String = value.chars().map(|letter| if letter.is_uppercase() { 'B' } else { 'A' }).collect();
    let lower = value.to_lowercase();
    format!("{}\0{lower}\0{cases}", without_accents(&lower))
}
