//! Statements of DuckDB as queries: `PIVOT`, `UNPIVOT`, `DESCRIBE`, `SUMMARIZE`, `SHOW TABLES` and `EXPLAIN`.
//!
//! A [`Host`] answers what depends on data or types: the values that become columns of a pivot, and the columns of
//! `describe`.

use arrow::array::AsArray;
use arrow::datatypes::SchemaRef;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};
use onrush_expr::diagnostics::plan_error;
use onrush_frame::Table;
use onrush_wire::Diagnostic;

use super::desugar::{closing, is_word, next, read, until, written};
use super::library::type_name;
use super::stars::{NAMES, is_aggregate_name};

/// The engine that runs queries over the same tables.
pub trait Host {
    /// The columns of a query.
    fn schema(&self, query: &str) -> Result<SchemaRef, Diagnostic>;

    /// The rows of a query.
    fn rows(&self, query: &str) -> Result<Table, Diagnostic>;

    /// The plan of a query as a text.
    fn explain(&self, query: &str, analyze: bool) -> Result<String, Diagnostic>;

    /// The names of all tables.
    fn tables(&self) -> Vec<String>;
}

/// More columns than this are a mistake in the choice of what is pivoted on.
const MOST_COLUMNS: usize = 2000;

/// A statement as a query; a query as it is.
///
/// # Errors
/// A statement that is not complete, and those of the queries that it needs.
pub fn prepared(query: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let tokens = read(query);
    let Some(first) = next(&tokens, 0) else { return Ok(query.to_string()) };
    let rest = || written(&tokens[first + 1..]).trim().trim_end_matches(';').trim().to_string();
    let word = match &tokens[first] {
        Token::Word(Word { value, quote_style: None, .. }) => value.to_lowercase(),
        _ => String::new(),
    };
    match word.as_str() {
        "describe" | "desc" => return describe(&prepared(&selected(&rest()), host)?, host),
        "summarize" => return summarize(&prepared(&selected(&rest()), host)?, host),
        "show" => return show(&rest(), host),
        "explain" => {
            let rest = rest();
            let analyze = rest.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("analyze"));
            let inner = if analyze { rest[7..].trim() } else { rest.as_str() };
            let plan = host.explain(&prepared(inner, host)?, analyze)?;
            return Ok(format!("select 'physical_plan' as explain_key, {} as explain_value", text(&plan)));
        }
        _ => {}
    }
    let has = |word: &str| tokens.iter().any(|token| is_word(token, word));
    if has("pivot") || has("unpivot") || has("pivot_wider") || has("pivot_longer") {
        return pivoted(tokens, host);
    }
    Ok(query.to_string())
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn name(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

/// `t` as a query of its rows.
fn selected(rest: &str) -> String {
    let start = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
    match start.as_str() {
        "select" | "from" | "with" | "values" | "pivot" | "unpivot" => rest.to_string(),
        "table" => format!("select * from {}", rest[5..].trim()),
        _ if rest.starts_with('(') => rest.to_string(),
        _ => format!("select * from {rest}"),
    }
}

fn describe(query: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let schema = host.schema(query)?;
    let rows = schema.fields().iter().enumerate().map(|(index, field)| {
        format!("({index}, {}, {}, 'YES', null, null, null)", text(field.name()), text(&type_name(field.data_type())))
    });
    let rows: Vec<String> = rows.collect();
    Ok(format!(
        "select column_name, column_type, \"null\", cast(key as varchar) as key, cast(\"default\" as varchar) as \"default\", \
         cast(extra as varchar) as extra from (values {}) as __onrush_columns(place, column_name, column_type, \"null\", key, \
         \"default\", extra) order by place",
        rows.join(", ")
    ))
}

fn summarize(query: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let schema = host.schema(query)?;
    let parts = schema.fields().iter().enumerate().map(|(index, field)| {
        let (column, dtype) = (name(field.name()), field.data_type());
        let is_number = onrush_expr::type_coercion::is_number(dtype);
        let is_ordered = is_number || onrush_expr::type_coercion::is_temporal(dtype);
        let sortable = !dtype.is_nested();
        let as_text = |what: String, is: bool| {
            if is { format!("cast({what} as varchar)") } else { "cast(null as varchar)".to_string() }
        };
        let quantile = |q: &str| as_text(format!("quantile_cont({column}, {q})"), is_ordered);
        format!(
            "select {index} as place, {} as column_name, {} as column_type, {} as \"min\", {} as \"max\", \
             {} as approx_unique, {} as \"avg\", {} as std, {} as q25, {} as q50, {} as q75, count(*) as \"count\", \
             cast(round(100.0 * (count(*) - count({column})) / greatest(count(*), 1), 2) as decimal(9, 2)) \
             as null_percentage from __onrush_source",
            text(field.name()),
            text(&type_name(dtype)),
            as_text(format!("min({column})"), sortable),
            as_text(format!("max({column})"), sortable),
            if sortable { format!("count(distinct {column})") } else { "cast(null as bigint)".to_string() },
            as_text(format!("avg({column})"), is_number),
            as_text(format!("stddev_samp({column})"), is_number),
            quantile("0.25"),
            quantile("0.5"),
            quantile("0.75"),
        )
    });
    let parts: Vec<String> = parts.collect();
    Ok(format!(
        "with __onrush_source as ({query}) select * exclude (place) from ({}) as __onrush_summary order by place",
        parts.join(" union all ")
    ))
}

fn show(rest: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    match rest.to_lowercase().as_str() {
        "tables" | "all tables" => {
            let mut names = host.tables();
            names.sort();
            if names.is_empty() {
                return Ok("select 'x' as name where false".to_string());
            }
            let rows: Vec<String> = names.iter().map(|name| format!("({})", text(name))).collect();
            Ok(format!("select name from (values {}) as __onrush_tables(name) order by name", rows.join(", ")))
        }
        _ => describe(&prepared(&selected(rest), host)?, host),
    }
}

/// `PIVOT` and `UNPIVOT` wherever a query or a table may stand, from the innermost on.
fn pivoted(mut tokens: Vec<Token>, host: &dyn Host) -> Result<String, Diagnostic> {
    // Each round takes one form away.
    for _ in 0..100 {
        let is_form = |at: &usize| {
            ["pivot", "unpivot", "pivot_wider", "pivot_longer"].iter().any(|word| is_word(&tokens[*at], word))
        };
        let Some(at) = (0..tokens.len()).rev().find(is_form) else { return Ok(written(&tokens)) };
        let before = (0..at).rev().find(|at| !matches!(tokens[*at], Token::Whitespace(_)));
        let wide = is_word(&tokens[at], "pivot") || is_word(&tokens[at], "pivot_wider");
        let is_statement = before.is_none_or(|before| {
            matches!(tokens[before], Token::LParen | Token::SemiColon | Token::RParen)
                && next(&tokens, at + 1)
                    .is_none_or(|after| tokens[after] != Token::LParen || !closes_a_form(&tokens, after))
        });
        let with = with_clause(&tokens, at);
        let (range, text) = match is_statement {
            true => {
                let end = until(&tokens, at + 1, |_| false);
                let inner = &tokens[at + 1..end];
                let text =
                    if wide { pivot_statement(inner, &with, host)? } else { unpivot_statement(inner, &with, host)? };
                (at..end, text)
            }
            false => {
                let open = next(&tokens, at + 1).filter(|open| tokens[*open] == Token::LParen);
                let end = open.and_then(|open| closing(&tokens, open));
                let (Some(open), Some(end), Some(before)) = (open, end, before) else {
                    return Err(incomplete(if wide { "PIVOT" } else { "UNPIVOT" }));
                };
                let start = start_of_factor(&tokens, before);
                let source = written(&tokens[start..at]);
                let inner = &tokens[open + 1..end];
                let text = if wide {
                    pivot_table(inner, &source, &with, host)?
                } else {
                    unpivot_table(inner, &source, &with, host)?
                };
                (start..end + 1, format!(" ({text}) "))
            }
        };
        tokens.splice(range, read(&text));
    }
    Err(plan_error("sql-syntax", "there are more than 100 PIVOT or UNPIVOT forms in one query"))
}

fn incomplete(what: &str) -> Diagnostic {
    let help = match what {
        "PIVOT" => "write `PIVOT t ON column USING sum(value) GROUP BY key`",
        _ => "write `UNPIVOT t ON a, b INTO NAME name VALUE value`",
    };
    plan_error("sql-syntax", format!("the {what} is not complete")).help(help)
}

/// Whether brackets hold `sum(v) for k in (...)`.
fn closes_a_form(tokens: &[Token], open: usize) -> bool {
    closing(tokens, open).is_some_and(|end| until(&tokens[..end], open + 1, |t| is_word(t, "for")) < end)
}

/// The place where the table that ends at `end` starts.
fn start_of_factor(tokens: &[Token], end: usize) -> usize {
    let mut depth = 0;
    for place in (0..=end).rev() {
        match tokens[place] {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return place + 1,
            Token::LParen => depth -= 1,
            Token::Comma if depth == 0 => return place + 1,
            ref word if depth == 0 && (is_word(word, "from") || is_word(word, "join")) => return place + 1,
            _ => {}
        }
    }
    0
}

/// `with a as (...)` before the form, for the queries that it needs.
fn with_clause(tokens: &[Token], before: usize) -> String {
    let Some(start) = next(tokens, 0).filter(|start| is_word(&tokens[*start], "with")) else { return String::new() };
    // Up to the last bracket outside of others: inside of one, the clauses before it.
    let (mut depth, mut end) = (0, start);
    for (place, token) in tokens.iter().enumerate().take(before).skip(start) {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth -= 1;
                if depth == 0 {
                    end = place + 1;
                }
            }
            Token::Word(_) if depth == 0 && (is_word(token, "select") || is_word(token, "from")) => break,
            _ => {}
        }
    }
    if end == start { String::new() } else { written(&tokens[start..end]) + " " }
}

