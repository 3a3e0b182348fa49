//! Texts as numbers: each different text once on the host, its number in device memory.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::DataType;

use crate::{Error, Result};

/// The texts of a column, each once, in the order in which they came.
#[derive(Debug)]
pub struct Dictionary {
    /// Of type `Utf8View`, without nulls.
    pub values: ArrayRef,
}

impl Dictionary {
    pub fn entries(&self) -> usize {
        self.values.len()
    }
}

/// What has been numbered so far.
struct Encoder<'p> {
    known: HashMap<&'p str, u32>,
    codes: Vec<u32>,
    texts: StringViewBuilder,
}

impl<'p> Encoder<'p> {
    fn add(&mut self, text: Option<&'p str>) -> Result<()> {
        let Some(text) = text else {
            self.codes.push(0);
            return Ok(());
        };
        let next = u32::try_from(self.known.len())
            .map_err(|_| Error::Unsupported("columns of more than 2^32 different texts".to_string()))?;
        let texts = &mut self.texts;
        let code = *self.known.entry(text).or_insert_with(|| {
            texts.append_value(text);
            next
        });
        self.codes.push(code);
        Ok(())
    }
}

/// Numbers for the texts of a column's parts; a row without one gets 0.
pub fn encode(parts: &[ArrayRef]) -> Result<(Vec<u32>, Dictionary)> {
    let rows = parts.iter().map(|part| part.len()).sum();
    let mut encoder =
        Encoder { known: HashMap::new(), codes: Vec::with_capacity(rows), texts: StringViewBuilder::new() };
    for part in parts {
        match part.data_type() {
            DataType::Utf8 => part.as_string::<i32>().iter().try_for_each(|text| encoder.add(text))?,
            DataType::LargeUtf8 => part.as_string::<i64>().iter().try_for_each(|text| encoder.add(text))?,
            DataType::Utf8View => part.as_string_view().iter().try_for_each(|text| encoder.add(text))?,
            other => return Err(Error::Unsupported(format!("texts of {other}"))),
        }
    }
    Ok((encoder.codes, Dictionary { values: Arc::new(encoder.texts.finish()) }))
}
