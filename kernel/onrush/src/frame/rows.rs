//! Deserialises rows into Rust values with serde: structs by column names, tuples by position.

use std::fmt;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType as Arrow;
use onrush_wire::{Class, Diagnostic, Schema, Value};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::Frame;
use crate::arrow_conversion::{iso, value_at, wire_schema};
use crate::raise::here;
use crate::session;

impl Frame {
    /// All rows as values of a type that derives `serde::Deserialize`. A struct takes columns by its field names and
    /// ignores others; a tuple or a `Vec` takes them in order; a map takes all. A null needs an `Option`.
    ///
    /// ```text
    /// #[derive(Deserialize)]
    /// struct Trip { origin: String, distance: f64, delay: Option<i64> }
    /// let trips: Vec<Trip> = flights.rows();
    /// ```
    #[track_caller]
    pub fn rows<T: DeserializeOwned>(&self) -> Vec<T> {
        let at = here("rows");
        let table = Table::new(&session::collect(self.id(), Vec::new(), at.clone()));
        let mut rows = Vec::with_capacity(table.rows);
        for row in 0..table.rows {
            match T::deserialize(Row { table: &table, row }) {
                Ok(value) => rows.push(value),
                Err(problem) => session::raise_at(table.explain(problem, row), at),
            }
        }
        rows
    }
}

struct Table {
    names: Vec<String>,
    columns: Vec<ArrayRef>,
    schema: Schema,
    rows: usize,
}

impl Table {
    fn new(batch: &RecordBatch) -> Self {
        let schema = wire_schema(&batch.schema());
        let plain = |array: &ArrayRef| match array.data_type() {
            // Decoded once here instead of for each row.
            Arrow::Dictionary(_, value) => cast(array, value).unwrap_or_else(|_| array.clone()),
            _ => array.clone(),
        };
        Table {
            names: schema.names().map(str::to_string).collect(),
            columns: batch.columns().iter().map(plain).collect(),
            schema,
            rows: batch.num_rows(),
        }
    }

    fn explain(&self, problem: Problem, row: usize) -> Diagnostic {
        let Problem { column, message } = problem;
        let columns: Vec<String> = self.schema.fields.iter().map(|f| format!("{}: {}", f.name, f.dtype)).collect();
        match column.and_then(|c| self.schema.fields.get(c)) {
            Some(field) => {
                let diagnostic = Diagnostic::error(
                    Class::Data,
                    "row",
                    format!("row {row}, column `{}` ({}): {message}", field.name, field.dtype),
                );
                match crate::column::rust_name(&field.dtype) {
                    Some(name) if self.columns[column.unwrap_or(0)].null_count() > 0 => {
                        diagnostic.help(format!("it has nulls: declare it as `Option<{name}>`"))
                    }
                    Some(name) => diagnostic.help(format!("declare it as `{name}`")),
                    None => diagnostic,
                }
            }
            None => Diagnostic::error(Class::Data, "row", format!("row {row}: {message}"))
                .help("fields take the columns of the same name; `#[serde(rename = \"...\")]` takes another")
                .note(format!("the columns are {}", columns.join(", "))),
        }
    }
}

/// An error with the column in which it arose.
#[derive(Debug)]
struct Problem {
    column: Option<usize>,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl serde::de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Problem { column: None, message: message.to_string() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        let found = match found {
            Unexpected::Unit | Unexpected::Option => "a null".to_string(),
            other => other.to_string(),
        };
        Problem { column: None, message: format!("found {found}, expected {expected}") }
    }

    fn missing_field(field: &'static str) -> Self {
        Problem { column: None, message: format!("there is no column `{field}` for the field `{field}`") }
    }
}

#[derive(Clone, Copy)]
struct Row<'a> {
    table: &'a Table,
    row: usize,
}

impl Row<'_> {
    fn cell<'de, T: DeserializeSeed<'de>>(&self, column: usize, seed: T) -> Result<T::Value, Problem> {
        let value = value_at(&self.table.columns[column], self.row);
        seed.deserialize(Cell(value)).map_err(|mut problem| {
            problem.column = problem.column.or(Some(column));
            problem
        })
    }
}