/// The items between commas outside of brackets.
fn items(tokens: &[Token]) -> Vec<Vec<Token>> {
    let mut out = Vec::new();
    let mut from = 0;
    while from < tokens.len() {
        let end = until(tokens, from, |token| *token == Token::Comma);
        let item = tokens[from..end].to_vec();
        if !written(&item).trim().is_empty() {
            out.push(item);
        }
        from = end + 1;
    }
    out
}

/// The tokens of a clause that starts with one of the words, and ends before another.
fn clause<'a>(tokens: &'a [Token], start: &str, ends: &[&str]) -> Option<&'a [Token]> {
    let at = until(tokens, 0, |token| is_word(token, start));
    if at >= tokens.len() {
        return None;
    }
    let mut from = at + 1;
    if let Some(by) = next(tokens, from).filter(|by| start == "group" && is_word(&tokens[*by], "by")) {
        from = by + 1;
    }
    let end = until(tokens, from, |token| ends.iter().any(|word| is_word(token, word)));
    Some(&tokens[from..end])
}

/// The expression of a pivot, and its values if they are listed.
struct On {
    expr: String,
    values: Option<Vec<String>>,
}

fn on_item(tokens: &[Token]) -> On {
    let at = until(tokens, 0, |token| is_word(token, "in"));
    let open = next(tokens, at + 1).filter(|open| *open < tokens.len() && tokens[*open] == Token::LParen);
    match open.and_then(|open| closing(tokens, open).map(|end| (open, end))) {
        Some((open, end)) => {
            let values = items(&tokens[open + 1..end]);
            let values = values.iter().map(|value| written(value).trim().to_string()).collect();
            On { expr: written(&tokens[..at]).trim().to_string(), values: Some(values) }
        }
        None => On { expr: written(tokens).trim().to_string(), values: None },
    }
}

