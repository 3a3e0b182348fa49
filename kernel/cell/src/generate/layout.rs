//! The text of a cell in its files: the items' and the statements', each in the user's lines and at the same columns.
//! An insertion into one file is blank in the other.

use crate::parse::{Cell, ItemKind, Part, PartKind};
use crate::source_map::SourceMap;

/// An insertion before a byte of the code: one text for the items' file or one for the statements' file.
pub struct Insertion {
    pub at: usize,
    pub text: String,
    pub into_items: bool,
}

/// A file with some items of a cell only, in their places, and the map of its columns.
pub fn lay_out_only(cell: &Cell, parts: &[&Part], prologue: String) -> (String, SourceMap) {
    let only = Cell { parts: parts.iter().map(|&p| p.clone()).collect(), ..cell.clone() };
    let mut insertions: Vec<Insertion> = Vec::new();
    for part in parts {
        if let PartKind::Item(item) = &part.kind {
            insertions.extend(item.publish.iter().map(|&at| Insertion {
                at,
                text: "pub ".to_string(),
                into_items: true,
            }));
        }
    }
    insertions.sort_by_key(|i| i.at);
    let layers = lay_out(&only, &insertions, prologue, String::new());
    (layers.items + "\n", layers.map)
}

pub fn width_of(root_start: &str, body_start: &str) -> usize {
    root_start.chars().count().max(body_start.chars().count())
}

pub struct Layers {
    pub items: String,
    pub body: String,
    pub macros: String,
    pub map: SourceMap,
}

pub fn lay_out(cell: &Cell, insertions: &[Insertion], root_start: String, body_start: String) -> Layers {
    let width = width_of(&root_start, &body_start);
    let mut layers = Layers {
        items: format!("{root_start:width$}"),
        body: format!("{body_start:width$}"),
        macros: " ".repeat(width),
        map: SourceMap::of_lines(cell.code.matches('\n').count() as u32 + 1),
    };
    layers.map.insert(1, 1, width as u32);

    let layer_of = layers_by_byte(cell);
    let (mut line, mut column) = (1u32, 1u32);
    let mut insertions = insertions.iter().peekable();
    let ends = [(cell.code.len(), None)];
    for (at, character) in cell.code.char_indices().map(|(at, c)| (at, Some(c))).chain(ends) {
        while let Some(insertion) = insertions.next_if(|i| i.at <= at) {
            let length = insertion.text.chars().count();
            let blank = " ".repeat(length);
            let (items_text, body_text) = if insertion.into_items {
                (insertion.text.as_str(), blank.as_str())
            } else {
                (blank.as_str(), insertion.text.as_str())
            };
            layers.items.push_str(items_text);
            layers.body.push_str(body_text);
            let of_a_macro = layer_of.get(insertion.at) == Some(&Layer::Macros);
            layers.macros.push_str(if of_a_macro { items_text } else { &blank });
            layers.map.insert(line, column, length as u32);
        }
        let Some(character) = character else { break };
        if character == '\n' {
            for layer in [&mut layers.items, &mut layers.body, &mut layers.macros] {
                layer.push('\n');
            }
            line += 1;
            column = 1;
            continue;
        }
        column += 1;
        let layer = layer_of[at];
        let or_blank = |is_there: bool| if is_there { character } else { ' ' };
        layers.items.push(or_blank(matches!(layer, Layer::Items | Layer::Macros)));
        layers.body.push(or_blank(layer == Layer::Body));
        layers.macros.push(or_blank(layer == Layer::Macros));
    }
    layers
}

/// The files that a byte of the cell goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Body,
    Items,
    /// To the items, and to the macros that later cells get.
    Macros,
    Nowhere,
}

fn layers_by_byte(cell: &Cell) -> Vec<Layer> {
    let mut layers = vec![Layer::Body; cell.code.len()];
    cell.inner_attributes.iter().for_each(|range| layers[range.clone()].fill(Layer::Nowhere));
    for part in &cell.parts {
        let PartKind::Item(item) = &part.kind else { continue };
        let layer = if matches!(item.kind, ItemKind::Macro(_)) { Layer::Macros } else { Layer::Items };
        layers[part.range.clone()].fill(layer);
        item.restrictions.iter().for_each(|range| layers[range.clone()].fill(Layer::Nowhere));
    }
    layers
}
