//! Syntax of DuckDB that the parser does not read, rewritten before it is parsed. The forms are digit separators, list
//! comprehensions, `USING SAMPLE`, `ASOF JOIN`, `SEMI JOIN`, `ANTI JOIN`, units of intervals, queries that begin with
//! FROM, and `trim(from x)`.
//!
//! Works on tokens: a form is recognised by its keywords and the brackets around it, and is replaced by one that the
//! parser reads. Other text stays as it is.

use datafusion::sql::sqlparser::tokenizer::{Token, Word};
use onrush_expr::diagnostics::{HIDDEN, plan_error};
use onrush_wire::Diagnostic;

use super::syntax;

/// The name of the function around the condition of an `ASOF JOIN`: `asof.rs` takes it off.
pub const ASOF: &str = "__onrush_asof";

/// # Errors
/// A form that is recognised and not complete.
pub fn rewritten(tokens: Vec<Token>) -> Result<Vec<Token>, Diagnostic> {
    let tokens = selected(trimmed(materialized(separators(tokens))));
    let tokens = units(tokens);
    let tokens = sided(asof(tokens)?);
    refuse_positional(&tokens)?;
    let tokens = sampled(tokens)?;
    Ok(comprehensions(tokens))
}

pub fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(Word { value, quote_style: None, .. }) if value.eq_ignore_ascii_case(word))
}

/// The place of the next token that is not blank.
pub fn next(tokens: &[Token], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| !matches!(tokens[*at], Token::Whitespace(_)))
}

/// The place of the last token before `before` that is not blank.
fn previous(tokens: &[Token], before: usize) -> Option<usize> {
    (0..before).rev().find(|at| !matches!(tokens[*at], Token::Whitespace(_)))
}

/// The tokens of a text.
pub fn read(text: &str) -> Vec<Token> {
    syntax::tokens(text).unwrap_or_default()
}

pub fn written(tokens: &[Token]) -> String {
    tokens.iter().map(ToString::to_string).collect()
}

fn opens(token: &Token) -> bool {
    matches!(token, Token::LParen | Token::LBracket | Token::LBrace)
}

fn closes(token: &Token) -> bool {
    matches!(token, Token::RParen | Token::RBracket | Token::RBrace)
}

/// The place of the bracket that closes the one at `open`.
pub fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        depth += i32::from(opens(token)) - i32::from(closes(token));
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The first place from `from` on, outside of inner brackets, where `found` holds; the end if there is none.
pub fn until(tokens: &[Token], from: usize, found: impl Fn(&Token) -> bool) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if depth == 0 && (closes(token) || *token == Token::SemiColon || found(token)) {
            return at;
        }
        depth += i32::from(opens(token)) - i32::from(closes(token));
    }
    tokens.len()
}

/// Words after which another query follows.
const SETS: [&str; 3] = ["union", "except", "intersect"];

/// A query that begins with FROM and has no SELECT, as `select * from ...`. The parser reads one without further
/// clauses.
fn selected(tokens: Vec<Token>) -> Vec<Token> {
    /// The tokens inside of a bracket.
    #[derive(Clone, Copy)]
    struct Level {
        /// A query may begin here.
        begins: bool,
        /// Behind the WITH of a query, before its SELECT.
        with: bool,
    }
    // `extract(year from x)`
    const FUNCTIONS: [&str; 5] = ["trim", "extract", "substring", "overlay", "position"];
    let is_any = |token: &Token, words: &[&str]| words.iter().any(|word| is_word(token, word));
    let mut out = Vec::with_capacity(tokens.len() + 4);
    let mut levels = vec![Level { begins: true, with: false }];
    let mut before: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        if matches!(token, Token::Whitespace(_)) {
            out.push(token.clone());
            continue;
        }
        let last = before.map(|before| &tokens[before]);
        if let Some(level) = levels.last_mut() {
            let begins = level.begins || level.with && last == Some(&Token::RParen);
            if begins && is_word(token, "from") {
                let end = until(&tokens, at + 1, |token| is_word(token, "select") || is_any(token, &SETS));
                if !tokens.get(end).is_some_and(|token| is_word(token, "select")) {
                    out.extend(read("select * "));
                }
            }
            let continues = level.begins && is_any(token, &["all", "distinct", "by", "name"]);
            level.with = (level.with || level.begins && is_word(token, "with")) && !is_any(token, &["select", "from"]);
            level.begins = continues || is_any(token, &SETS) || *token == Token::SemiColon;
        }
        if opens(token) {
            let of_function = last.is_some_and(|last| is_any(last, &FUNCTIONS));
            levels.push(Level { begins: *token == Token::LParen && !of_function, with: false });
        } else if closes(token) && levels.len() > 1 {
            levels.pop();
        }
        before = Some(at);
        out.push(token.clone());
    }
    out
}