/// An aggregate, and the name that it has.
fn aggregate(tokens: &[Token]) -> (String, Option<String>) {
    let at = until(tokens, 0, |token| is_word(token, "as"));
    let text = written(&tokens[..at.min(tokens.len())]).trim().to_string();
    let alias = tokens.get(at + 1..).map(|alias| written(alias).trim().trim_matches('"').to_string());
    match alias {
        Some(alias) if !alias.is_empty() => (text, Some(alias)),
        _ => {
            // `sum(v) total`
            let end = tokens.iter().position(|t| *t == Token::LParen).and_then(|open| closing(tokens, open));
            let rest = end.map(|end| written(&tokens[end + 1..]).trim().to_string()).unwrap_or_default();
            match rest.is_empty() || rest.contains(' ') {
                true => (text, None),
                false => (text[..text.len() - rest.len()].trim().to_string(), Some(rest.trim_matches('"').to_string())),
            }
        }
    }
}

/// The words of an expression that may be columns.
fn words(tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Token::Word(word) = token {
            let called = next(tokens, at + 1).is_some_and(|next| tokens[next] == Token::LParen);
            if !called {
                out.push(word.value.clone());
            }
        }
    }
    out
}

const CLAUSES: [&str; 5] = ["on", "using", "group", "order", "limit"];

