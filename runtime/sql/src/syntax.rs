//! DuckDB's dialect for the parser: the parser's own, with the precedence of `^`, and with `=` as a comparison in the
//! arguments of functions: `count(a = 2)`.

use std::any::TypeId;

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, DuckDbDialect};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, TokenizerError};

/// How strongly `^` binds: more than `*` (40), less than `::` (50).
const POWER: u8 = 45;

#[derive(Debug)]
struct DuckDb;

macro_rules! as_the_parser_has {
    ($($name:ident),* $(,)?) => {$(
        fn $name(&self) -> bool {
            DuckDbDialect.$name()
        }
    )*};
}

impl Dialect for DuckDb {
    // The parser compares its dialect by this.
    fn dialect(&self) -> TypeId {
        TypeId::of::<DuckDbDialect>()
    }

    fn is_identifier_start(&self, c: char) -> bool {
        DuckDbDialect.is_identifier_start(c)
    }

    fn is_identifier_part(&self, c: char) -> bool {
        DuckDbDialect.is_identifier_part(c)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        (parser.peek_token().token == Token::Caret).then_some(Ok(POWER))
    }

    as_the_parser_has!(
        supports_trailing_commas,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        supports_bitwise_shift_operators,
        supports_named_fn_args_with_assignment_operator,
        supports_dictionary_syntax,
        support_map_literal_syntax,
        supports_lambda_functions,
        allow_extract_single_quotes,
        supports_explain_with_utility_options,
        supports_load_extension,
        supports_array_typedef_with_brackets,
        supports_from_first_select,
        supports_order_by_all,
        supports_select_wildcard_exclude,
        supports_notnull_operator,
        supports_install,
        supports_detach,
        supports_select_wildcard_replace,
        supports_comma_separated_trim,
    );
}

/// The tokens of a text. Literals stay as they are written: with their doubled quotes.
pub fn tokens(text: &str) -> Result<Vec<Token>, TokenizerError> {
    Tokenizer::new(&DuckDb, text).with_unescape(false).tokenize()
}

/// The expression at the start of a text.
pub fn expression(text: &str) -> Result<Expr, ParserError> {
    Parser::new(&DuckDb).try_with_sql(text).and_then(|mut parser| parser.parse_expr())
}

/// The statement of a text; `None` if there are several.
pub fn parsed(text: &str, deepest: usize) -> Result<Option<Statement>> {
    let builder = DFParserBuilder::new(text).with_dialect(&DuckDb).with_recursion_limit(deepest);
    let mut statements = builder.build()?.parse_statements()?;
    if statements.len() > 1 {
        return Ok(None);
    }
    let one = statements.pop_front();
    one.map(Some).ok_or_else(|| DataFusionError::Plan("the query is empty".to_string()))
}
