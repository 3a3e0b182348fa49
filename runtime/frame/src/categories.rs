//! The order of categories, kept with a column's type as Polars keeps that of its Enum: in the metadata of the field.

use arrow::datatypes::{DataType, Field};

/// The key of the metadata in Arrow schemas of Polars, which files have, too.
const KEY: &str = "_PL_ENUM_VALUES2";

/// The categories of a column in their order; `None` for one without an order.
pub fn ordered(field: &Field) -> Option<Vec<String>> {
    matches!(field.data_type(), DataType::Dictionary(..)).then(|| parse(field.metadata().get(KEY)?))?
}

/// The same field, whose categories have an order.
pub fn with_order(field: Field, categories: &[String]) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(KEY.to_string(), text(categories));
    field.with_metadata(metadata)
}

/// Each category after its number of bytes: `2;lo3;mid`.
pub fn text(categories: &[String]) -> String {
    categories.iter().map(|category| format!("{};{category}", category.len())).collect()
}

/// The categories of a [`text`]; `None` for any other.
pub fn parse(text: &str) -> Option<Vec<String>> {
    let (mut rest, mut categories) = (text, Vec::new());
    while !rest.is_empty() {
        let (length, behind) = rest.split_once(';')?;
        let (category, after) = behind.split_at_checked(length.parse().ok()?)?;
        categories.push(category.to_string());
        rest = after;
    }
    Some(categories)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `pl.Enum(["lo", "mid", "hi"])` of Polars 2.1 is written.
    #[test]
    fn texts_are_those_of_polars() {
        let categories = ["lo", "mid", "hi"].map(str::to_string);
        assert_eq!(text(&categories), "2;lo3;mid2;hi");
        assert_eq!(parse("2;lo3;mid2;hi").unwrap(), categories);
        let strange = ["a;1".to_string(), String::new(), "é".to_string()];
        assert_eq!(parse(&text(&strange)).unwrap(), strange);
        assert!(parse("9;lo").is_none() && parse("lo").is_none());
    }
}