fn pivot_statement(tokens: &[Token], with: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let source_end = until(tokens, 0, |token| CLAUSES.iter().any(|word| is_word(token, word)));
    let source = written(&tokens[..source_end]).trim().to_string();
    let on = clause(tokens, "on", &CLAUSES).ok_or_else(|| incomplete("PIVOT"))?;
    let using = clause(tokens, "using", &CLAUSES);
    let keys = clause(tokens, "group", &["order", "limit"]);
    let tail_start = until(tokens, source_end, |token| is_word(token, "order") || is_word(token, "limit"));
    let tail = written(&tokens[tail_start..]);
    let keys = keys.map(|keys| items(keys).iter().map(|key| written(key).trim().to_string()).collect());
    let query = expanded(&source, on, using.unwrap_or(&[]), keys, (with, host))?;
    Ok(format!("{query} {tail}"))
}

/// `(sum(v) for k in ('a', 'b') j in (1, 2) group by g)`
fn pivot_table(tokens: &[Token], source: &str, with: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let at = until(tokens, 0, |token| is_word(token, "for"));
    if at >= tokens.len() {
        return Err(incomplete("PIVOT"));
    }
    let end = until(tokens, at, |token| is_word(token, "group"));
    let keys = clause(tokens, "group", &[]);
    let keys = keys.map(|keys| items(keys).iter().map(|key| written(key).trim().to_string()).collect());
    // Several `k in (...)` follow each other without a comma.
    let mut on: Vec<Token> = Vec::new();
    let mut from = at + 1;
    while from < end {
        let stop = until(&tokens[..end], from, |token| is_word(token, "in"));
        let open = next(tokens, stop + 1).filter(|open| *open < end && tokens[*open] == Token::LParen);
        let Some(close) = open.and_then(|open| closing(tokens, open)) else { break };
        if !on.is_empty() {
            on.push(Token::Comma);
        }
        on.extend(tokens[from..=close].iter().cloned());
        from = close + 1;
    }
    if on.is_empty() {
        on = tokens[at + 1..end].to_vec();
    }
    expanded(source.trim(), &on, &tokens[..at], keys, (with, host))
}

fn expanded(
    source: &str,
    on: &[Token],
    using: &[Token],
    keys: Option<Vec<String>>,
    (with, host): (&str, &dyn Host),
) -> Result<String, Diagnostic> {
    let ons: Vec<On> = items(on).iter().map(|item| on_item(item)).collect();
    let aggregates: Vec<(String, Option<String>)> = match items(using) {
        none if none.is_empty() => vec![("count(*)".to_string(), None)],
        some => some.iter().map(|item| aggregate(item)).collect(),
    };
    let keys: Vec<String> = match keys {
        Some(keys) => keys,
        None => {
            let schema = host.schema(&format!("{with}select * from {source}"))?;
            let used: Vec<String> = words(on).into_iter().chain(words(using)).collect();
            let free = |name: &&String| !used.iter().any(|used| used.eq_ignore_ascii_case(name));
            let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
            names.iter().filter(free).map(|key| name(key)).collect()
        }
    };
    // Conditions with the names of what they choose.
    let mut chosen: Vec<(String, String)> = vec![(String::new(), String::new())];
    for on in &ons {
        let values = values_of(on, source, with, host)?;
        let mut next = Vec::with_capacity(chosen.len() * values.len());
        for (condition, prefix) in &chosen {
            for (value_condition, value_name) in &values {
                let and = if condition.is_empty() { "" } else { " and " };
                let underscore = if prefix.is_empty() && condition.is_empty() { "" } else { "_" };
                next.push((format!("{condition}{and}{value_condition}"), format!("{prefix}{underscore}{value_name}")));
            }
        }
        chosen = next;
    }
    let count = chosen.len() * aggregates.len();
    if count > MOST_COLUMNS {
        let message = format!("the PIVOT would have {count} columns: at most {MOST_COLUMNS} are possible");
        return Err(
            plan_error("argument", message).help("pivot on a column with fewer values, or list them: `IN (...)`")
        );
    }
    let mut results: Vec<String> = keys.clone();
    for (condition, value) in &chosen {
        for (call, alias) in &aggregates {
            let column = match alias {
                Some(alias) => format!("{value}_{alias}"),
                None if aggregates.len() > 1 => format!("{value}_{call}"),
                None => value.clone(),
            };
            results.push(format!("{} as {}", filtered(call, condition)?, name(&column)));
        }
    }
    if results.is_empty() {
        return Err(plan_error("argument", "the PIVOT has no columns: what it is pivoted on has no values"));
    }
    let grouped = if keys.is_empty() { String::new() } else { format!(" group by {}", keys.join(", ")) };
    Ok(format!("select {} from {source}{grouped}", results.join(", ")))
}

