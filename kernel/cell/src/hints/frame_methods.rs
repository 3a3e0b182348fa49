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
        "query" | "where_" | "where" | "mask" | "loc" | "iloc" | "at" | "iat" => Some(
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
        "size" => is("height()` and `width()"),
        "shape" => Some("rows and columns: `(f.height(), f.width())`".to_string()),
        "T" => is("transpose()"),
        "index" => Some("frames have no index: `f.with_row_index(\"row\")` numbers the rows".to_string()),
        "copy" => Some("frames never change: `f.clone()` is the same rows, without a copy".to_string()),
        "hist" | "boxplot" | "scatter" | "bar" | "barh" => {
            let (method, values) = match name {
                "scatter" => ("scatter", "\"a\", \"b\""),
                "hist" => ("hist", "\"a\""),
                "boxplot" => ("box_plot", "\"group\", \"a\""),
                _ => ("bar", "\"a\""),
            };
            Some(format!("plots begin with `plot`: `f.plot().{method}({values})`"))
        }
        "idxmax" | "idxmin" | "argmax" | "argmin" => {
            let (word, method) = if name.ends_with("max") { ("arg_max", "top_k") } else { ("arg_min", "bottom_k") };
            Some(format!("its row: `f.{method}(1, \"a\")`; its number: `f.select(x!(a.{word}()))`"))
        }
        "isin" => Some("rows by a list: `f.filter(x!(a.is_in([1, 2])))`".to_string()),
        "between" | "contains" | "startswith" => {
            Some("conditions are expressions: `f.filter(x!(a.is_between(1, 2)))`, `f.filter(x!(a.str.contains(\"b\")))`".to_string())
        }
        "cumsum" | "cum_sum" | "cummax" | "cummin" | "cumprod" | "cumcount" => {
            let word = name.replace("cum_", "cum").replace("cum", "cum_");
            Some(format!("running values are expressions: `f.with_columns(x!(total = a.{word}()))`"))
        }
        "diff" | "shift" | "pct_change" | "rank" | "round" | "clip" | "abs" | "replace" => {
            Some(format!("values of a column are expressions: `f.with_columns(x!(b = a.{name}(..)))`"))
        }
        "rename_columns" => is("rename([(\"old\", \"new\")])` or `rename_with(|name| …)"),
        _ => None,
    }
}

/// Advice for a method that the groups of a frame do not have.
pub fn of_groups(name: &str) -> Option<String> {
    Some(match name {
        "size" | "ngroup" | "ngroups" => "the number of rows of each group is called `len()` here".to_string(),
        "apply" | "pipe" | "map" | "applymap" => {
            "an expression for each group: `.agg(x!(m = a.max() - a.min()))`; a Rust function: `.map_groups(|g| …)`"
                .to_string()
        }
        "transform" | "cumsum" | "cum_sum" | "rank" | "shift" | "diff" | "cumcount" => {
            let word = match name {
                "transform" => "mean",
                "cumsum" => "cum_sum",
                "cumcount" => "cum_count",
                other => other,
            };
            format!("a value for each row of its group: `f.with_columns(x!(m = a.{word}().over(\"g\")))`")
        }
        "aggregate" | "summarize" | "summarise" => "it is called `agg(x!(m = a.mean()))` here".to_string(),
        "nunique" => "the number of different values: `.agg(x!(n = a.n_unique()))`".to_string(),
        "hist" | "plot" => "plots are of frames: `f.plot().hist(\"a\")`, or of the result of `.agg(..)`".to_string(),
        "filter" => "groups by a condition: `f.filter(x!(a.mean().over(\"g\") > 1))`".to_string(),
        "show" | "collect" | "to_frame" | "reset_index" => {
            "groups become a frame by an aggregate: `.agg(x!(m = a.mean()))`".to_string()
        }
        _ => return None,
    })
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
            ("T", "transpose()"),
            ("hist", "f.plot().hist("),
            ("idxmax", "arg_max()"),
            ("isin", "is_in("),
            ("copy", "f.clone()"),
            ("cumsum", "a.cum_sum()"),
            ("size", "height()"),
        ] {
            let message = format!("no method named `{word}` found for reference `&Frame` in the current scope");
            let mut diagnostic = Diagnostic::error(Class::Compile, "E0599", message);
            diagnostic.help = vec!["there is a method `drop_nulls` with a similar name".to_string()];
            advise(&mut diagnostic, "");
            assert!(diagnostic.help.len() == 1 && diagnostic.help[0].contains(here), "{word}: {:?}", diagnostic.help);
        }
        assert_eq!(super::of_frame("select"), None);
        for (word, here) in [("size", "len()"), ("apply", "map_groups"), ("cumsum", "over(")] {
            let message = format!("no method named `{word}` found for struct `GroupBy` in the current scope");
            let mut diagnostic = Diagnostic::error(Class::Compile, "E0599", message);
            advise(&mut diagnostic, "");
            assert!(diagnostic.help.len() == 1 && diagnostic.help[0].contains(here), "{word}: {:?}", diagnostic.help);
        }
    }
}
