//! Data types of Arrow that serde writes and reads: as a schema of Arrow's IPC format with one field. Arrow's own
//! serde implementation is switched off in this workspace.

use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::convert::{IpcSchemaEncoder, fb_to_schema};
use arrow::ipc::root_as_schema;
use arrow::ipc::writer::DictionaryTracker;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A data type. The fields inside of it keep their names and their metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpcType(pub DataType);

impl Serialize for IpcType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schema = Schema::new(vec![Field::new("", self.0.clone(), true)]);
        let error_on_replacement = false;
        let mut dictionaries = DictionaryTracker::new(error_on_replacement);
        let message = IpcSchemaEncoder::new().with_dictionary_tracker(&mut dictionaries).schema_to_fb(&schema);
        serializer.serialize_bytes(message.finished_data())
    }
}

impl<'de> Deserialize<'de> for IpcType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IpcType, D::Error> {
        let bytes = <&'de [u8]>::deserialize(deserializer)?;
        let schema = root_as_schema(bytes).map(fb_to_schema).map_err(D::Error::custom)?;
        let field = schema.fields().first().ok_or_else(|| D::Error::custom("a schema without a field"))?;
        Ok(IpcType(field.data_type().clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow::datatypes::TimeUnit;
    use onrush_wire::codec;

    use super::*;

    /// By definition: a type comes back as it was.
    #[test]
    fn types_come_back() {
        let words = DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8View));
        let marked = Field::new("word", words.clone(), false)
            .with_metadata(HashMap::from([("order".to_string(), "a b".to_string())]));
        let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Vienna".into()));
        let parts = DataType::Struct(vec![marked, Field::new("at", instant.clone(), true)].into());
        let list = DataType::List(Arc::new(Field::new_list_field(parts.clone(), true)));
        let plain = [DataType::Null, DataType::Float64, DataType::Utf8View, DataType::Decimal128(20, -3), words];
        for dtype in plain.into_iter().chain([instant, parts, list]) {
            let bytes = codec::content(&IpcType(dtype.clone()));
            assert_eq!(codec::decode::<IpcType>(&bytes).unwrap(), IpcType(dtype));
        }
    }
}