/// An expression whose aggregates are of the rows that a condition holds for.
fn filtered(call: &str, condition: &str) -> Result<String, Diagnostic> {
    let tokens = read(call);
    let mut out = String::with_capacity(call.len() + condition.len() + 20);
    let mut ends: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        out.push_str(&token.to_string());
        if let Token::Word(word) = token
            && is_aggregate_name(&word.value.to_lowercase())
            && let Some(open) = next(&tokens, at + 1).filter(|open| tokens[*open] == Token::LParen)
        {
            ends.extend(closing(&tokens, open));
        }
        if ends.contains(&at) {
            out.push_str(&format!(" filter (where {condition})"));
        }
    }
    match ends.is_empty() {
        true => {
            Err(plan_error("argument", format!("`{call}` is not an aggregate")).help("pivot with `USING sum(column)`"))
        }
        false => Ok(out),
    }
}

/// A condition and a name for each value, listed or found.
fn values_of(on: &On, source: &str, with: &str, host: &dyn Host) -> Result<Vec<(String, String)>, Diagnostic> {
    if let Some(values) = &on.values {
        return Ok(values
            .iter()
            .map(|value| {
                let tokens = read(value);
                let at = until(&tokens, 0, |token| is_word(token, "as"));
                let literal = written(&tokens[..at.min(tokens.len())]).trim().to_string();
                let alias = tokens.get(at + 1..).map(|alias| written(alias).trim().trim_matches('"').to_string());
                let plain = literal.trim_matches('\'').replace("''", "'");
                let condition = match literal.eq_ignore_ascii_case("null") {
                    true => format!("({}) is null", on.expr),
                    false => format!("({}) = {literal}", on.expr),
                };
                (condition, alias.filter(|a| !a.is_empty()).unwrap_or(plain))
            })
            .collect());
    }
    let query = format!(
        "{with}select cast(v as varchar) as t from (select distinct {} as v from {source}) as __onrush_values \
         where v is not null order by v",
        on.expr
    );
    let table = host.rows(&query)?;
    let mut out = Vec::with_capacity(table.rows());
    for batch in table.batches() {
        let texts = arrow::compute::cast(batch.column(0), &onrush_expr::type_coercion::TEXT)
            .map_err(|e| plan_error("internal", e.to_string()))?;
        for value in texts.as_string_view().iter().flatten() {
            out.push((format!("cast({} as varchar) = {}", on.expr, text(value)), value.to_string()));
        }
    }
    Ok(out)
}

/// `t on a, b into name n value v`
fn unpivot_statement(tokens: &[Token], with: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let ends = ["on", "into", "order", "limit"];
    let source = written(&tokens[..until(tokens, 0, |token| ends.iter().any(|word| is_word(token, word)))]);
    let on = clause(tokens, "on", &ends).ok_or_else(|| incomplete("UNPIVOT"))?;
    let into = clause(tokens, "into", &["order", "limit"]).unwrap_or(&[]);
    let (source, nulls) = include_nulls(source.trim());
    let after = |word: &str| {
        let at = until(into, 0, |token| is_word(token, word));
        let stop = until(into, at + 1, |token| is_word(token, "value") || is_word(token, "name"));
        into.get(at + 1..stop.min(into.len())).map(|names| written(names).trim().to_string()).filter(|n| !n.is_empty())
    };
    let names =
        (after("name").unwrap_or_else(|| "name".to_string()), after("value").unwrap_or_else(|| "value".to_string()));
    let tail_start = until(tokens, 0, |token| is_word(token, "order") || is_word(token, "limit"));
    Ok(format!(
        "{} {}",
        stacked(&source, on, &names, (nulls, &spellings(&source, with, host))),
        written(&tokens[tail_start..])
    ))
}

