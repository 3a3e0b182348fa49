//! Entries by a word: a name of Onrush, or one of pandas, Polars or SQL.

use super::show::{brief, plain};
use super::{FunctionEntry, FunctionKind, entries};

/// Entries that are shown in full; more are listed by name.
const WHOLE: usize = 4;
/// Entries that are listed by name.
const BRIEF: usize = 12;
const NEAR: usize = 3;

/// The entries for a word.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// Entries with this name.
    pub named: Vec<&'static FunctionEntry>,
    /// Entries that have this name in pandas, Polars or SQL.
    pub elsewhere: Vec<&'static FunctionEntry>,
}

impl Answer {
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.elsewhere.is_empty()
    }
}

/// `.str.contains()` and `Str.Contains` as `str.contains`.
fn word_of(text: &str) -> String {
    let text = text.trim().trim_matches(['.', '`', '"', '\'']);
    let text = text.strip_suffix("()").unwrap_or(text).trim_end_matches(['!', '?', '(']);
    text.replace("::", ".").to_lowercase()
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_named(entry: &FunctionEntry, word: &str) -> bool {
    let mut all = std::iter::once(entry.name.as_str()).chain(entry.aliases.iter().copied());
    entry.title().eq_ignore_ascii_case(word) || all.any(|name| name == word || last(name) == word)
}

/// `groupby` of `DataFrame.groupby`, `left join` of `LEFT JOIN`.
fn has_elsewhere(entry: &FunctionEntry, word: &str) -> bool {
    let of_library = |name: &str| name.eq_ignore_ascii_case(word) || last(name).eq_ignore_ascii_case(word);
    let of_sql = |name: &str| {
        let words = name.replace('…', " ").replace(['(', ')', '\''], " ");
        words.split_whitespace().collect::<Vec<_>>().join(" ").eq_ignore_ascii_case(word)
    };
    entry.pandas.iter().chain(&entry.polars).any(|name| of_library(name)) || entry.sql.iter().any(|name| of_sql(name))
}

/// The entries for a word. A name with its type or namespace (`Frame.head`, `str.len`) means one of them.
pub fn find(word: &str) -> Answer {
    let word = word_of(word);
    let exact = |entry: &&FunctionEntry| {
        entry.title().eq_ignore_ascii_case(&word) || entry.name == word || entry.aliases.contains(&word.as_str())
    };
    let mut named: Vec<&FunctionEntry> = match word.contains('.') {
        true => entries().iter().filter(exact).collect(),
        false => entries().iter().filter(|entry| is_named(entry, &word)).collect(),
    };
    // The name itself before the one in a namespace, and before another name.
    named.sort_by_key(|entry| (entry.kind, entry.name != word, last(&entry.name) != word));
    let elsewhere = entries().iter().filter(|entry| has_elsewhere(entry, &word));
    let elsewhere = elsewhere.filter(|entry| !named.iter().any(|other| std::ptr::eq(*other, *entry))).collect();
    Answer { named, elsewhere }
}

/// The entry of a method, by the name of its type in the prelude.
pub fn method(owner: &str, name: &str) -> Option<&'static FunctionEntry> {
    let (kind, name) = match owner {
        "Expr" => (FunctionKind::Expression, name.to_string()),
        "ExprStr" => (FunctionKind::Expression, format!("str.{name}")),
        "ExprDt" => (FunctionKind::Expression, format!("dt.{name}")),
        "ExprList" => (FunctionKind::Expression, format!("list.{name}")),
        "GroupBy" => (FunctionKind::Group, name.to_string()),
        "Frame" => (FunctionKind::Frame, name.to_string()),
        _ => return None,
    };
    of(kind, &name)
}

/// The entry of a function of the prelude or of `x!`.
pub fn function(name: &str) -> Option<&'static FunctionEntry> {
    of(FunctionKind::Expression, name).or_else(|| of(FunctionKind::Function, name))
}

/// The entry of a function of SQL, in any case.
pub fn sql_function(name: &str) -> Option<&'static FunctionEntry> {
    of(FunctionKind::Sql, &name.to_lowercase())
}

fn of(kind: FunctionKind, name: &str) -> Option<&'static FunctionEntry> {
    let of_kind = || entries().iter().filter(|entry| entry.kind == kind);
    of_kind().find(|entry| entry.name == name).or_else(|| of_kind().find(|entry| entry.aliases.contains(&name)))
}

