//! The files in the FROM of a query: `from 'x.csv'`, `join read_parquet('h/*/*', hive_partitioning = true)`.
//!
//! Reads as much of a query as is needed to tell a table from a literal: quotes, comments, brackets and clauses.

use onrush_wire::plan::{CsvOptions, FORMATS, FixedWidthOptions, Format, FormatKind, OnError, Sheet};
use onrush_wire::{Class, DataType, Diagnostic, TimeUnit};

/// A file that a query names, and the name that stands for it there.
#[derive(Debug, PartialEq)]
pub struct FileTable {
    pub name: String,
    pub path: String,
    pub format: Format,
}

/// The tokens inside of a bracket, as far as they say whether a table is expected.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Inside the bracket of `trim(both 'x' from y)` and the like: a FROM there is none of a query.
    is_call: bool,
    /// Behind FROM and before the next clause: a comma is followed by a table.
    in_from: bool,
}

/// Functions whose arguments stand behind FROM.
const CALLS: [&str; 5] = ["trim", "extract", "substring", "overlay", "position"];
/// Words that end the list of tables.
const CLAUSES: [&str; 13] = [
    "select",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "fetch",
    "qualify",
    "window",
    "union",
    "except",
    "intersect",
];

/// A query with names in place of its files, and the files.
///
/// # Errors
/// An option of a reader that there is not, or with a value of another kind.
pub fn files(query: &str) -> Result<(String, Vec<FileTable>), Diagnostic> {
    let mut out = String::with_capacity(query.len());
    let mut found: Vec<FileTable> = Vec::new();
    let mut rest = query;
    // Whether a table is expected: behind FROM, JOIN, or a comma behind a table.
    let mut expects = false;
    let mut levels = vec![Level::default()];
    let mut last = String::new();
    while let Some(c) = rest.chars().next() {
        let name = || format!("__onrush_file_{}", found.len());
        let remark = remark(rest);
        if remark > 0 || c.is_whitespace() {
            let end = remark.max(if remark == 0 { c.len_utf8() } else { 0 });
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        if c == '\'' || c == '"' {
            let (length, path) = match c {
                '\'' => match literal(rest) {
                    Some((path, length)) => (length, Some(path)),
                    None => break,
                },
                _ => (rest[1..].find('"').map_or(rest.len(), |at| at + 2), None),
            };
            match path.filter(|_| expects) {
                Some(path) => {
                    out.push_str(&format!("\"{}\"", name()));
                    found.push(FileTable { name: name(), path, format: Format::Any });
                }
                None => out.push_str(&rest[..length]),
            }
            (rest, expects) = (&rest[length..], false);
            last.clear();
            continue;
        }
        if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let word = rest[..end].to_lowercase();
            if expects && let Some((path, format, length)) = call(&word, &rest[end..])? {
                out.push_str(&format!("\"{}\"", name()));
                found.push(FileTable { name: name(), path, format });
                (rest, expects) = (&rest[end + length..], false);
                last.clear();
                continue;
            }
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            let level = levels.last_mut();
            expects = match word.as_str() {
                // `a is distinct from 'x'`
                "from" => !level.as_ref().is_some_and(|level| level.is_call) && last != "distinct",
                "join" | "describe" | "summarize" => true,
                _ => false,
            };
            if let Some(level) = level {
                level.in_from = (level.in_from || expects && word == "from") && !CLAUSES.contains(&word.as_str());
            }
            last = word;
            continue;
        }
        match c {
            '(' | '[' | '{' => levels.push(Level { is_call: CALLS.contains(&last.as_str()), in_from: false }),
            ')' | ']' | '}' if levels.len() > 1 => _ = levels.pop(),
            _ => {}
        }
        expects = c == ',' && levels.last().is_some_and(|level| level.in_from);
        last.clear();
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out.push_str(rest);
    Ok((out, found))
}

/// The length of a comment at the start of a text.
fn remark(text: &str) -> usize {
    match () {
        () if text.starts_with("--") => text.find('\n').unwrap_or(text.len()),
        () if text.starts_with("/*") => text.find("*/").map_or(text.len(), |at| at + 2),
        () => 0,
    }
}

/// A string literal at the start of a text, and its length.
pub fn literal(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix('\'')?;
    let mut out = String::new();
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\'' {
            out.push(c);
        } else if chars.next_if(|(_, next)| *next == '\'').is_some() {
            out.push('\'');
        } else {
            return Some((out, at + 2));
        }
    }
    None
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    /// A number, or a word such as `true`.
    Word(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

/// The path, the format and the length of the arguments of a function that reads files. `None`: it is another function,
/// or its path is not a literal.
fn call(word: &str, text: &str) -> Result<Option<(String, Format, usize)>, Diagnostic> {
    let Some(format) = reader(word) else { return Ok(None) };
    let mut cursor = Cursor { text, at: 0 };
    let path = cursor.takes('(').then(|| cursor.value()).flatten();
    let path = match path {
        Some(Value::Text(path)) => path,
        Some(Value::List(_)) => {
            let message = format!("`{word}` reads one path, not a list of paths");
            return Err(Diagnostic::error(Class::Plan, "argument", message)
                .help("write a pattern, such as 'data/*.csv', or put the files together with `union all by name`"));
        }
        _ => return Ok(None),
    };
    let mut options = Vec::new();
    while cursor.takes(',') {
        let name = cursor.word();
        let assigns = [":=", "=>", "="].into_iter().any(|sign| cursor.takes_all(sign));
        match cursor.value().filter(|_| assigns && !name.is_empty()) {
            Some(value) => options.push((name, value)),
            None => {
                let message = format!("an option of `{word}` is not complete near `{}`", cursor.near());
                return Err(Diagnostic::error(Class::Plan, "sql-syntax", message)
                    .help(format!("write options as names and values: `{word}('x', {} = ...)`", example(&format))));
            }
        }
    }
    if !cursor.takes(')') {
        return Ok(None);
    }
    let format = with_options(word, format, options)?;
    Ok(Some((path, format, cursor.at)))
}

/// The format of a reader of SQL with its default options. The bytes of a binary file without options say the format.
fn reader(word: &str) -> Option<Format> {
    let info = FORMATS.iter().find(|info| info.sql_readers.contains(&word))?;
    Some(match info.kind {
        FormatKind::Ipc | FormatKind::Avro | FormatKind::Orc => Format::Any,
        _ => (info.format)(""),
    })
}

fn example(format: &Format) -> &'static str {
    match format {
        Format::Csv(_) => "delim",
        Format::FixedWidth(_) => "header",
        Format::Excel(_) => "sheet",
        _ => "hive_partitioning",
    }
}

/// A place in the arguments of a call.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn near(&self) -> String {
        self.rest().chars().take(20).collect()
    }

    fn skip(&mut self) {
        loop {
            let blanks = self.rest().len() - self.rest().trim_start().len();
            let length = blanks + remark(self.rest().trim_start());
            if length == 0 {
                return;
            }
            self.at += length;
        }
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.skip();
        let is = self.rest().starts_with(wanted);
        self.at += if is { wanted.len_utf8() } else { 0 };
        is
    }

    fn takes_all(&mut self, wanted: &str) -> bool {
        self.skip();
        let is = self.rest().starts_with(wanted);
        self.at += if is { wanted.len() } else { 0 };
        is
    }

    /// A word in small letters; empty if there is none.
    fn word(&mut self) -> String {
        self.skip();
        let end = self.rest().find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')));
        let word = self.rest()[..end.unwrap_or(self.rest().len())].to_lowercase();
        self.at += word.len();
        word
    }

    fn value(&mut self) -> Option<Value> {
        self.skip();
        match self.rest().chars().next()? {
            '\'' => self.text().map(Value::Text),
            '[' => self.items('[', ']', Cursor::value).map(Value::List),
            '{' => self
                .items('{', '}', |cursor| {
                    cursor.skip();
                    let key = match cursor.rest().chars().next()? {
                        '\'' => cursor.text()?,
                        '"' => {
                            let end = cursor.rest()[1..].find('"')?;
                            let key = cursor.rest()[1..=end].to_string();
                            cursor.at += end + 2;
                            key
                        }
                        _ => cursor.word(),
                    };
                    cursor.takes(':').then_some(())?;
                    Some((key, cursor.value()?))
                })
                .map(Value::Map),
            _ => Some(Value::Word(self.word())).filter(|word| *word != Value::Word(String::new())),
        }
    }

    fn text(&mut self) -> Option<String> {
        let (text, length) = literal(self.rest())?;
        self.at += length;
        Some(text)
    }

    fn items<T>(&mut self, open: char, close: char, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.takes(open).then_some(())?;
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(item(self)?);
            if !self.takes(',') {
                return self.takes(close).then_some(items);
            }
        }
        Some(items)
    }
}