struct Columns<'a> {
    row: Row<'a>,
    next: usize,
}

impl<'de> MapAccess<'de> for Columns<'_> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        match self.row.table.names.get(self.next) {
            Some(name) => seed.deserialize(StrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        self.next += 1;
        self.row.cell(self.next - 1, seed)
    }
}

impl<'de> SeqAccess<'de> for Columns<'_> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        if self.next >= self.row.table.names.len() {
            return Ok(None);
        }
        self.next += 1;
        self.row.cell(self.next - 1, seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.row.table.names.len() - self.next)
    }
}

/// A row of one column also deserialises as the value of that column: `let names: Vec<String> =
/// f.select("name").rows()`.
macro_rules! only_column {
    ($($method:ident($($arg:ident: $t:ty),*)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self $(, $arg: $t)*, visitor: V) -> Result<V::Value, Problem> {
            self.only()?.$method($($arg,)* visitor)
        }
    )*};
}

impl Row<'_> {
    fn only(self) -> Result<Cell, Problem> {
        match self.table.columns.len() {
            1 => Ok(Cell(value_at(&self.table.columns[0], self.row))),
            n => Err(Problem {
                column: None,
                message: format!("a row of {n} columns is not a single value: take a struct or a tuple"),
            }),
        }
    }
}

impl<'de> Deserializer<'de> for Row<'_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_map(Columns { row: self, next: 0 })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_map(Columns { row: self, next: 0 })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_map(Columns { row: self, next: 0 })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_seq(Columns { row: self, next: 0 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Problem> {
        let columns = self.table.columns.len();
        if length != columns {
            let message = format!("a tuple of {length} cannot take {columns} columns: `select` as many first");
            return Err(Problem { column: None, message });
        }
        visitor.visit_seq(Columns { row: self, next: 0 })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    only_column! {
        deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(), deserialize_i128(),
        deserialize_u8(), deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_u128(), deserialize_f32(),
        deserialize_f64(), deserialize_char(), deserialize_str(), deserialize_string(), deserialize_bytes(),
        deserialize_byte_buf(), deserialize_option(), deserialize_identifier(), deserialize_unit_struct(name: &'static str),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }
}

/// One value.
struct Cell(Value);

impl<'de> IntoDeserializer<'de, Problem> for Cell {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Cell {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Boolean(v) => visitor.visit_bool(v),
            Value::Int(v) => visitor.visit_i64(v),
            Value::UInt(v) => visitor.visit_u64(v),
            Value::Float32(v) => visitor.visit_f32(v),
            Value::Float(v) => visitor.visit_f64(v),
            Value::Text(v) => visitor.visit_string(v),
            Value::Binary(v) => visitor.visit_byte_buf(v),
            Value::Decimal { value, scale, .. } => visitor.visit_f64(value as f64 / 10f64.powi(scale.into())),
            Value::List(values) => {
                visitor.visit_seq(serde::de::value::SeqDeserializer::new(values.into_iter().map(Cell)))
            }
            Value::Struct(fields) => visitor.visit_map(serde::de::value::MapDeserializer::new(
                fields.into_iter().map(|(name, value)| (name, Cell(value))),
            )),
            other => match iso(&other) {
                Some(text) => visitor.visit_string(text),
                None => Err(Problem { column: None, message: format!("{other:?} lies outside of the calendar") }),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(Cell(value)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    /// A string that names a variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Cell {
    type Error = Problem;
    type Variant = UnitVariant;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, UnitVariant), Problem> {
        Ok((seed.deserialize(self)?, UnitVariant))
    }
}

/// A variant without fields.
struct UnitVariant;

impl<'de> VariantAccess<'de> for UnitVariant {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Problem> {
        Err(Problem { column: None, message: "a string names a variant without fields only".to_string() })
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Problem> {
        self.newtype_variant_seed(std::marker::PhantomData::<()>).and_then(|()| Err(serde::de::Error::custom("")))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Problem> {
        self.tuple_variant(0, visitor)
    }
}