fn include_nulls(source: &str) -> (String, bool) {
    let lower = source.to_lowercase();
    match lower.strip_suffix("include nulls").or_else(|| lower.strip_suffix("exclude nulls")) {
        Some(rest) => (source[..rest.len()].trim().to_string(), lower.ends_with("include nulls")),
        None => (source.to_string(), false),
    }
}

/// `(v for n in (a, b))`
fn unpivot_table(tokens: &[Token], source: &str, with: &str, host: &dyn Host) -> Result<String, Diagnostic> {
    let of = until(tokens, 0, |token| is_word(token, "for"));
    let at = until(tokens, of, |token| is_word(token, "in"));
    let open = next(tokens, at + 1).filter(|open| *open < tokens.len() && tokens[*open] == Token::LParen);
    let Some((open, end)) = open.and_then(|open| closing(tokens, open).map(|end| (open, end))) else {
        return Err(incomplete("UNPIVOT"));
    };
    let (source, nulls) = include_nulls(source.trim());
    let names = (written(&tokens[of + 1..at]).trim().to_string(), written(&tokens[..of]).trim().to_string());
    Ok(stacked(&source, &tokens[open + 1..end], &names, (nulls, &spellings(&source, with, host))))
}

/// The names of the columns of a table; none if the table cannot be planned alone.
fn spellings(source: &str, with: &str, host: &dyn Host) -> Vec<String> {
    let schema = host.schema(&format!("{with}select * from {source}"));
    schema.map(|schema| schema.fields().iter().map(|field| field.name().clone()).collect()).unwrap_or_default()
}

/// A row for each of some columns: its name and its value.
fn stacked(source: &str, on: &[Token], (key, value): &(String, String), (nulls, spelt): (bool, &[String])) -> String {
    let columns = items(on);
    let is_columns = |item: &[Token]| {
        item.iter().find(|t| !matches!(t, Token::Whitespace(_))).is_some_and(|t| is_word(t, "columns"))
    };
    let star = columns.iter().find(|item| is_columns(item) || written(item).trim().starts_with('*'));
    let (names, values, gone) = match star {
        Some(star) => {
            // An expression of the columns, such as a cast, has their names.
            let end = star.iter().position(|t| *t == Token::LParen).and_then(|open| closing(star, open));
            let called = end.map(|end| written(&star[..=end]).trim().to_string()).filter(|_| is_columns(star));
            let star = written(star).trim().to_string();
            let value = if star.starts_with('*') { format!("columns({star})") } else { star };
            let call = called.unwrap_or_else(|| value.clone());
            (format!("{NAMES}({call})"), format!("[{value}]"), call)
        }
        None => {
            let of = |item: &Vec<Token>| {
                let item = written(item);
                let (column, alias) = item.rsplit_once(" as ").unwrap_or((&item, &item));
                let (column, alias) = (column.trim().to_string(), alias.trim().trim_matches('"').to_string());
                let own = spelt.iter().find(|own| own.eq_ignore_ascii_case(&alias));
                (column, own.cloned().unwrap_or(alias))
            };
            let all: Vec<(String, String)> = columns.iter().map(of).collect();
            let names: Vec<String> = all.iter().map(|(_, alias)| text(alias)).collect();
            let values: Vec<String> = all.iter().map(|(column, _)| column.clone()).collect();
            (format!("[{}]", names.join(", ")), format!("[{}]", values.join(", ")), values.join(", "))
        }
    };
    let rest = if star.is_some() { format!("__onrush_without({gone})") } else { format!("* exclude ({gone})") };
    let filter = if nulls { String::new() } else { format!(" where {value} is not null") };
    format!(
        "select * from (select {rest}, unnest({names}) as {key}, unnest({values}) as {value} from {source}) as \
         __onrush_unpivot{filter}"
    )
}