/// An option of a call, for errors.
struct CallOption<'a> {
    function: &'a str,
    name: &'a str,
    value: &'a Value,
}

impl CallOption<'_> {
    fn wrong(&self, expected: &str) -> Diagnostic {
        let message = format!("the option `{}` of `{}` is {expected}", self.name, self.function);
        Diagnostic::error(Class::Plan, "bad-option", message)
    }

    fn unknown(&self, known: &str) -> Diagnostic {
        let message = format!("`{}` has no option `{}` here", self.function, self.name);
        Diagnostic::error(Class::Plan, "bad-option", message).help(format!("its options are {known}"))
    }

    fn flag(&self) -> Result<bool, Diagnostic> {
        match self.value {
            Value::Word(word) if matches!(word.as_str(), "true" | "1" | "t") => Ok(true),
            Value::Word(word) if matches!(word.as_str(), "false" | "0" | "f") => Ok(false),
            Value::Text(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Value::Text(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err(self.wrong("`true` or `false`")),
        }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        match self.value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong("a string in single quotes")),
        }
    }

    /// One character, or none.
    fn character(&self) -> Result<Option<char>, Diagnostic> {
        let text = match self.value {
            Value::Text(text) if text == "\\t" => "\t".to_string(),
            _ => self.text()?,
        };
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (first, None) => Ok(first),
            _ => Err(self.wrong("one character in single quotes")),
        }
    }

    fn number(&self) -> Result<u64, Diagnostic> {
        let number = if let Value::Word(word) = self.value { word.parse().ok() } else { None };
        number.ok_or_else(|| self.wrong("an integer, 0 or more"))
    }

    fn texts(&self) -> Result<Vec<String>, Diagnostic> {
        let text = |value: &Value| match value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong("a string, or a list of strings such as ['a', 'b']")),
        };
        match self.value {
            Value::List(values) => values.iter().map(text).collect(),
            value => text(value).map(|text| vec![text]),
        }
    }

    /// Names and types: `{'a': 'integer'}`.
    fn types(&self) -> Result<Vec<(String, DataType)>, Diagnostic> {
        let Value::Map(pairs) = self.value else {
            return Err(self.wrong("a map from names to types such as {'a': 'integer'}"));
        };
        pairs.iter().map(|(name, value)| Ok((name.clone(), self.data_type(value)?))).collect()
    }

    fn data_type(&self, value: &Value) -> Result<DataType, Diagnostic> {
        let known =
            || self.wrong("made of the names of types, such as 'integer', 'double', 'varchar', 'date', 'timestamp'");
        let Value::Text(text) = value else { return Err(known()) };
        data_type(text).ok_or_else(known)
    }
}

