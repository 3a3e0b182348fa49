//! Words of pandas, dplyr and SQL for methods of frames, and what is written for them here.

/// Advice for a method that a frame does not have.
pub fn of_frame(name: &str) -> Option<String> {
    let is = |method: &str| Some(format!("it is called `{method}` here"));
    match name {
        "groupby" | "groupBy" | "summarise" | "summarize" => is("group_by(\"key\").agg(x!(m = a.mean()))"),
        "drop_duplicates" | "distinct" | "dedup" | "duplicated" => {
            is("unique()` or `unique_by([\"a\", \"b\"])`; repeated rows are `duplicates([\"a\"])")
        }
        "sort_values" | "order_by" | "arrange" | "orderBy" => is("sort(\"a\")` or `sort([desc(\"a\"), asc(\"b\")])"),
        "sort_index" | "reset_index" | "set_index" => {
            Some("frames have no index: `sort`, `with_row_index(\"row\")` and joins go by columns".to_string())
        }
        "astype" | "as_type" => is("cast([(\"year\", \"i32\")])"),
        "fillna" | "fill_na" => is("fill_null(0)"),
        "dropna" | "drop_na" => is("drop_nulls()` or `drop_nulls_in([\"a\"])"),
        "isna" | "isnull" | "notna" => Some("nulls of each column: `f.null_count()`; of one: `x!(a.is_null())`".to_string()),
        "merge" => is("left_join(&other, on(\"a\", \"b\"))` or `inner_join"),
        "append" | "union" | "rbind" | "bind_rows" => is("vstack(&other)` or `concat([&a, &b])"),
        "melt" | "pivot_longer" => is("unpivot([\"a\", \"b\"], \"id\")"),
        "pivot_table" | "pivot_wider" => is("pivot(\"on\", \"index\", \"values\", \"mean\")"),
        "assign" | "mutate" | "withColumn" | "insert" => is("with_columns(x!(c = a + b))"),
        "query" | "where_" | "loc" | "iloc" | "at" | "iat" => Some(
            "rows by a condition: `f.filter(x!(a > 1))`; by number: `f.slice(0, 5)`; columns: `f.select([\"a\", \"b\"])`".to_string(),
        ),
        "apply" | "applymap" | "map" | "map_rows" | "pipe" => Some(
            "columns are computed by expressions, `f.with_columns(x!(c = if a > 1 { a } else { b }))`; a Rust function by group: \
             `f.group_by(\"a\").map_groups(|g| …)`; rows in Rust: `f.rows()`"
                .to_string(),
        ),
        "iterrows" | "itertuples" | "iter_rows" | "iter" | "to_dict" | "to_dicts" => {
            Some("rows come to Rust with `f.rows::<(i64, String)>()` or as structs that derive `Deserialize`".to_string())
        }
        "to_csv" => is("write_csv(\"a.csv\")"),
        "to_parquet" => is("write_parquet(\"a.parquet\")"),
        "to_sql" | "write_sql" | "write_table" => is("write_database(\"sqlite:///a.db\", \"table\")"),
        "to_excel" => is("write_excel(\"a.xlsx\")"),
        "to_json" => is("write_json(\"a.jsonl\")"),
        "nlargest" => is("top_k(5, \"a\")"),
        "nsmallest" => is("bottom_k(5, \"a\")"),
        "nunique" => Some("`f.select(x!(all().n_unique()))` gives the number of different values of each column".to_string()),
        "get_dummies" => is("to_dummies([\"a\"])"),
        "info" => is("glimpse()` or `schema()"),
        "memory_usage" => is("estimated_size()"),
        "rolling" | "expanding" | "ewm" => {
            Some("windows are expressions: `x!(a.rolling_mean(7))`, `x!(a.rolling_mean_by(time, \"7d\"))`".to_string())
        }
        "to_numpy" | "values" | "to_pandas" | "toPandas" | "to_list" => Some(
            "one column: `f.column::<f64>(\"a\")`; several as a matrix: `f.to_matrix::<f64>([\"a\", \"b\"])`; all as Arrow: `f.collect()`"
                .to_string(),
        ),
        "count_rows" | "nrow" | "num_rows" | "nrows" => is("height()"),
        "ncol" | "num_columns" | "n_cols" => is("width()"),
        "rename_columns" => is("rename([(\"old\", \"new\")])` or `rename_with(|name| …)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::{Class, Diagnostic};

    use crate::hints::prelude::advise;

    #[test]
    fn words_of_pandas_name_the_method_here() {
        for (word, here) in [
            ("drop_duplicates", "unique()"),
            ("sort_values", "sort(\"a\")"),
            ("fillna", "fill_null(0)"),
            ("astype", "cast("),
            ("merge", "left_join("),
            ("apply", "map_groups"),
            ("to_csv", "write_csv"),
            ("to_sql", "write_database("),
        ] {
            let message = format!("no method named `{word}` found for reference `&Frame` in the current scope");
            let mut diagnostic = Diagnostic::error(Class::Compile, "E0599", message);
            diagnostic.help = vec!["there is a method `drop_nulls` with a similar name".to_string()];
            advise(&mut diagnostic, "");
            assert!(diagnostic.help.len() == 1 && diagnostic.help[0].contains(here), "{word}: {:?}", diagnostic.help);
        }
        assert_eq!(super::of_frame("select"), None);
    }
}
