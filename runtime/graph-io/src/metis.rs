//! METIS's graph files (Karypis and Kumar 1998): a line of neighbours for each node, undirected. Read only.
//!
//! Nodes are 1 to n. Their weights are the attributes `weight_1`, ..., their size is `size`.

use crate::error::{ErrorKind, Fault, shown};
use crate::tables::{GraphTables, Id, Tables, Value};
use crate::text::lines;

pub(crate) fn read(text: &str, cells: usize) -> Result<GraphTables, Fault> {
    // A line without neighbours is a node without edges.
    let mut content = lines(text).filter(|(_, line)| !line.starts_with('%'));
    let Some((first, header)) = content.find(|(_, line)| !line.trim().is_empty()) else {
        return Err(Fault::new(ErrorKind::File, "found an empty file, expected a header `nodes edges`"));
    };
    let words: Vec<&str> = header.split_ascii_whitespace().collect();
    let number = |word: &str| {
        let found = || Fault::file(first, format!("found {}, expected an integer in the header", shown(word)));
        word.parse::<usize>().map_err(|_| found().help("the header is `nodes edges [format [weights]]`"))
    };
    if !(2..=4).contains(&words.len()) {
        return Err(Fault::file(first, format!("found {}, expected `nodes edges [format [weights]]`", shown(header))));
    }
    let (n, m) = (number(words[0])?, number(words[1])?);
    let format = words.get(2).copied().unwrap_or("0");
    if format.len() > 3 || format.contains(|c| c != '0' && c != '1') {
        return Err(Fault::file(first, format!("found the format {}, expected three digits 0 or 1", shown(format))));
    }
    let has = |digit: usize| format.len() >= digit && format.as_bytes()[format.len() - digit] == b'1';
    let (edge_weights, node_weights, sizes) = (has(1), has(2), has(3));
    let constraints = match words.get(3) {
        Some(word) => number(word)?,
        None => usize::from(node_weights),
    };
    let mut tables = Tables::new(false, (text.len(), cells));
    let mut loops = 0;
    for i in 0..n {
        let Some((line, content)) = content.next() else {
            let message = format!("found {i} lines of nodes, expected {n}, as the header says");
            return Err(Fault::file(first, message).help("a node without edges is an empty line"));
        };
        let at = |fault: Fault| fault.at_line(line);
        let row = tables.node(Id::Int(i as i64 + 1)).map_err(at)? as usize;
        let mut words = content.split_ascii_whitespace();
        let integer = |word: Option<&str>, expected: &str| {
            let word = word.unwrap_or_default();
            let fault = || Fault::file(line, format!("found {}, expected {expected}", shown(word)));
            word.parse::<i64>().map_err(|_| fault())
        };
        if sizes {
            tables
                .nodes
                .set_named(row, "size", Value::Int(integer(words.next(), "the size of the node")?))
                .map_err(at)?;
        }
        for weight in (1..=constraints).take_while(|_| node_weights) {
            let value = Value::Int(integer(words.next(), "a weight of the node")?);
            tables.nodes.set_named(row, &format!("weight_{weight}"), value).map_err(at)?;
        }
        while let Some(word) = words.next() {
            let target = integer(Some(word), "a neighbour")?;
            if target < 1 || target as u64 > n as u64 {
                return Err(Fault::file(line, format!("found {target}, expected a node from 1 to {n}")));
            }
            let weight = if edge_weights { Some(integer(words.next(), "the weight of an edge")?) } else { None };
            // Each edge stands in the lines of both ends: the higher one's is taken, when both are known.
            if target - 1 > i as i64 {
                continue;
            }
            loops += usize::from(target - 1 == i as i64);
            let edge = tables.edge(target as u32 - 1, row as u32);
            if let Some(weight) = weight {
                tables.edges.set_named(edge, "weight", Value::Int(weight)).map_err(at)?;
            }
        }
    }
    let found = tables.edge_count();
    if found != m && found - loops != m {
        let message = format!("found {found} edges, expected {m}, as the header says");
        return Err(Fault::file(first, message).help("each edge stands in the lines of both of its ends"));
    }
    tables.finish()
}