/// A type by its name in DuckDB.
fn data_type(text: &str) -> Option<DataType> {
    let name = text.trim().to_lowercase();
    let (base, inside) = match name.split_once('(') {
        Some((base, rest)) => (base.trim(), Some(rest.strip_suffix(')')?)),
        None => (name.as_str(), None),
    };
    let micros = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(str::to_string));
    Some(match base {
        "boolean" | "bool" | "logical" => DataType::Boolean,
        "tinyint" | "int1" => DataType::Int8,
        "smallint" | "int2" | "int16" | "short" => DataType::Int16,
        "integer" | "int" | "int4" | "int32" | "signed" => DataType::Int32,
        "bigint" | "int8" | "int64" | "long" => DataType::Int64,
        "utinyint" | "uint8" => DataType::UInt8,
        "usmallint" | "uint16" => DataType::UInt16,
        "uinteger" | "uint32" => DataType::UInt32,
        "ubigint" | "uint64" => DataType::UInt64,
        "float" | "real" | "float4" => DataType::Float32,
        "double" | "float8" => DataType::Float64,
        "hugeint" => DataType::Decimal { precision: 38, scale: 0 },
        "decimal" | "numeric" | "dec" => {
            let digits = inside.unwrap_or("18,3");
            let (precision, scale) = digits.split_once(',').unwrap_or((digits, "0"));
            DataType::Decimal { precision: precision.trim().parse().ok()?, scale: scale.trim().parse().ok()? }
        }
        "varchar" | "text" | "string" | "char" | "bpchar" => DataType::String,
        "date" => DataType::Date,
        "time" => DataType::Time(TimeUnit::Microsecond),
        "timestamp" | "datetime" | "timestamp_us" => micros(None),
        "timestamp_s" => DataType::Timestamp(TimeUnit::Second, None),
        "timestamp_ms" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "timestamp_ns" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "timestamptz" | "timestamp with time zone" => micros(Some("UTC")),
        _ => return None,
    })
}