/// Names that are nearly the word, the nearest first.
fn near(word: &str) -> Vec<String> {
    let word = word_of(word);
    let most = (word.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for entry in entries() {
        let other = entry.aliases.iter().chain(&entry.pandas).chain(&entry.polars).copied();
        for name in std::iter::once(entry.name.as_str()).chain(other) {
            for name in [name, last(name)] {
                let distance = strsim::damerau_levenshtein(&word, name);
                if distance <= most && !found.iter().any(|(_, other)| *other == name) {
                    found.push((distance, name));
                }
            }
        }
    }
    found.sort_unstable();
    found.into_iter().take(NEAR).map(|(_, name)| name.to_string()).collect()
}

/// The text of `:help WORD`, at most 80 columns wide. The error is a hint: the nearest names.
pub fn help(word: &str) -> Result<String, String> {
    let answer = find(word);
    if answer.is_empty() {
        let near: Vec<String> = near(word).iter().map(|name| format!("`{name}`")).collect();
        return Err(match near.split_last() {
            None => "`:help` lists the commands; the reference is in docs/reference".to_string(),
            Some((one, [])) => format!("did you mean {one}?"),
            Some((one, rest)) => format!("did you mean {} or {one}?", rest.join(", ")),
        });
    }
    let mut text = String::new();
    let own = word_of(word);
    let is_own =
        |entry: &&FunctionEntry| entry.name == own || last(&entry.name) == own || entry.title().to_lowercase() == own;
    let is_foreign = answer.named.is_empty();
    // A word of pandas that is another name of a function here (`fillna`) stands for methods of frames, too.
    let (mut whole, mut rest) = match answer.named.iter().any(is_own) {
        true => (answer.named, answer.elsewhere),
        false => {
            let mut all = [answer.named, answer.elsewhere].concat();
            all.sort_by_key(|entry| entry.kind);
            (all, Vec::new())
        }
    };
    if whole.len() > WHOLE {
        let more = whole.split_off(WHOLE);
        rest = more.into_iter().chain(rest).collect();
    }
    if is_foreign {
        text.push_str(&format!("`{}` of pandas, Polars or SQL is here:\n\n", word.trim()));
    }
    text.push_str(&whole.into_iter().map(plain).collect::<Vec<_>>().join("\n"));
    if !rest.is_empty() {
        text.push_str("\nSee also\n");
        rest.sort_by_key(|entry| (entry.kind == FunctionKind::Object, entry.kind));
        rest.iter().take(BRIEF).for_each(|entry| text.push_str(&brief(entry)));
        if rest.len() > BRIEF {
            text.push_str(&format!("  and {} more\n", rest.len() - BRIEF));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(word: &str) -> Vec<String> {
        let answer = find(word);
        let all = if answer.named.is_empty() { answer.elsewhere } else { answer.named };
        all.into_iter().map(FunctionEntry::title).collect()
    }

    #[test]
    fn a_name_gives_its_entries_of_every_kind() {
        assert_eq!(titles("group_by"), ["Frame.group_by"]);
        assert_eq!(titles("Frame.head"), ["Frame.head"]);
        assert_eq!(titles(".str.contains()"), ["str.contains"]);
        // A frame's, a group's, and those of strings and lists.
        assert_eq!(titles("head"), ["Frame.head", "GroupBy.head", "str.head", "list.head"]);
        // An expression and a function of SQL.
        assert_eq!(titles("coalesce"), ["coalesce", "coalesce"]);
        assert_eq!(titles("array_sort"), ["list_sort"]);
    }

    #[test]
    fn names_of_other_libraries_lead_to_those_here() {
        assert_eq!(titles("groupby")[0], "Frame.group_by");
        assert_eq!(titles("pd.get_dummies"), ["Frame.to_dummies", "Frame.to_dummies_drop_first"]);
        assert_eq!(titles("fillna"), ["fill_null"]);
        assert_eq!(find("fillna").elsewhere[0].title(), "Frame.fill_null");
        assert_eq!(titles("sort_values")[0], "Frame.sort");
        assert_eq!(titles("LEFT JOIN"), ["Frame.left_join"]);
        assert_eq!(titles("melt"), ["Frame.unpivot", "Frame.unpivot_as"]);
        assert!(titles("value_counts").contains(&"Frame.value_counts".to_string()));
    }

    #[test]
    fn help_fits_a_terminal_and_shows_examples() {
        for entry in entries() {
            for line in plain(entry).lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
        let text = help("group_by").unwrap();
        assert!(text.starts_with("Frame.group_by\n") && text.contains("pandas groupby"), "{text}");
        assert!(text.contains("f.group_by(\"city\").agg("), "{text}");
        let text = help("fillna").unwrap();
        assert!(text.starts_with("Frame.fill_null\n") && text.contains("\nfill_null (expression)\n"), "{text}");
        let text = help("len").unwrap();
        assert!(text.contains("See also") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn unknown_words_name_the_nearest() {
        assert!(help("gruop_by").unwrap_err().contains("`group_by`"));
        assert!(help("valuecounts").unwrap_err().contains("`value_counts`"));
        assert!(help("xyzzyxyzzy").unwrap_err().contains("docs/reference"));
    }
}
