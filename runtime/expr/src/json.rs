//! Values in strings of JSON, by paths such as `$.user.tags[0]`.

use serde_json::Value;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Name(String),
    Index(usize),
}

/// The steps of a path: `$` is the whole, then `.name`, `["name"]` and `[0]`. `None` if it is none.
pub fn pointer(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    if rest.len() == path.len() && !rest.starts_with(['.', '[']) && !rest.is_empty() {
        // `a.b` means `$.a.b`.
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        steps.push(Step::Name(rest[..end].to_string()));
        rest = &rest[end..];
    }
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end == 0 {
                return None;
            }
            steps.push(Step::Name(after[..end].to_string()));
            rest = &after[end..];
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = |quote: char| inside.strip_prefix(quote)?.strip_suffix(quote);
            steps.push(match quoted('"').or_else(|| quoted('\'')) {
                Some(name) => Step::Name(name.to_string()),
                None => Step::Index(inside.parse().ok()?),
            });
            rest = after;
        }
    }
    Some(steps)
}

/// A string as it is, anything else as JSON; `None` for null and for what is not there.
pub fn at(text: &str, steps: &[Step]) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    for step in steps {
        value = match (step, value) {
            (Step::Name(name), Value::Object(mut fields)) => fields.remove(name)?,
            (Step::Index(index), Value::Array(mut items)) if *index < items.len() => items.swap_remove(*index),
            _ => return None,
        };
    }
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Polars 2.1: `str.json_path_match`.
    #[test]
    fn paths_find_values() {
        let find = |text: &str, path: &str| at(text, &pointer(path).unwrap());
        assert_eq!(find(r#"{"a":1,"b":{"c":"x"}}"#, "$.a").as_deref(), Some("1"));
        assert_eq!(find(r#"{"a":1,"b":{"c":"x"}}"#, "$.b").as_deref(), Some(r#"{"c":"x"}"#));
        assert_eq!(find(r#"{"a":[10,{"q":true}]}"#, "$.a[1].q").as_deref(), Some("true"));
        assert_eq!(find(r#"{"a":"t"}"#, "$[\"a\"]").as_deref(), Some("t"));
        assert_eq!((find(r#"{"a":null}"#, "$.a"), find("bad", "$.a"), find("{}", "$.a[0]")), (None, None, None));
        assert_eq!((pointer("$..a"), pointer("$[a"), pointer("$.a[-1]")), (None, None, None));
    }
}
