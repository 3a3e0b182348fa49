//! The headers of `cuda/`, embedded in the binary.

/// A header, and the headers that it needs.
#[derive(Debug)]
pub struct Header {
    pub name: &'static str,
    pub text: &'static str,
    pub needs: &'static [&'static Header],
}

macro_rules! headers {
    ($($constant:ident $name:literal needs [$($need:ident),*])*) => {
        $(
            pub static $constant: Header =
                Header { name: $name, text: include_str!(concat!("../cuda/", $name)), needs: &[$(&$need),*] };
        )*
        /// All of them.
        pub static ALL: &[&Header] = &[$(&$constant),*];
    };
}

headers! {
    PRELUDE "prelude.cuh" needs []
    PTX "ptx.cuh" needs [PRELUDE]
    REDUCE "reduce.cuh" needs [PRELUDE, PTX]
    LOOKBACK "lookback.cuh" needs [PRELUDE, PTX]
    SCAN "scan.cuh" needs [PRELUDE, PTX, LOOKBACK]
    ACCUMULATE "accumulate.cuh" needs [PRELUDE, PTX]
    DATES "dates.cuh" needs [PRELUDE]
    DECIMAL "decimal.cuh" needs [PRELUDE]
    GATHER "gather.cuh" needs [PRELUDE]
    TOP_K "top_k.cuh" needs [PRELUDE, PTX]
    DICTIONARY "dictionary.cuh" needs [PRELUDE, PTX, ACCUMULATE]
    SHARED_PARTITION "shared_partition.cuh" needs [PRELUDE, PTX]
    SORT "sort.cuh" needs [PRELUDE, PTX, LOOKBACK]
    HASH_GROUP "hash_group.cuh" needs [PRELUDE, PTX, ACCUMULATE]
    PIPELINE "pipeline.cuh" needs [PRELUDE, PTX]
    ROWS "rows.cuh" needs [PRELUDE]
    WRITE_ROWS "write_rows.cuh" needs [PRELUDE, LOOKBACK]
    GROUP_SHARED "group_shared.cuh" needs [PIPELINE]
    PARTITION_ROWS "partition_rows.cuh" needs [PIPELINE, SHARED_PARTITION]
    JOIN_PAIRS "join_pairs.cuh" needs [PRELUDE, PTX, LOOKBACK]
    WINDOW "window.cuh" needs [ROWS]
    TOP_ROWS "top_rows.cuh" needs [PRELUDE]
    CONCAT "concat.cuh" needs [PRELUDE]
    VALUE_LOOKUP "value_lookup.cuh" needs [PRELUDE]
    READBACK "readback.cuh" needs [PRELUDE]
    LIST "list.cuh" needs [PRELUDE]
    STRINGS "strings.cuh" needs [PIPELINE]
    MATRIX "matrix.cuh" needs [PRELUDE]
    CROSSFILTER "crossfilter.cuh" needs [PRELUDE]
    RASTER "raster.cuh" needs [PRELUDE]
    STRING_CONVERSIONS "string_conversions.cuh" needs [STRINGS, DATES]
    GRAPH "graph.cuh" needs [PRELUDE, PTX]
    GRAPH_BUILD "graph_build.cuh" needs [GRAPH]
    GRAPH_RANK "graph_rank.cuh" needs [GRAPH]
    GRAPH_SEARCH "graph_search.cuh" needs [GRAPH]
    GRAPH_PATHS "graph_paths.cuh" needs [GRAPH_SEARCH]
    GRAPH_COMPONENTS "graph_components.cuh" needs [GRAPH]
    GRAPH_ARCS "graph_arcs.cuh" needs [PRELUDE]
    GRAPH_COMMUNITIES "graph_communities.cuh" needs [PRELUDE, PTX]
    GRAPH_SIMPLE "graph_simple.cuh" needs [GRAPH_ARCS]
    GRAPH_TRIANGLES "graph_triangles.cuh" needs [PRELUDE, PTX]
    GRAPH_BETWEENNESS "graph_betweenness.cuh" needs [PRELUDE]
    GRAPH_SIMILARITY "graph_similarity.cuh" needs [PRELUDE]
    GRAPH_LAYOUT "graph_layout.cuh" needs [PRELUDE]
    GRAPH_CORES "graph_cores.cuh" needs [PRELUDE, PTX]
    GRAPH_LEVELS "graph_levels.cuh" needs [GRAPH_ARCS, GRAPH_COMMUNITIES]
}

/// The source of a program: each header once, after those that it needs, then the body. Compile errors have the lines
/// of the header.
pub fn assemble(headers: &[&'static Header], body: &str) -> String {
    fn add(header: &'static Header, done: &mut Vec<&'static str>, text: &mut String) {
        if done.contains(&header.name) {
            return;
        }
        done.push(header.name);
        header.needs.iter().for_each(|need| add(need, done, text));
        text.push_str(&format!("#line 1 \"{}\"\n", header.name));
        text.push_str(header.text);
    }
    let mut text = String::new();
    let mut done = Vec::new();
    headers.iter().for_each(|header| add(header, &mut done, &mut text));
    text.push_str("#line 1 \"program.cu\"\n");
    text.push_str(body);
    text
}