fn with_options(function: &str, format: Format, options: Vec<(String, Value)>) -> Result<Format, Diagnostic> {
    let given = options.iter().map(|(name, value)| CallOption { function, name, value });
    match format {
        Format::Csv(options) => csv(options, given.collect()).map(Format::Csv),
        Format::FixedWidth(FixedWidthOptions { columns, text }) => {
            let text = csv(text, given.collect())?;
            Ok(Format::FixedWidth(FixedWidthOptions { columns, text }))
        }
        Format::Parquet(mut options) => {
            for option in given {
                match option.name {
                    "hive_partitioning" => options.hive = Some(option.flag()?),
                    "union_by_name" => options.union_by_name = option.flag()?,
                    "compression" | "binary_as_string" => {}
                    _ => return Err(option.unknown("`hive_partitioning` and `union_by_name`")),
                }
            }
            Ok(Format::Parquet(options))
        }
        Format::Excel(mut options) => {
            for option in given {
                match option.name {
                    "sheet" => options.sheet = Sheet::Name(option.text()?),
                    "range" => options.range = Some(option.text()?),
                    "header" => options.has_header = option.flag()?,
                    _ => return Err(option.unknown("`sheet`, `range` and `header`")),
                }
            }
            Ok(Format::Excel(options))
        }
        format => {
            for option in given {
                match option.name {
                    // As files are read here in any case.
                    "hive_partitioning" | "union_by_name" | "auto_detect" if option.flag()? => {}
                    "format" | "records" | "compression" | "sample_size" | "maximum_object_size" | "maximum_depth" => {}
                    _ => return Err(option.unknown("`hive_partitioning = true` and `union_by_name = true`")),
                }
            }
            Ok(format)
        }
    }
}

const CSV: &str = "`delim`, `quote`, `escape`, `header`, `names`, `columns`, `types`, `nullstr`, `skip`, `comment`, \
                   `decimal_separator`, `thousands`, `dateformat`, `timestampformat`, `encoding`, `filename`, \
                   `union_by_name`, `hive_partitioning`, `null_padding` and `ignore_errors`; `csv()` has more of them";

