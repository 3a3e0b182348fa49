//! SQL over frames: one query, tables by the frames' names, DuckDB's meaning where DataFusion's differs.
//!
//! Names are found whatever their case, as in DuckDB: the query's words are respelt before it is parsed. The semantics
//! of operators and aggregates are in `duckdb_semantics.rs`, `datetime.rs`, `intervals.rs` and `aggregates.rs`. Names
//! of functions and types are in `functions.rs`, forms that the planner does not know in `planner_forms.rs`. Columns of
//! names are in `name_resolution.rs`, and subqueries in `decorrelate.rs`. Knows no optimizer rules and no devices, and
//! runs nothing.

mod aggregates;
mod aliases;
mod asof;
mod ast;
mod cases;
mod checked;
mod collations;
mod datetime;
mod decorrelate;
mod desugar;
mod duckdb;
mod duckdb_semantics;
mod functions;
mod intervals;
mod library;
mod name_resolution;
mod named_windows;
mod orders;
mod planner_forms;
pub mod serialize;
mod stars;
mod statements;
mod subscripts;
mod syntax;
mod walk;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList, MemorySchemaProvider,
    SchemaProvider,
};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::prelude::{SQLOptions, SessionContext};
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, ObjectName, SelectItem, SetExpr, Statement, TableFactor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Whitespace, Word};
use onrush_expr::chains;
use onrush_expr::diagnostics::{self, plan_error};
use onrush_expr::error::diagnose;
use onrush_logical::drop_functional_dependencies::Relations;
use onrush_logical::frame_table::{Frame, FrameTable};
use onrush_logical::ops;
use onrush_logical::session_states::PooledState;
use onrush_wire::Diagnostic;

use ast::is_alike;

pub use duckdb_semantics::planner;
pub use statements::{Host, prepared};

/// For the tests of plans alone.
#[doc(hidden)]
pub mod inside {
    pub use crate::library::format::{Value, braces, c_style};
    pub use crate::library::json::document::{Json, Path};
    pub use crate::library::nested::{parts, value_of};
}

/// DuckDB's functions and operators, for every query of the engine.
pub fn register(context: &SessionContext) -> Result<(), Diagnostic> {
    duckdb_semantics::register(context).and_then(|()| library::register(context)).map_err(diagnose)
}

/// The plan of a query.
pub async fn plan(
    mut state: PooledState,
    query: &str,
    tables: Vec<(String, Arc<Frame>)>,
) -> Result<LogicalPlan, Diagnostic> {
    let query = respell(query, &tables)?;
    let deepest = state.config_options().sql_parser.recursion_limit.get();
    let statement = syntax::parsed(&query, deepest).map_err(|e| syntax_error(e, &query))?;
    let Some(statement) = statement else {
        return Err(plan_error("sql-syntax", "there is more than one statement").help("run one query at a time"));
    };
    only_queries(&statement)?;
    let mut statement = statement;
    if let DfStatement::Statement(inner) = &mut statement {
        functions::bound(inner);
    }
    let columns = |frame: &Frame| frame.schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let known: name_resolution::Tables =
        tables.iter().map(|(name, frame)| (name.clone(), Some(columns(frame)))).collect();
    if let DfStatement::Statement(inner) = &mut statement {
        stars::expand(inner, known.clone())?;
    }
    let names = column_names(&statement);
    if let DfStatement::Statement(inner) = &mut statement {
        functions::rewrite(inner)?;
        planner_forms::known(inner);
        name_resolution::resolve(inner, known);
        name_resolution::tables_apart(inner, |table| {
            let fields = tables.iter().filter(|(name, _)| name == table).flat_map(|(_, frame)| frame.schema.fields());
            fields.map(|field| (field.name().clone(), field.data_type().is_nested())).collect()
        });
    }
    let schema = MemorySchemaProvider::new();
    for (name, frame) in &tables {
        schema.register_table(name.clone(), Arc::new(FrameTable(Arc::clone(frame)))).map_err(diagnose)?;
    }
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema("public", Arc::new(schema)).map_err(diagnose)?;
    let catalogs = MemoryCatalogProviderList::new();
    catalogs.register_catalog("datafusion".to_string(), Arc::new(catalog));
    state.register_catalog_list(Arc::new(catalogs));
    if unnests(&mut statement) {
        state.keep_apart();
        state.register_relation_planner(Arc::new(Relations::default())).map_err(diagnose)?;
    }
    let plan = state.statement_to_plan(statement).await.map_err(|e| unknown(shown(e), &tables, &state))?;
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    options.verify_plan(&plan).map_err(|_| not_a_query("this statement"))?;
    let plan = asof::joined(plan)?;
    let plan = orders::kept(plan).map_err(shown)?;
    named(duckdb_semantics::apply_duckdb_semantics(plan).and_then(decorrelate::decorrelate).map_err(shown)?, names)
}

