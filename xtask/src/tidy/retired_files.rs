//! File names that were replaced by the standard term of the field: a file with such a name must not come back.
//!
//! A name that still stands is counted in `STANDING`, which only shrinks.

use std::path::Path;

use super::{Finding, Tree, finding};

/// How many of the files are still there.
const STANDING: usize = 0;

/// Folders, and the names of files in them that are retired.
#[rustfmt::skip]
const RETIRED: &[(&str, &[&str])] = &[
    ("kernel/cell/src", &["again.rs", "keep.rs", "kit.rs", "names.rs", "reemit.rs", "scan.rs", "split.rs", "trace.rs"]),
    ("kernel/cell/src/commands", &["elsewhere.rs"]),
    ("kernel/cell/src/complete", &["frames.rs", "probe.rs", "repair.rs", "texts.rs", "whole.rs", "words.rs", "world.rs"]),
    ("kernel/cell/src/cuda", &["refusals.rs"]),
    ("kernel/cell/src/executor", &["flow.rs", "query.rs", "react.rs"]),
    ("kernel/cell/src/process", &["clock.rs", "ending.rs", "memory.rs"]),
    ("kernel/cell/src/split", &["makers.rs"]),
    ("kernel/jupyter/src", &["kit.rs", "outbox.rs"]),
    ("kernel/jupyter/src/kernel", &["lane.rs", "lineage.rs", "stop.rs"]),
    ("kernel/jupyter/src/kernel/execution", &["area.rs"]),
    ("kernel/jupyter/src/kernel/explorer", &["contract.rs", "lane.rs"]),
    ("kernel/jupyter/src/notebook", &["assist.rs", "facts.rs"]),
    ("kernel/onrush/src", &["elements.rs", "instances.rs", "slots.rs", "talk.rs", "text.rs", "values.rs"]),
    ("kernel/onrush/src/controls", &["kinds.rs"]),
    ("kernel/onrush/src/host", &["last_words.rs"]),
    ("kernel/wire/src", &["number.rs", "stream.rs", "words.rs"]),
    ("kernel/wire/src/plot", &["statistics.rs"]),
    ("kernels/cuda", &["parted.cuh", "text.cuh", "text_values.cuh"]),
    ("runtime/device/src", &["aside.rs", "complaint.rs", "mailbox.rs", "printed.rs"]),
    ("runtime/device/src/cuda", &["kept.rs", "mapped.rs"]),
    ("runtime/device/src/emulated", &["apart.rs"]),
    ("runtime/device/emulated", &["checker.h", "names.h", "trial.h", "undefined.h"]),
    ("runtime/engine/src", &["cache.rs", "pool.rs"]),
    ("runtime/engine/src/bin/onrush-gpu-bench", &["beside.rs", "room.rs"]),
    ("runtime/engine/src/engine", &["large.rs", "lending.rs", "plans.rs", "residents.rs", "states.rs"]),
    ("runtime/engine/src/explain", &["words.rs"]),
    ("runtime/explore/src/explorer", &["order.rs", "summary.rs"]),
    ("runtime/explore/src/plot", &["boxes.rs", "columns.rs", "heat.rs", "held.rs", "lines.rs", "rows.rs", "time.rs"]),
    ("runtime/expr/src", &["check.rs", "distinct.rs", "every.rs", "extremes.rs", "kernels.rs", "native.rs", "ticks.rs"]),
    ("runtime/gpu/src", &["few.rs", "frames.rs", "keys.rs", "native.rs", "nodes.rs", "numbers.rs", "pairs.rs", "parts.rs", "pattern.rs", "place.rs", "powers.rs", "read.rs", "scalars.rs", "zones.rs"]),
    ("runtime/logical/src", &["key.rs", "keyless.rs", "rows.rs", "states.rs", "table.rs"]),
    ("runtime/ops/src", &["certain.rs", "clustered.rs", "coded.rs", "few.rs", "graph.rs", "lane.rs", "lending.rs", "meaning.rs", "memo.rs", "native.rs", "numbered.rs", "parted.rs", "prepared.rs", "small.rs"]),
    ("runtime/ops/src/codegen", &["native.rs", "parted.rs", "text.rs", "top.rs"]),
    ("runtime/optimizer/src", &["filters.rs", "guards.rs", "windows.rs"]),
    ("runtime/plan-tests/tests/plan", &["beside.rs", "lending.rs", "parts.rs", "room.rs", "texts.rs"]),
    ("runtime/session/src", &["memory.rs", "threads.rs"]),
    ("runtime/session/src/supervisor", &["frames.rs", "link.rs", "serving.rs"]),
    ("runtime/session/tests/it", &["beside.rs"]),
    ("runtime/sql/src", &["dialect.rs", "forms.rs", "names.rs", "scopes.rs", "times.rs", "windows.rs"]),
    ("runtime/sql/src/subqueries", &["shapes.rs"]),
    ("runtime/worker/src", &["report.rs"]),
    ("runtime/worker/src/source", &["condition.rs", "dynamic.rs", "unset.rs"]),
    ("widgets/view/src/plot", &["matrix.rs", "paper.rs", "raster.rs"]),
    ("widgets/web/ts", &["gone.ts"]),
    ("widgets/web/ts/error", &["read.ts"]),
    ("widgets/web/ts/table", &["data.ts", "head.ts", "scroll.ts"]),
];

/// The files that are there under a retired name.
pub fn places(tree: &Tree) -> Vec<&Path> {
    let is_retired = |path: &&Path| {
        let (folder, name) = (path.parent(), path.file_name().and_then(|name| name.to_str()));
        RETIRED.iter().any(|(other, names)| folder == Some(Path::new(other)) && names.iter().any(|n| name == Some(n)))
    };
    tree.paths.iter().map(AsRef::as_ref).filter(is_retired).collect()
}

pub fn retired_files(tree: &Tree) -> Vec<Finding> {
    counted(&places(tree), STANDING)
}

fn counted(places: &[&Path], standing: usize) -> Vec<Finding> {
    if places.len() < standing {
        let message = format!("{} files have retired names, and {standing} stand: lower `STANDING`", places.len());
        return vec![finding("retired-files", "xtask/src/tidy/retired_files.rs", message)];
    }
    let is_new = places.len() > standing;
    let message = format!("the name of the file is retired ({standing} stand): name it by the standard term");
    let places = places.iter().filter(|_| is_new);
    places.map(|path| finding("retired-files", path.display().to_string(), message.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_names_are_found_in_their_folder() {
        let paths = ["kernel/cell/src/keep.rs", "kernel/cell/src/cuda/keep.rs", "kernel/wire/src/words.rs"];
        let paths = paths.iter().map(Into::into).collect();
        let tree = Tree { root: "/".into(), paths, sources: Vec::new(), packages: Vec::new() };
        assert_eq!(places(&tree), [Path::new("kernel/cell/src/keep.rs"), Path::new("kernel/wire/src/words.rs")]);
    }

    #[test]
    fn the_count_only_shrinks() {
        let places = [Path::new("a.rs"), Path::new("b.rs")];
        assert!(counted(&places, 2).is_empty());
        assert_eq!(counted(&places, 1).len(), 2);
        assert_eq!(counted(&places, 3)[0].message, "2 files have retired names, and 3 stand: lower `STANDING`");
    }
}
