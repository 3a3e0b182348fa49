//! Random graphs are read back as they were written, and random damage to a file is an error or another graph, not a
//! panic.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use onrush_graph_io::{Format, GraphTables, read, write};

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn is(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn float(&mut self) -> f64 {
        match self.below(6) {
            0 => 0.0,
            1 => -1.5,
            2 => self.next() as f64,
            _ => loop {
                let value = f64::from_bits(self.next());
                if value.is_finite() {
                    break value;
                }
            },
        }
    }

    /// Letters that one of the formats treats in another way.
    fn string(&mut self, letters: &[char]) -> String {
        (0..self.below(8)).map(|_| letters[self.below(letters.len())]).collect()
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(4) > 0).then(|| value(self))
    }
}

const AWKWARD: [char; 24] = [
    'a', 'b', '0', '1', ' ', '"', '\'', '<', '>', '&', ';', '#', '%', ',', '\t', '\n', '\\', '{', '}', '[', ']', ':',
    'ß', '😀',
];

/// A column with some nulls. The first row is not null, so that the type is in the file.
fn column(random: &mut Random, rows: usize, kind: usize) -> ArrayRef {
    fn values<T>(random: &mut Random, rows: usize, mut value: impl FnMut(&mut Random) -> T) -> Vec<Option<T>> {
        (0..rows).map(|row| if row == 0 { Some(value(random)) } else { random.some(&mut value) }).collect()
    }
    match kind {
        0 => Arc::new(BooleanArray::from(values(random, rows, Random::is))),
        1 => Arc::new(Int64Array::from(values(random, rows, |random| random.next() as i64))),
        2 => Arc::new(Float64Array::from(values(random, rows, Random::float))),
        _ => Arc::new(StringArray::from(values(random, rows, |random| random.string(&AWKWARD)))),
    }
}

fn graph(random: &mut Random, format: Format) -> GraphTables {
    let has_nodes = matches!(format, Format::GraphMl | Format::Gexf | Format::NodeLink);
    let n = 1 + random.below(20);
    let mut seen = HashSet::new();
    let ids: ArrayRef = match random.is() {
        true => {
            let ids = (0..n).map(|i| i as i64 * 7 - 30);
            Arc::new(ids.collect::<Int64Array>())
        }
        false => {
            let letters: &[char] = if has_nodes { &AWKWARD } else { &['a', 'ß', 'c', '-', '.', '0'] };
            let mut id = |i: usize| {
                let id = format!("{}{i}", random.string(letters));
                // An id that is an integer in all rows would come back as one.
                if i == 0 { format!("x{id}") } else { id }
            };
            let ids: Vec<String> = (0..n).map(&mut id).filter(|id| seen.insert(id.clone())).collect();
            Arc::new(StringArray::from(ids))
        }
    };
    let n = ids.len();
    // Every node has an edge, and the first ones come in order: edge lists know no others.
    let mut ends: Vec<(u32, u32)> = (0..n as u32).map(|v| (v, v)).collect();
    (0..random.below(30)).for_each(|_| ends.push((random.below(n) as u32, random.below(n) as u32)));
    let take = |end: fn(&(u32, u32)) -> u32| {
        let indices = arrow::array::UInt32Array::from(ends.iter().map(end).collect::<Vec<u32>>());
        arrow::compute::take(&ids, &indices, None).unwrap()
    };
    let mut edges = vec![("source", take(|e| e.0)), ("target", take(|e| e.1))];
    let rows = ends.len();
    if random.is() {
        let weights: ArrayRef = match format {
            Format::MatrixMarket => Arc::new((0..rows).map(|_| random.float()).collect::<Float64Array>()),
            _ => column(random, rows, 2),
        };
        edges.push(("weight", weights));
    }
    let mut nodes = vec![("node", Arc::clone(&ids))];
    if has_nodes {
        for (kind, name) in ["is it", "count", "<x>", "naïve"].into_iter().enumerate() {
            nodes.push((name, column(random, n, kind)));
            edges.push((name, column(random, rows, kind)));
        }
    }
    let batch = |columns: Vec<(&str, ArrayRef)>| {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
    };
    GraphTables { directed: random.is() || format == Format::Gap, nodes: batch(nodes), edges: batch(edges) }
}

/// The values of the columns that both tables have; columns that a format adds are not compared.
fn assert_same(found: &RecordBatch, expected: &RecordBatch, what: &str) {
    for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
        let found = found.column_by_name(field.name()).unwrap_or_else(|| panic!("{what}: no column {}", field.name()));
        assert_eq!(found.to_data(), column.to_data(), "{what}: column {}", field.name());
    }
}

const WRITTEN: [(Format, &str); 8] = [
    (Format::EdgeList, "g.edgelist"),
    (Format::Gap, "g.wel"),
    (Format::Csv, "g.csv"),
    (Format::Tsv, "g.tsv.gz"),
    (Format::MatrixMarket, "g.mtx"),
    (Format::GraphMl, "g.graphml"),
    (Format::Gexf, "g.gexf.gz"),
    (Format::NodeLink, "g.json"),
];

#[test]
fn random_graphs_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(1);
    for round in 0..200 {
        for (format, name) in WRITTEN {
            let expected = graph(&mut random, format);
            let path = folder.path().join(name);
            write(&path, None, &expected).unwrap_or_else(|error| panic!("{error}"));
            let found = read(&path, None).unwrap_or_else(|error| panic!("{error}"));
            let what = format!("round {round}, {name}");
            assert_eq!(found.directed, expected.directed, "{what}");
            assert_same(&found.nodes, &expected.nodes, &what);
            // Matrix Market has the lower triangle of a symmetric matrix.
            if format != Format::MatrixMarket || expected.directed {
                assert_same(&found.edges, &expected.edges, &what);
            }
        }
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(2);
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/graph/files");
    let (mut read_again, mut refused) = (0, 0);
    for entry in std::fs::read_dir(samples).unwrap() {
        let sample = entry.unwrap().path();
        let text = std::fs::read(&sample).unwrap();
        let path = folder.path().join(sample.file_name().unwrap());
        for _ in 0..40 {
            let mut damaged = text.clone();
            for _ in 0..1 + random.below(3) {
                if damaged.is_empty() {
                    break;
                }
                let at = random.below(damaged.len());
                match random.below(4) {
                    0 => damaged[at] = b"<>&\"'[]{}0123456789,:-*%# \n\xff"[random.below(28)],
                    1 => drop(damaged.remove(at)),
                    2 => damaged.truncate(at.max(1)),
                    _ => {
                        let end = (at + random.below(30)).min(damaged.len());
                        let piece = damaged[at..end].to_vec();
                        damaged.splice(at..at, piece);
                    }
                }
            }
            std::fs::write(&path, &damaged).unwrap();
            match read(&path, None) {
                Ok(graph) => {
                    read_again += 1;
                    assert!(graph.nodes.num_columns() > 0);
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.diagnostic().message.is_empty());
                }
            }
        }
    }
    assert!(read_again > 100 && refused > 100, "{read_again} were read, {refused} were refused");
}