/// Whether a query makes rows of lists.
fn unnests(statement: &mut DfStatement) -> bool {
    struct Search(bool);

    impl walk::Rewriter for Search {
        fn pre_visit_expr(&mut self, expr: &mut SqlExpr) -> walk::Walk {
            self.0 |= matches!(expr, SqlExpr::Function(call) if is_unnest(&call.name));
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> walk::Walk {
            self.0 |= match factor {
                TableFactor::UNNEST { .. } => true,
                TableFactor::Table { name, args: Some(_), .. } => is_unnest(name),
                _ => false,
            };
            ControlFlow::Continue(())
        }
    }

    fn is_unnest(name: &ObjectName) -> bool {
        name_resolution::last(name).is_some_and(|name| name.value.eq_ignore_ascii_case("unnest"))
    }

    let DfStatement::Statement(inner) = statement else { return false };
    let mut search = Search(false);
    let _ = walk::walk(inner.as_mut(), &mut search);
    search.0
}

/// With the names that the query has.
fn shown(error: datafusion::error::DataFusionError) -> Diagnostic {
    let mut diagnostic = diagnose(error);
    diagnostic.message = name_resolution::hide(&diagnostic.message);
    diagnostic
}

/// Functions that stand for tables: their names are not those of columns.
const TABLE_FUNCTIONS: [&str; 3] = ["generate_series", "range", "unnest"];

/// Words in the spelling of the tables, columns or first use that they match but for their case.
fn respell(query: &str, tables: &[(String, Arc<Frame>)]) -> Result<String, Diagnostic> {
    let tokens = syntax::tokens(query).map_err(|e| plan_error("sql-syntax", e.to_string()))?;
    let names: Vec<&str> = tables
        .iter()
        .flat_map(|(name, frame)| {
            std::iter::once(name.as_str()).chain(frame.schema.fields().iter().map(|f| f.name().as_str()))
        })
        .collect();
    few_operators(&tokens)?;
    let exact: HashSet<&str> = names.iter().copied().collect();
    // The query's own, by what they are in small letters.
    let mut own: HashMap<String, String> = HashMap::new();
    let mut out = String::with_capacity(query.len() + 16);
    let mut after_point = false;
    let tokens = nulls_behind(desugar::rewritten(tokens)?);
    let mut named = keywords_as_names(&tokens);
    named.extend(keywords_as_columns(&tokens, &names));
    for (at, token) in tokens.iter().enumerate() {
        let is_call = desugar::next(&tokens, at + 1).is_some_and(|next| tokens[next] == Token::LParen);
        let follows = std::mem::replace(&mut after_point, *token == Token::Period);
        match token.clone() {
            Token::Word(Word { value, quote_style: None, keyword }) => {
                let plain = follows || keyword == Keyword::NoKeyword || named.contains(&at);
                // The word itself is a name, or it is a keyword that only happens to look like one.
                let is_function = is_call && TABLE_FUNCTIONS.contains(&value.to_lowercase().as_str());
                if exact.contains(value.as_str()) || !plain || is_function {
                    out.push_str(&value);
                    continue;
                }
                let name = names.iter().copied().find(|name| is_alike(name, &value));
                match name.or_else(|| own.get(&value.to_lowercase()).map(String::as_str)) {
                    Some(spelling) => out.push_str(&format!("\"{}\"", spelling.replace('"', "\"\""))),
                    None => {
                        out.push_str(&value);
                        own.insert(value.to_lowercase(), value);
                    }
                }
            }
            // `2 ** 3`
            Token::Mul if out.ends_with('*') => {
                out.pop();
                out.push('^');
            }
            Token::Whitespace(Whitespace::Space) => out.push(' '),
            other => write!(out, "{other}").unwrap_or_else(|e| unreachable!("strings take everything: {e}")),
        }
    }
    Ok(out)
}

/// The places of keywords that name a table, as in `from (select 1 as a) CATALOG where catalog.a = 1`: those before a
/// point, and those of the same name where an alias stands.
fn keywords_as_names(tokens: &[Token]) -> HashSet<usize> {
    let keyword = |at: usize| match &tokens[at] {
        Token::Word(Word { value, quote_style: None, keyword }) if *keyword != Keyword::NoKeyword => Some(value),
        _ => None,
    };
    let is_point = |at: usize| desugar::next(tokens, at + 1).is_some_and(|next| tokens[next] == Token::Period);
    let all = || (0..tokens.len()).filter_map(|at| Some((at, keyword(at)?)));
    let qualifiers: HashSet<String> =
        all().filter(|(at, _)| is_point(*at)).map(|(_, name)| name.to_lowercase()).collect();
    if qualifiers.is_empty() {
        return HashSet::new();
    }
    let is_alias = |at: usize| {
        let before = tokens[..at].iter().rev().find(|token| !matches!(token, Token::Whitespace(_)));
        matches!(before, Some(Token::RParen | Token::Word(Word { keyword: Keyword::NoKeyword, .. })))
    };
    let is_name = |at: usize, name: &str| is_point(at) || is_alias(at) && qualifiers.contains(&name.to_lowercase());
    all().filter(|(at, name)| is_name(*at, name)).map(|(at, _)| at).collect()
}

/// Keywords that are common names of columns, and mean nothing else where a column can stand.
const COLUMN_WORDS: [&str; 30] = [
    "class", "count", "date", "day", "domain", "hour", "language", "level", "location", "minute", "mode", "month",
    "name", "owner", "percent", "position", "quarter", "rank", "region", "second", "size", "source", "state", "status",
    "target", "time", "type", "value", "version", "year",
];

/// The places of keywords that name a column in another case, as `year` for a column `Year`. Not `date '2024-01-01'`,
/// `interval 1 year`, `extract(year from x)` and calls.
fn keywords_as_columns(tokens: &[Token], names: &[&str]) -> Vec<usize> {
    let can_stand = |at: usize| {
        let before = tokens[..at].iter().rev().find(|token| !matches!(token, Token::Whitespace(_)));
        let behind = desugar::next(tokens, at + 1).map(|next| &tokens[next]);
        let opens = matches!(before, Some(Token::LParen));
        let follows = match before {
            Some(Token::LParen | Token::Comma | Token::Eq | Token::Neq | Token::Plus | Token::Minus) => true,
            Some(Token::Lt | Token::Gt | Token::LtEq | Token::GtEq | Token::Mul | Token::Div) => true,
            Some(token) => {
                let words =
                    ["select", "distinct", "by", "where", "and", "or", "not", "on", "having", "when", "then", "else"];
                words.iter().any(|word| desugar::is_word(token, word))
            }
            None => false,
        };
        let is_field = opens && behind.is_some_and(|token| desugar::is_word(token, "from"));
        follows && !is_field && !matches!(behind, Some(Token::LParen | Token::SingleQuotedString(_)))
    };
    let is_column = |at: usize| match &tokens[at] {
        Token::Word(Word { value, quote_style: None, keyword }) if *keyword != Keyword::NoKeyword => {
            COLUMN_WORDS.iter().any(|word| word.eq_ignore_ascii_case(value))
                && names.iter().any(|name| is_alike(name, value))
                && can_stand(at)
        }
        _ => false,
    };
    (0..tokens.len()).filter(|at| is_column(*at)).collect()
}

/// The most operators inside one another in one expression, as in a sum. The planner asks each decimal or float
/// operator for all types below it: 1,000 take 3 s.
const MOST_OPERATORS: usize = 2_000;
/// The most conditions joined by `and` and `or`: the planner does not ask for their types.
const MOST_CONDITIONS: usize = 20_000;

fn few_operators(tokens: &[Token]) -> Result<(), Diagnostic> {
    use Token::{Ampersand, Caret, Comma, Div, DoubleColon, DuckIntDiv, LParen, Minus, Mod, Mul, Pipe, Plus, RParen};
    use datafusion::sql::sqlparser::keywords::Keyword::{
        AND, CASE, ELSE, END, FROM, GROUP, HAVING, ON, OR, ORDER, SELECT, THEN, UNION, WHEN, WHERE,
    };
    // The counts of the open expressions, one for each bracket.
    let (mut operators, mut conditions) = (vec![0], vec![0]);
    for token in tokens {
        let (Some(operator), Some(condition)) = (operators.last_mut(), conditions.last_mut()) else { return Ok(()) };
        match token {
            Plus
            | Minus
            | Mul
            | Div
            | DuckIntDiv
            | Mod
            | Ampersand
            | Pipe
            | Caret
            | DoubleColon
            | Token::ShiftLeft
            | Token::ShiftRight
            | Token::StringConcat => *operator += 1,
            Token::Word(word) if matches!(word.keyword, AND | OR) => (*operator, *condition) = (0, *condition + 1),
            Comma => (*operator, *condition) = (0, 0),
            Token::Word(word)
                if matches!(
                    word.keyword,
                    SELECT | FROM | WHERE | WHEN | THEN | ELSE | GROUP | ORDER | HAVING | UNION | ON
                ) =>
            {
                (*operator, *condition) = (0, 0);
            }
            // `case ... end` holds expressions as brackets do.
            LParen => {
                operators.push(0);
                conditions.push(0);
            }
            Token::Word(word) if word.keyword == CASE => {
                operators.push(0);
                conditions.push(0);
            }
            RParen if operators.len() > 1 => _ = (operators.pop(), conditions.pop()),
            Token::Word(word) if word.keyword == END && operators.len() > 1 => {
                _ = (operators.pop(), conditions.pop());
            }
            _ => {}
        }
        let many = |open: &[usize], most: usize| open.last().copied().filter(|found| *found > most);
        let (what, most) = match () {
            () if many(&operators, MOST_OPERATORS).is_some() => ("operators", MOST_OPERATORS),
            () if many(&conditions, MOST_CONDITIONS).is_some() => ("conditions", MOST_CONDITIONS),
            () => continue,
        };
        let message = format!("an expression of the query has more than {most} {what}, one in the other");
        let advice =
            "make columns of parts of it first; a long list of values is `x in (...)`, or a frame to join with";
        return Err(chains::deep(&message).help(advice));
    }
    Ok(())
}

/// `f(x ignore nulls)` as `f(x) ignore nulls`: DuckDB has the first, and the parser only the second.
fn nulls_behind(mut tokens: Vec<Token>) -> Vec<Token> {
    let is = |token: &Token, word: &str| matches!(token, Token::Word(w) if w.value.eq_ignore_ascii_case(word));
    let mut at = 0;
    while at < tokens.len() {
        let next = |from: usize| {
            tokens[from..].iter().position(|token| !matches!(token, Token::Whitespace(_))).map(|found| from + found)
        };
        if (is(&tokens[at], "ignore") || is(&tokens[at], "respect"))
            && let Some(nulls) = next(at + 1).filter(|nulls| is(&tokens[*nulls], "nulls"))
            && let Some(end) = next(nulls + 1).filter(|end| tokens[*end] == Token::RParen)
        {
            // The text before the bracket comes behind it.
            let words: Vec<Token> = tokens.drain(at..end).collect();
            let blank = || Token::Whitespace(Whitespace::Space);
            let words: Vec<Token> = std::iter::once(blank()).chain(words).chain([blank()]).collect();
            let moved = words.len();
            tokens.splice(at + 1..at + 1, words);
            at += moved;
        }
        at += 1;
    }
    tokens
}

fn not_a_query(what: &str) -> Diagnostic {
    plan_error("sql-not-a-query", format!("{what} is not a query: only SELECT and WITH are possible"))
        .help("frames do not change; make a new one with a query, and name it with `let`")
}

fn only_queries(statement: &DfStatement) -> Result<(), Diagnostic> {
    match statement {
        DfStatement::Statement(inner) => match inner.as_ref() {
            Statement::Query(_) => Ok(()),
            other => {
                let text = other.to_string();
                let word = text.split_whitespace().next().unwrap_or("this").to_uppercase();
                Err(not_a_query(&word))
            }
        },
        DfStatement::Explain(_) => Err(not_a_query("EXPLAIN").help("use `.explain()` on the frame")),
        DfStatement::CopyTo(_) => Err(not_a_query("COPY").help("use `.write_csv(...)` or `.write_parquet(...)`")),
        _ => Err(not_a_query("this statement")),
    }
}

/// Names of the columns as DuckDB gives them: the text of an expression, without the table of a column. `None` where
/// the query does not list its columns.
fn column_names(statement: &DfStatement) -> Vec<Option<String>> {
    let DfStatement::Statement(inner) = statement else { return Vec::new() };
    let Statement::Query(query) = inner.as_ref() else { return Vec::new() };
    let mut body = query.body.as_ref();
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(inner) => body = inner.body.as_ref(),
            _ => return Vec::new(),
        }
    };
    select
        .projection
        .iter()
        .map(|item| match item {
            SelectItem::UnnamedExpr(SqlExpr::Identifier(_) | SqlExpr::CompoundIdentifier(_)) => Some(None),
            SelectItem::UnnamedExpr(expr) => Some(Some(expr.to_string().replace('"', ""))),
            SelectItem::ExprWithAlias { .. } => Some(None),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .unwrap_or_default()
}

/// Columns under their own names; a name that occurs again gets a number, as in DuckDB's data frames.
fn named(plan: LogicalPlan, names: Vec<Option<String>>) -> Result<LogicalPlan, Diagnostic> {
    let listed = names.len() == plan.schema().fields().len();
    let mut taken: Vec<String> = Vec::new();
    let exprs: Vec<Expr> = plan
        .schema()
        .iter()
        .enumerate()
        .map(|(index, (qualifier, field))| {
            let given = names.get(index).filter(|_| listed).cloned().flatten();
            let base = given.unwrap_or_else(|| name_resolution::shown(field.name()).to_string());
            let mut name = base.clone();
            let mut number = 0;
            while taken.contains(&name) {
                number += 1;
                name = format!("{base}_{number}");
            }
            taken.push(name.clone());
            Expr::Column(datafusion::common::Column::new(qualifier.cloned(), field.name())).alias(name)
        })
        .collect();
    ops::project_exprs(plan, exprs)
}

/// A syntax error with the piece of the query where it is.
fn syntax_error(error: datafusion::error::DataFusionError, query: &str) -> Diagnostic {
    let mut diagnostic = diagnose(error);
    diagnostic.code = "sql-syntax".to_string();
    let message = diagnostic.message.clone();
    let place = message.rsplit_once(" at Line: ").and_then(|(before, at)| {
        let (line, column) = at.split_once(", Column: ")?;
        Some((before.to_string(), line.trim().parse::<usize>().ok()?, column.trim().parse::<usize>().ok()?))
    });
    if let Some((before, line, column)) = place {
        diagnostic.message = before;
        if let Some(text) = query.lines().nth(line.saturating_sub(1)) {
            diagnostic.notes.push(format!("line {line} of the query: {}", text.trim()));
            let near: String = text.chars().skip(column.saturating_sub(1)).take(20).collect();
            diagnostic.message = format!("{} near `{}`", diagnostic.message, near.trim());
        }
    }
    diagnostic
}

/// Unknown tables and functions with the nearest known name.
fn unknown(mut diagnostic: Diagnostic, tables: &[(String, Arc<Frame>)], state: &SessionState) -> Diagnostic {
    let message = diagnostic.message.clone();
    if let Some(rest) = message.strip_prefix("table '")
        && let Some(name) = rest.split('\'').next()
    {
        let name = name.rsplit('.').next().unwrap_or(name);
        let known: Vec<&str> = tables.iter().map(|(n, _)| n.as_str()).collect();
        diagnostic = plan_error("unknown-table", format!("there is no table `{name}`"));
        if let Some(near) = diagnostics::nearest(name, known.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        let list: Vec<String> = known.iter().take(10).map(|n| format!("`{n}`")).collect();
        return match list.is_empty() {
            true => diagnostic.note("no variable holds a frame yet"),
            false => diagnostic.note(format!("frames: {}", list.join(", "))),
        };
    }
    if let Some(rest) = message.strip_prefix("Source table contains ")
        && let [found, _, _, _, names, ..] = rest.split_whitespace().collect::<Vec<_>>().as_slice()
    {
        let message = format!("a table has {found} columns, and {names} names or values stand for them");
        return plan_error("column-count", message).help("select as many columns as are named, or compared");
    }
    if let Some(rest) = message.strip_prefix("Invalid function '")
        && let Some(name) = rest.split('\'').next()
    {
        diagnostic = plan_error("unknown-function", format!("SQL has no function `{name}`"));
        let known = state
            .scalar_functions()
            .keys()
            .chain(state.aggregate_functions().keys())
            .chain(state.window_functions().keys());
        diagnostic = match diagnostics::nearest(name, known.map(String::as_str)) {
            Some(near) if near == name => plan_error("over", format!("`{name}` is a function of windows"))
                .help(format!("say over which rows: `{name}(...) over (partition by ... order by ...)`")),
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        };
    }
    diagnostic
}
