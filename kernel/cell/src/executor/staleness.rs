//! Tells the ledger of stale cells what a cell reads and makes.

use std::sync::mpsc::Sender;

use super::Executor;
use crate::compile::CompiledCell;
use crate::generate::VariableFate;
use crate::interface::Event;
use crate::parse::{Cell, ItemKind, PartKind};
use crate::stale::{Name, Uses, uses};

/// First number of the cells that the user does not see (silent ones, `user_expressions`). The notebook does not
/// contain them.
pub(super) const HIDDEN: u64 = 1 << 32;

impl Executor {
    pub(super) fn begin_flow(&mut self, number: u64, cell: &Cell, events: &Sender<Event>) -> Uses {
        let uses = uses(cell, &self.notebook);
        self.begin_uses(number, &uses, events);
        uses
    }

    /// The same for a cell whose names are known.
    pub(super) fn begin_uses(&mut self, number: u64, uses: &Uses, events: &Sender<Event>) {
        self.made = Default::default();
        if number >= HIDDEN {
            return;
        }
        let (flow, notes) = self.ledger.begin(&self.origin, number, uses);
        self.notes = notes;
        if !flow.reads.is_empty() {
            let _ = events.send(Event::Flow(flow));
        }
    }

    /// Only when the cell runs: an error of rustc says enough.
    pub(super) fn say_notes(&mut self, events: &Sender<Event>) {
        for note in std::mem::take(&mut self.notes) {
            let (message, help) = note.split_once(": ").unwrap_or((&note, "`:stale` lists the cells to run again"));
            self.warn(events, "stale", message.to_string(), help);
        }
    }

    /// Notes rustc's findings about the variables that the cell takes.
    pub(super) fn note_made(&mut self, ready: &CompiledCell) {
        let generated = &ready.generated;
        for name in &generated.takes {
            let variable = Name::Variable(name.clone());
            if matches!(ready.choices.omitted.get(name), Some(VariableFate::Moved | VariableFate::MovedInPart)) {
                self.made.moved.insert(variable);
            } else if self.notebook.variables.get(name).is_some_and(|v| v.mutable) && !ready.unchanged.contains(name) {
                self.made.written.insert(variable, None);
            }
        }
        for put in generated.puts.iter().filter(|put| !generated.takes.contains(&put.name)) {
            self.made.written.insert(Name::Variable(put.name.clone()), None);
        }
    }

    /// `text` is the source that the user sees.
    pub(super) fn end_flow(&mut self, cell: &Cell, text: &str, uses: &Uses, succeeded: bool, events: &Sender<Event>) {
        if !succeeded {
            return self.ledger.fail();
        }
        let mut made = std::mem::take(&mut self.made);
        for part in &cell.parts {
            match &part.kind {
                PartKind::Let { names, .. } => {
                    let kept = names.iter().filter(|b| self.notebook.variables.contains_key(&b.name));
                    made.written.extend(kept.map(|b| (Name::Variable(b.name.clone()), None)));
                }
                PartKind::Item(item) => {
                    // The same text again is the same item.
                    let text = || Some(cell.code[part.range.clone()].to_string());
                    let mut item_of = |name: &String| drop(made.written.insert(Name::Item(name.clone()), text()));
                    match &item.kind {
                        ItemKind::Named(name) | ItemKind::Trait(name) | ItemKind::Macro(name) => item_of(name),
                        ItemKind::Statics(names) => names.iter().for_each(item_of),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        made.written.extend(uses.shared.iter().map(|name| (Name::Variable(name.clone()), None)));
        for (name, value) in &mut made.written {
            if let Name::Variable(name) = name {
                let preview = self.notebook.variables.get(name).and_then(|v| v.preview.clone());
                // A preview that was cut does not say all.
                *value = preview.filter(|text| !text.contains('…'));
            }
        }
        let flow = self.ledger.commit(text, made);
        let _ = events.send(Event::Flow(flow));
    }
}
