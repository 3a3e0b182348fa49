//! The columns that a front end looks for or leaves, and the number of bars of a histogram.

use onrush_wire::explore::Summary;
use onrush_wire::schema::Field;
use onrush_wire::{Diagnostic, Value as Cell};
use serde_json::{Value, json};

use super::super::json_rpc::invalid;
use super::CODE;
use super::positron_protocol::{ColumnFilter, SearchSchema};

/// Kinds of column filters.
pub const FILTERS: [&str; 2] = ["text_search", "match_data_types"];

/// The columns that all filters leave, in the frame's order.
pub fn left(columns: &[Field], filters: &[ColumnFilter]) -> Result<Vec<usize>, Diagnostic> {
    let tests = filters.iter().map(test).collect::<Result<Vec<_>, String>>().map_err(|why| invalid(CODE, why))?;
    Ok((0..columns.len()).filter(|index| tests.iter().all(|test| test(*index, &columns[*index]))).collect())
}

type Test = Box<dyn Fn(usize, &Field) -> bool>;

fn test(filter: &ColumnFilter) -> Result<Test, String> {
    let params = &filter.params;
    match filter.filter_type.as_str() {
        "match_data_types" => {
            let types = params["display_types"].as_array().cloned().ok_or("the filter has no `display_types`")?;
            Ok(Box::new(move |index, field| {
                types.contains(&onrush_view::column_schema(index, &field.name, &field.dtype)["type_display"])
            }))
        }
        "text_search" => {
            let term = params["term"].as_str().ok_or("the filter has no `term`")?;
            let exact = params["case_sensitive"] == Value::Bool(true);
            if params["search_type"] == "regex_match" {
                // Letters outside of ASCII have one case here.
                let pattern = regex::bytes::RegexBuilder::new(term).unicode(false).case_insensitive(!exact).build();
                let pattern = pattern.map_err(|error| format!("`{term}` is not a regular expression: {error}"))?;
                return Ok(Box::new(move |_, field| pattern.is_match(field.name.as_bytes())));
            }
            let fold = move |text: &str| if exact { text.to_string() } else { text.to_lowercase() };
            let term = fold(term);
            Ok(match params["search_type"].as_str().unwrap_or("contains") {
                "contains" => Box::new(move |_, field| fold(&field.name).contains(&term)),
                "not_contains" => Box::new(move |_, field| !fold(&field.name).contains(&term)),
                "starts_with" => Box::new(move |_, field| fold(&field.name).starts_with(&term)),
                "ends_with" => Box::new(move |_, field| fold(&field.name).ends_with(&term)),
                other => return Err(format!("the search `{other}` is not known")),
            })
        }
        other => Err(format!("the column filter `{other}` is not known: {} are", FILTERS.join(" and "))),
    }
}

pub fn search(columns: &[Field], asked: &SearchSchema) -> Result<Value, Diagnostic> {
    let mut found = left(columns, &asked.filters)?;
    let name = |index: &usize| columns[*index].name.to_lowercase();
    let dtype = |index: &usize| columns[*index].dtype.to_string();
    match asked.sort_order.as_str() {
        "ascending_name" => found.sort_by_key(name),
        "descending_name" => found.sort_by_key(|index| std::cmp::Reverse(name(index))),
        "ascending_type" => found.sort_by_key(dtype),
        "descending_type" => found.sort_by_key(|index| std::cmp::Reverse(dtype(index))),
        _ => {}
    }
    Ok(json!({ "matches": found }))
}

/// Bars by the rules of Sturges (1926), Scott (1979), and Freedman and Diaconis (1981); none if the values do not say.
pub fn bars(method: &str, summary: &Summary) -> Option<u32> {
    let count = summary.rows.checked_sub(summary.nulls)?.checked_sub(summary.nans).filter(|n| *n > 0)? as f64;
    if method == "sturges" {
        return Some(count.log2().ceil() as u32 + 1);
    }
    let (least, most) = (float(summary.min.as_ref()?)?, float(summary.max.as_ref()?)?);
    let width = match method {
        "scott" => 3.49 * summary.std? / count.cbrt(),
        "freedman_diaconis" => {
            let at = |q: f64| float(&summary.quantiles.iter().find(|one| one.q == q)?.value);
            2.0 * (at(0.75)? - at(0.25)?) / count.cbrt()
        }
        _ => return None,
    };
    let bars = (most - least) / width;
    (bars.is_finite() && bars > 0.0).then(|| bars.ceil().min(1000.0) as u32)
}

fn float(value: &Cell) -> Option<f64> {
    match value {
        Cell::Int(n) => Some(*n as f64),
        Cell::UInt(n) => Some(*n as f64),
        Cell::Float(x) => Some(*x),
        Cell::Float32(x) => Some(f64::from(*x)),
        Cell::Decimal { value, scale, .. } => Some(*value as f64 * 10f64.powi(-i32::from(*scale))),
        Cell::Date(n) => Some(f64::from(*n)),
        Cell::Time(n) | Cell::Timestamp { value: n, .. } | Cell::Duration { value: n, .. } => Some(*n as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::DataType;
    use onrush_wire::explore::Quantile;

    use super::*;

    #[test]
    fn columns_are_found_by_name_and_type() {
        let column = |name: &str, dtype| Field { name: name.to_string(), dtype, nullable: true };
        let columns = [
            column("dep_delay", DataType::Int64),
            column("Arrival", DataType::String),
            column("arr_delay", DataType::Float64),
        ];
        let find = |filters: Value| {
            let asked = serde_json::from_value(json!({ "filters": filters, "sort_order": "ascending_name" })).unwrap();
            search(&columns, &asked).unwrap()["matches"].clone()
        };
        let text = |term: &str| {
            json!({ "filter_type": "text_search",
            "params": { "search_type": "contains", "term": term, "case_sensitive": false } })
        };
        assert_eq!(find(json!([text("ARR")])), json!([2, 1]));
        let numbers =
            json!({ "filter_type": "match_data_types", "params": { "display_types": ["integer", "floating"] } });
        assert_eq!(find(json!([text("delay"), numbers])), json!([2, 0]));
        assert_eq!(find(json!([])), json!([2, 1, 0]));
        let regex = json!({ "filter_type": "text_search",
            "params": { "search_type": "regex_match", "term": "^A.*l$", "case_sensitive": false } });
        assert_eq!(find(json!([regex])), json!([1]));
    }

    #[test]
    fn rules_say_how_many_bars() {
        // 1000 values from 0 to 100: ceil(log2 1000) + 1 = 11; 3.49 * 20 / 10 = 6.98 wide; 2 * 30 / 10 = 6 wide.
        let quantile = |q: f64, x: f64| Quantile { q, value: Cell::Float(x), exact: true };
        let summary = Summary {
            rows: 1001,
            nulls: 1,
            min: Some(Cell::Int(0)),
            max: Some(Cell::Int(100)),
            std: Some(20.0),
            quantiles: vec![quantile(0.25, 35.0), quantile(0.75, 65.0)],
            ..Summary::default()
        };
        let of = |method: &str| bars(method, &summary);
        assert_eq!([of("sturges"), of("scott"), of("freedman_diaconis")], [Some(11), Some(15), Some(17)]);
        assert_eq!(bars("scott", &Summary { std: Some(0.0), ..summary.clone() }), None);
    }
}
