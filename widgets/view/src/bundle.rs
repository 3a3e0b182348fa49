//! A MIME bundle. Text passes through it on its way out: what a terminal would obey becomes signs here, for every
//! kind of output.

use std::ops::Deref;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::neutral::neutral;

/// MIME type of text that front ends print as it is.
const PLAIN: &str = "text/plain";

/// MIME type to data, as Jupyter's `data` field. Escape sequences in `text/plain` are shown as signs (`␛`), because
/// data can hold them; colours stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Bundle(Map<String, Value>);

impl Bundle {
    #[must_use]
    pub fn new() -> Bundle {
        Bundle::default()
    }

    pub fn insert(&mut self, mime: String, value: Value) {
        let value = if mime == PLAIN { shown(value) } else { value };
        self.0.insert(mime, value);
    }

    pub fn remove(&mut self, mime: &str) -> Option<Value> {
        self.0.remove(mime)
    }

    #[must_use]
    pub fn into_json(self) -> Value {
        Value::Object(self.0)
    }
}

/// Text is a string or a list of strings.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => neutral(&text).into(),
        Value::Array(parts) => parts.into_iter().map(shown).collect(),
        other => other,
    }
}

impl Deref for Bundle {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FromIterator<(String, Value)> for Bundle {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(all: T) -> Self {
        let mut bundle = Bundle::new();
        all.into_iter().for_each(|(mime, value)| bundle.insert(mime, value));
        bundle
    }
}

impl From<Map<String, Value>> for Bundle {
    fn from(map: Map<String, Value>) -> Self {
        map.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_commands_for_a_terminal() {
        let title = "\u{1b}]0;title\u{7}";
        let bundle: Bundle = [
            (PLAIN.to_string(), Value::from(format!("{title}\u{1b}[31mred\u{1b}[0m"))),
            ("text/html".to_string(), Value::from(title)),
        ]
        .into_iter()
        .collect();
        assert_eq!(bundle[PLAIN], "␛]0;title␇\u{1b}[31mred\u{1b}[0m");
        assert_eq!(bundle["text/html"], title);
        let list = Bundle::from_iter([(PLAIN.to_string(), serde_json::json!(["a\n", title]))]);
        assert_eq!(list.into_json()[PLAIN], serde_json::json!(["a\n", "␛]0;title␇"]));
    }
}