/// `trim(from x)` and `trim(both from x)` without the word that says nothing.
fn trimmed(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if is_word(&token, "from") {
            let mut open = previous(&out, out.len());
            if let Some(side) = open
                && ["both", "leading", "trailing"].iter().any(|word| is_word(&out[side], word))
            {
                open = previous(&out, side);
            }
            let call = open.filter(|open| out[*open] == Token::LParen).and_then(|open| previous(&out, open));
            if call.is_some_and(|call| is_word(&out[call], "trim")) {
                continue;
            }
        }
        out.push(token);
    }
    out
}

/// `1_000` as `1000`.
fn separators(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (Some(Token::Number(digits, _)), Token::Word(Word { value, quote_style: None, .. })) =
            (out.last_mut(), &token)
        {
            let rest = value.strip_prefix('_').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(rest) = rest {
                digits.push_str(&rest.replace('_', ""));
                continue;
            }
        }
        out.push(token);
    }
    out
}

/// `interval 2 decades` in years.
fn units(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        if !is_word(&tokens[at], "interval") {
            continue;
        }
        let Some(value) = next(&tokens, at + 1) else { continue };
        let end = if tokens[value] == Token::LParen { closing(&tokens, value) } else { Some(value) };
        let Some(unit) = end.and_then(|end| next(&tokens, end + 1)) else { continue };
        let Token::Word(Word { value: name, quote_style: None, .. }) = &tokens[unit] else { continue };
        let (times, unit_name) = match name.to_lowercase().trim_end_matches('s') {
            "decade" => (10, "years"),
            "century" | "centurie" => (100, "years"),
            "millennium" | "millennia" => (1000, "years"),
            "quarter" => (3, "months"),
            _ => continue,
        };
        let text = match &tokens[value] {
            Token::Number(digits, _) => digits.clone(),
            Token::SingleQuotedString(text) => text.trim().to_string(),
            _ => continue,
        };
        // No fraction is left of such a unit.
        let whole = text.parse::<f64>().ok().and_then(|_| text.split('.').next()?.parse::<i64>().ok());
        if let Some(scaled) = whole.and_then(|number| number.checked_mul(times)) {
            tokens[value] = Token::SingleQuotedString(scaled.to_string());
            tokens[unit] = Token::make_word(unit_name, None);
        }
    }
    tokens
}

/// `a asof [left] join b on c` as a join by `__onrush_asof(c)`.
fn asof(mut tokens: Vec<Token>) -> Result<Vec<Token>, Diagnostic> {
    let mut at = 0;
    while at < tokens.len() {
        let is_asof = is_word(&tokens[at], "asof")
            && next(&tokens, at + 1)
                .is_some_and(|n| ["join", "left", "inner"].iter().any(|word| is_word(&tokens[n], word)));
        if !is_asof {
            at += 1;
            continue;
        }
        let ends = [
            "join",
            "left",
            "inner",
            "where",
            "group",
            "order",
            "limit",
            "having",
            "qualify",
            "asof",
            "union",
            "except",
            "intersect",
            "window",
            "offset",
            "fetch",
            "cross",
            "full",
            "natural",
        ];
        let join = until(&tokens, at + 1, |token| is_word(token, "join"));
        let on = until(&tokens, join + 1, |token| is_word(token, "on") || is_word(token, "using"));
        if on >= tokens.len() || closes(&tokens[on]) {
            at += 1;
            continue;
        }
        if is_word(&tokens[on], "using") {
            let message = "an ASOF JOIN with USING is not supported";
            let help = "write the condition: `ON a.key = b.key AND a.time >= b.time`";
            return Err(plan_error("not-supported", message).help(help));
        }
        let end = until(&tokens, on + 1, |token| ends.iter().any(|word| is_word(token, word)));
        let inner = written(&tokens[on + 1..end]);
        tokens.splice(on..end, read(&format!("on {ASOF}({}) ", inner.trim())));
        tokens.remove(at);
        at += 1;
    }
    Ok(tokens)
}