/// Options of DuckDB's reader of CSV.
fn csv(mut options: CsvOptions, given: Vec<CallOption<'_>>) -> Result<CsvOptions, Diagnostic> {
    let has = |name: &str| given.iter().any(|option| option.name == name);
    for option in &given {
        match option.name {
            "delim" | "sep" | "delimiter" => {
                let separator = option.character()?;
                options.separator = separator.ok_or_else(|| option.wrong("one character in single quotes"))?;
            }
            "quote" => options.quote = option.character()?,
            "escape" => options.escape = option.character()?,
            "header" => options.has_header = option.flag()?,
            "columns" | "names" | "column_names" => {
                if !has("header") {
                    // A first row that is taken for names in vain would be lost.
                    let help = "say whether the first row of the file has names: `header = true` or `header = false`";
                    return Err(option.wrong("given without `header`").help(help));
                }
                match option.name {
                    "columns" => {
                        let types = option.types()?;
                        options.names = types.iter().map(|(name, _)| name.clone()).collect();
                        options.dtypes.extend(types);
                    }
                    _ => options.names = option.texts()?,
                }
            }
            "types" | "dtypes" | "column_types" => options.dtypes.extend(option.types()?),
            "nullstr" | "null" | "nulls" => {
                options.nulls = option.texts()?;
                options.nulls.retain(|text| !text.is_empty());
                options.quoted_nulls = true;
            }
            "allow_quoted_nulls" => {}
            "skip" => options.skip_rows = option.number()?,
            "comment" => options.comment = option.character()?,
            "decimal_separator" => {
                let separator = option.character()?;
                options.decimal = separator.ok_or_else(|| option.wrong("one character in single quotes"))?;
            }
            "thousands" => options.thousands = option.character()?,
            "dateformat" | "date_format" | "timestampformat" | "timestamp_format" => options.dates.push(option.text()?),
            "encoding" => options.encoding = Some(option.text()?),
            "filename" => {
                options.file_name = match option.value {
                    Value::Text(name) => Some(name.clone()),
                    _ => option.flag()?.then(|| "filename".to_string()),
                };
            }
            "union_by_name" => options.union_by_name = option.flag()?,
            "hive_partitioning" => options.hive = Some(option.flag()?),
            "null_padding" => options.pad_rows = option.flag()?,
            "ignore_errors" => options.on_error = if option.flag()? { OnError::Skip } else { OnError::Fail },
            // They say how DuckDB finds what is found here from the whole file.
            "auto_detect" | "sample_size" | "parallel" | "buffer_size" | "max_line_size" | "maximum_line_size"
            | "new_line" | "compression" | "files_to_sniff" => {}
            _ => return Err(option.unknown(CSV)),
        }
    }
    if let Some(quoted) = given.iter().find(|option| option.name == "allow_quoted_nulls") {
        options.quoted_nulls &= quoted.flag()?;
    }
    // A doubled quote is a part of the value in any case.
    if options.escape == options.quote {
        options.escape = None;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use onrush_wire::plan::ParquetOptions;

    use super::*;

    fn paths(query: &str) -> Vec<String> {
        files(query).unwrap().1.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn files_are_found_behind_from_and_join() {
        let (query, found) =
            files("select 'a' from 'x.csv' join read_parquet('y''s.parquet') using (k) where b = 'from'").unwrap();
        assert_eq!(query, "select 'a' from \"__onrush_file_0\" join \"__onrush_file_1\" using (k) where b = 'from'");
        let found: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(found, ["x.csv", "y's.parquet"]);
        assert_eq!(paths("from 'a.csv' a, 'b.csv' b where a.x in ('p', 'q')"), ["a.csv", "b.csv"]);
        assert_eq!(paths("select * from (select x from 'a.csv'), 'b.csv'"), ["a.csv", "b.csv"]);
        assert_eq!(paths("select trim(both 'x' from s) from/* 'c.csv' */'a.csv' -- from 'd.csv'"), ["a.csv"]);
    }

    /// As DuckDB reads them.
    #[test]
    fn literals_are_no_files() {
        for query in [
            "select extract(year from t), \"from\" from u -- from 'c.csv'",
            "select trim(both 'x' from 'xxaxx'), trim(leading from 'y'), substring('abc' from 2)",
            "select a is distinct from 'x', a is not distinct from 'y' from t",
            "select * from t where x = 'a', 'b'",
            "select * from t group by x, 'b'",
        ] {
            assert_eq!(files(query).unwrap(), (query.to_string(), Vec::new()), "{query}");
        }
    }

    #[test]
    fn readers_take_the_options_of_duckdb() {
        let of = |query: &str| files(query).unwrap().1.remove(0).format;
        let expected = CsvOptions { separator: ';', has_header: false, skip_rows: 2, ..CsvOptions::default() };
        let query = "from read_csv('x', delim = ';', header := false, skip=>2, sample_size = -1) where a = 'b'";
        assert_eq!(of(query), Format::Csv(expected));
        let dtypes = vec![("a".to_string(), DataType::Int32), ("b c".to_string(), DataType::String)];
        let names = vec!["a".to_string(), "b c".to_string()];
        let expected = CsvOptions { names, dtypes, ..CsvOptions::default() };
        let query = "from read_csv('x', header = true, columns = {'a': 'INTEGER', \"b c\": 'VARCHAR',})";
        assert_eq!(of(query), Format::Csv(expected));
        let nulls = vec!["-".to_string(), "?".to_string()];
        let expected = CsvOptions { nulls, quoted_nulls: true, separator: '\t', ..CsvOptions::default() };
        assert_eq!(of("from read_csv('x', nullstr = ['-', '?'], sep = '\\t')"), Format::Csv(expected));
        let expected = ParquetOptions { hive: Some(true), ..ParquetOptions::default() };
        assert_eq!(of("from read_parquet('h/*/*', hive_partitioning = true)"), Format::Parquet(expected));
        let decimal = DataType::Decimal { precision: 9, scale: 2 };
        assert_eq!(data_type("DECIMAL(9, 2)"), Some(decimal));
    }

    #[test]
    fn other_options_are_errors() {
        for (query, expected) in [
            ("from read_csv('x', foo = 1)", "`read_csv` has no option `foo` here"),
            ("from read_csv('x', header = 'maybe')", "the option `header` of `read_csv` is `true` or `false`"),
            ("from read_csv('x', delim)", "an option of `read_csv` is not complete near `)`"),
            ("from read_csv(['x', 'y'])", "`read_csv` reads one path, not a list of paths"),
            ("from read_csv('x', names = ['a'])", "the option `names` of `read_csv` is given without `header`"),
            (
                "from read_parquet('x', hive_partitioning = 3)",
                "the option `hive_partitioning` of `read_parquet` is `true` or `false`",
            ),
        ] {
            assert_eq!(files(query).unwrap_err().message, expected, "{query}");
        }
    }
}
