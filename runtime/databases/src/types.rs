//! Types that a database has and Arrow has not: exact numbers of PostgreSQL, UUIDs, and what a driver can only hand
//! over as bytes. Runs in the driver process.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringBuilder};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::error::{Failure, Stage};

/// The conversion of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Keep,
    /// Strings of numbers.
    Cast(DataType),
    /// Sixteen bytes.
    Uuid,
}

/// The columns of a result as frames hold them.
pub struct Conversion {
    pub schema: SchemaRef,
    changes: Vec<Change>,
}

impl Conversion {
    /// # Errors
    /// A column of a type that neither Arrow nor a string stands for.
    pub fn of(schema: &Schema) -> Result<Conversion, Failure> {
        let changes = schema.fields().iter().map(|field| change(field)).collect::<Result<Vec<_>, _>>()?;
        let fields = schema.fields().iter().zip(&changes).map(|(field, change)| {
            let dtype = match change {
                Change::Keep => field.data_type().clone(),
                Change::Cast(dtype) => dtype.clone(),
                Change::Uuid => DataType::Utf8,
            };
            Field::new(field.name(), dtype, field.is_nullable())
        });
        Ok(Conversion { schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())), changes })
    }

    /// # Errors
    /// A number that is not one of its type, such as NaN in a decimal column.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let columns = batch.columns().iter().zip(&self.changes).zip(self.schema.fields());
        let columns = columns.map(|((column, change), field)| match change {
            Change::Keep => Ok(Arc::clone(column)),
            Change::Cast(dtype) => {
                let strict = CastOptions { safe: false, ..CastOptions::default() };
                cast_with_options(column, dtype, &strict)
                    .map_err(|e| Failure::new(Stage::Rows, format!("column `{}`: {e}", field.name())))
            }
            Change::Uuid => Ok(uuids(column.as_ref())),
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>, Failure>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|e| Failure::new(Stage::Rows, e.to_string()))
    }
}

fn change(field: &Field) -> Result<Change, Failure> {
    let metadata = field.metadata();
    let extension = metadata.get("ARROW:extension:name").map_or("", String::as_str);
    let own = metadata.get("POSTGRESQL:type").map_or("", String::as_str);
    match (extension, field.data_type()) {
        ("arrow.uuid", DataType::FixedSizeBinary(16)) => Ok(Change::Uuid),
        (_, DataType::Utf8) if own == "numeric" => {
            let modifier = metadata.get("POSTGRESQL:typmod").and_then(|text| text.parse().ok());
            // As DuckDB reads it: a number of any precision is a float.
            Ok(Change::Cast(modifier.and_then(declared).unwrap_or(DataType::Float64)))
        }
        // The driver hands over hundredths or thousandths, as the server's locale has them.
        (_, DataType::Int64) if own == "money" => Err(Failure::unsupported(field.name(), own)),
        ("arrow.opaque", DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_)) => {
            let opaque = metadata.get("ARROW:extension:metadata").map_or("", String::as_str);
            let name = opaque.split("\"type_name\":").nth(1).and_then(|rest| rest.split('"').nth(1));
            Err(Failure::unsupported(field.name(), name.unwrap_or("unknown")))
        }
        _ => Ok(Change::Keep),
    }
}

/// The decimal type that PostgreSQL's type modifier stands for, if Arrow's 128 bits hold it.
fn declared(modifier: i32) -> Option<DataType> {
    let modifier = modifier.checked_sub(4).filter(|modifier| *modifier >= 0)?;
    let precision = u8::try_from((modifier >> 16) & 0xffff).ok().filter(|precision| (1..=38).contains(precision))?;
    // Eleven bits, with a sign.
    let scale = ((modifier & 0x7ff) ^ 1024) - 1024;
    let scale = i8::try_from(scale).ok().filter(|scale| *scale <= precision as i8)?;
    Some(DataType::Decimal128(precision, scale))
}

fn uuids(column: &dyn Array) -> ArrayRef {
    let values = column.as_fixed_size_binary();
    let mut strings = StringBuilder::with_capacity(values.len(), 36 * values.len());
    for value in values.iter() {
        strings.append_option(value.map(|bytes| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        }));
    }
    Arc::new(strings.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::array::{FixedSizeBinaryArray, StringArray};
    use arrow::util::display::array_value_to_string;

    use super::*;

    fn field(dtype: DataType, metadata: &[(&str, &str)]) -> Field {
        let pairs = metadata.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        Field::new("a", dtype, true).with_metadata(pairs.collect::<HashMap<_, _>>())
    }

    fn converted(field: Field, column: ArrayRef) -> Result<(DataType, String), Failure> {
        let schema = Arc::new(Schema::new(vec![field]));
        let conversion = Conversion::of(&schema)?;
        let batch = conversion.apply(&RecordBatch::try_new(schema, vec![column]).unwrap())?;
        let column = batch.column(0);
        Ok((column.data_type().clone(), array_value_to_string(column, 0).unwrap()))
    }

    /// The metadata is what the driver of PostgreSQL 1.13 gives; 655367 is the modifier of `numeric(10, 3)`.
    #[test]
    fn numbers_of_postgresql_are_decimals_or_floats() {
        let numeric = |modifier: &str, text: &str| {
            let metadata = [("POSTGRESQL:type", "numeric"), ("POSTGRESQL:typmod", modifier)];
            converted(field(DataType::Utf8, &metadata), Arc::new(StringArray::from(vec![text])))
        };
        assert_eq!(numeric("655367", "12.340").unwrap(), (DataType::Decimal128(10, 3), "12.340".to_string()));
        assert_eq!(numeric("-1", "0.5").unwrap(), (DataType::Float64, "0.5".to_string()));
        assert_eq!(numeric("-1", "NaN").unwrap(), (DataType::Float64, "NaN".to_string()));
        assert!(numeric("655367", "NaN").unwrap_err().to_string().starts_with("column `a`: "));
        // `numeric(4, -2)` and `numeric(60, 2)`.
        assert_eq!(declared(((4 << 16) | 2046) + 4), Some(DataType::Decimal128(4, -2)));
        assert_eq!(declared(((60 << 16) | 2) + 4), None);
    }

    #[test]
    fn uuids_are_strings_and_opaque_bytes_are_refused() {
        let bytes: Vec<u8> = (0..16).collect();
        let column = Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).unwrap());
        let uuid = field(DataType::FixedSizeBinary(16), &[("ARROW:extension:name", "arrow.uuid")]);
        assert_eq!(converted(uuid, column).unwrap().1, "00010203-0405-0607-0809-0a0b0c0d0e0f");
        let metadata = "{\"type_name\": \"inet\", \"vendor_name\": \"PostgreSQL\"}";
        let pairs = [("ARROW:extension:name", "arrow.opaque"), ("ARROW:extension:metadata", metadata)];
        let refused = change(&field(DataType::Binary, &pairs)).unwrap_err();
        assert_eq!(refused.to_string(), "column `a` has the type inet");
    }
}