/// Whether a word and a following `join` are a kind of join, and the word is not the name or the alias of a table.
fn is_kind_of_join(tokens: &[Token], at: usize, kind: &str) -> bool {
    let is_join = |next: usize| is_word(&tokens[next], "join");
    let behind = ["from", "join", "left", "right", "natural", "asof", "as"];
    is_word(&tokens[at], kind)
        && next(tokens, at + 1).is_some_and(is_join)
        && previous(tokens, at).is_some_and(|before| {
            tokens[before] != Token::Comma && !behind.iter().any(|word| is_word(&tokens[before], word))
        })
}

/// `a semi join b` and `a anti join b` as left joins, which the planner knows.
fn sided(tokens: Vec<Token>) -> Vec<Token> {
    let mut out = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        if ["semi", "anti"].iter().any(|kind| is_kind_of_join(&tokens, at, kind)) {
            out.extend(read("left "));
        }
        out.push(token.clone());
    }
    out
}

/// The parser takes `positional` for an alias, which would make a cross join of a POSITIONAL JOIN.
fn refuse_positional(tokens: &[Token]) -> Result<(), Diagnostic> {
    match (0..tokens.len()).any(|at| is_kind_of_join(tokens, at, "positional")) {
        true => Err(plan_error("not-supported", "a POSITIONAL JOIN is not supported")
            .help("number the rows of both tables with `row_number() over () as n`, and join them by `n`")),
        false => Ok(()),
    }
}

/// `with t as [not] materialized (...)`: how often a query runs is up to the engine.
fn materialized(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let before = previous(&out, out.len()).map(|before| &out[before]);
        let is_hint = is_word(token, "materialized")
            && before.is_some_and(|before| is_word(before, "as") || is_word(before, "not"))
            && next(&tokens, at + 1).is_some_and(|next| tokens[next] == Token::LParen);
        if is_hint {
            if before.is_some_and(|before| is_word(before, "not")) {
                while !out.pop().is_some_and(|last| is_word(&last, "not")) {}
            }
            continue;
        }
        out.push(token.clone());
    }
    out
}

/// How many rows a sample has.
struct Sample {
    size: f64,
    percent: bool,
    seed: i64,
    /// The place behind its last token.
    end: usize,
}

/// `10 rows`, `20%`, `reservoir(20 percent)`, `5 percent (bernoulli, 42)`, with `repeatable (42)`.
fn sample(tokens: &[Token], from: usize) -> Option<Sample> {
    let end = until(tokens, from, |token| {
        ["where", "group", "order", "limit", "having", "qualify", "union", "except", "intersect", "join", "left", "on"]
            .iter()
            .any(|word| is_word(token, word))
            || *token == Token::Comma
    });
    let mut sample = Sample { size: f64::NAN, percent: false, seed: 0, end };
    let mut place = from;
    while let Some(at) = next(tokens, place).filter(|at| *at < end) {
        match &tokens[at] {
            Token::Number(digits, _) if sample.size.is_nan() => sample.size = digits.parse().ok()?,
            Token::Number(digits, _) => sample.seed = digits.parse().ok()?,
            Token::Mod => sample.percent = true,
            Token::Word(word) if word.value.eq_ignore_ascii_case("percent") => sample.percent = true,
            Token::Word(word)
                if ["rows", "reservoir", "bernoulli", "system", "repeatable"]
                    .iter()
                    .any(|known| word.value.eq_ignore_ascii_case(known)) => {}
            Token::LParen | Token::RParen | Token::Comma => {}
            // An alias of the table.
            _ => {
                sample.end = at;
                break;
            }
        }
        place = at + 1;
    }
    (!sample.size.is_nan()).then_some(sample)
}

/// A table as a query of some of its rows: the same ones each time.
fn some_of(table: &str, sample: &Sample) -> String {
    let (row, place, count) = (format!("{HIDDEN}row"), format!("{HIDDEN}place"), format!("{HIDDEN}count"));
    let least = match sample.percent {
        true => format!("round({count} * {} / 100.0)", sample.size),
        false => format!("{}", sample.size as i64),
    };
    format!(
        "(select * exclude ({row}, {place}, {count}) from (select *, row_number() over (order by hash({row}, {})) as {place}, \
         count(*) over () as {count} from (select *, row_number() over () as {row} from {table})) where {place} <= {least} \
         order by {row})",
        sample.seed
    )
}

/// `from t using sample 10 rows` and `t tablesample 10%` as queries of the rows.
fn sampled(mut tokens: Vec<Token>) -> Result<Vec<Token>, Diagnostic> {
    let mut at = 0;
    while at < tokens.len() {
        let using =
            is_word(&tokens[at], "using") && next(&tokens, at + 1).is_some_and(|next| is_word(&tokens[next], "sample"));
        let table = is_word(&tokens[at], "tablesample");
        if !using && !table {
            at += 1;
            continue;
        }
        let from = if using { next(&tokens, at + 1).unwrap_or(at) + 1 } else { at + 1 };
        let Some(sample) = sample(&tokens, from) else {
            let message = "a sample has a size: `using sample 10 rows` or `using sample 20%`";
            return Err(plan_error("sql-syntax", message));
        };
        let start = if using { start_of_from(&tokens, at) } else { start_of_table(&tokens, at) };
        let Some(start) = start else {
            return Err(plan_error("sql-syntax", "a sample stands after a table or after FROM"));
        };
        let stop = if using {
            until(&tokens, start, |token| {
                ["where", "group", "having", "qualify", "order", "limit", "using"]
                    .iter()
                    .any(|word| is_word(token, word))
            })
            .min(at)
        } else {
            at
        };
        let inner = written(&tokens[start..stop]);
        let new = format!(" {} ", some_of(inner.trim(), &sample));
        // The table keeps its name.
        let name = previous(&tokens, stop).and_then(|last| match &tokens[last] {
            Token::Word(word) if !tokens[start..stop].iter().any(|t| is_word(t, "join") || *t == Token::Comma) => {
                Some(word.to_string())
            }
            _ => None,
        });
        let follows = next(&tokens, sample.end);
        let has_alias = table && follows.is_some_and(|at| {
            matches!(&tokens[at], Token::Word(w) if w.keyword == datafusion::sql::sqlparser::keywords::Keyword::NoKeyword)
                || is_word(&tokens[at], "as")
        });
        let alias = name.filter(|_| !has_alias).map(|name| format!("as {name} ")).unwrap_or_default();
        let mut replacement = read(&(new + &alias));
        replacement.extend(tokens[stop..at].iter().cloned());
        let length = replacement.len();
        tokens.splice(start..sample.end, replacement);
        at = start + length;
    }
    Ok(tokens)
}

/// The place behind the FROM of the query in which `at` stands.
fn start_of_from(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0;
    for place in (0..at).rev() {
        depth += i32::from(closes(&tokens[place])) - i32::from(opens(&tokens[place]));
        if depth < 0 {
            return None;
        }
        if depth == 0 && is_word(&tokens[place], "from") {
            return Some(place + 1);
        }
    }
    None
}

/// The place of the table, with its alias, that stands before `at`.
fn start_of_table(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0;
    for place in (0..at).rev() {
        depth += i32::from(closes(&tokens[place])) - i32::from(opens(&tokens[place]));
        if depth < 0 {
            return None;
        }
        if depth == 0
            && (is_word(&tokens[place], "from") || is_word(&tokens[place], "join") || tokens[place] == Token::Comma)
        {
            return Some(place + 1);
        }
    }
    None
}

/// `[f(x) for x in l if p(x)]` as functions of lists.
fn comprehensions(mut tokens: Vec<Token>) -> Vec<Token> {
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] != Token::LBracket {
            at += 1;
            continue;
        }
        if let Some((end, text)) = comprehension(&tokens, at) {
            // The text inside may be one, too.
            tokens.splice(at..=end, read(&text));
            continue;
        }
        at += 1;
    }
    tokens
}

fn comprehension(tokens: &[Token], open: usize) -> Option<(usize, String)> {
    let end = closing(tokens, open)?;
    let word = |from: usize, word: &str| {
        let place = until(&tokens[..end], from, |token| is_word(token, word));
        (place < end).then_some(place)
    };
    let of = word(open + 1, "for")?;
    let is_in = word(of + 1, "in")?;
    let condition = word(is_in + 1, "if");
    let name = written(&tokens[of + 1..is_in]);
    let name = name.trim();
    if name.is_empty() || name.contains(',') {
        return None;
    }
    let result = written(&tokens[open + 1..of]);
    let list = written(&tokens[is_in + 1..condition.unwrap_or(end)]);
    let list = match condition {
        Some(condition) => {
            let condition = written(&tokens[condition + 1..end]);
            format!("list_filter({}, {name} -> ({}))", list.trim(), condition.trim())
        }
        None => list.trim().to_string(),
    };
    Some((end, format!("list_transform({list}, {name} -> ({}))", result.trim())))
}
