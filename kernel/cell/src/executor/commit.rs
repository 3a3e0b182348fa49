//! After a cell has succeeded: what it made becomes the notebook's, and what could not stay is said.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::Sender;

use onrush_wire::host::Variable;
use onrush_wire::{Class, Diagnostic};

use super::Executor;
use crate::compile::CompiledCell;
use crate::generate::{RecompiledFunction, VariableFate, declared_type, parts_of};
use crate::hints::{BORROWED, borrower, keeping};
use crate::interface::Event;
use crate::notebook::{CellCrate, KnownMacro, KnownSource, KnownVariable, Loss, Notebook};
use crate::parse::{Binding, Cell, ItemKind, ItemPart, Part, PartKind, is_value};
use crate::process::RunOutcome;
use crate::recompile_dependents;
use crate::types::{Spelling, is_function, spell};
use crate::unchanged_items::import_context;

impl Executor {
    /// The cell succeeded: what it made is the notebook's.
    #[allow(clippy::too_many_arguments, reason = "one call: everything that a finished cell is")]
    pub(super) fn commit(
        &mut self,
        number: u64,
        cell: &Cell,
        crate_name: &str,
        file: &str,
        ready: CompiledCell,
        variables: Vec<Variable>,
        events: &Sender<Event>,
    ) {
        let types = self.type_codes(cell, crate_name, file, &ready, &variables);
        let index = self.notebook.crate_by_name(crate_name).unwrap_or(self.notebook.crates.len());
        let made = CellCrate {
            name: crate_name.to_string(),
            file: file.to_string(),
            library: ready.library.clone(),
            links: ready.generated.links.iter().copied().collect(),
            files: ready.generated.files.clone(),
            macros: ready.generated.macros.clone(),
            map: ready.generated.map.clone(),
        };
        // Statements that ran before are there already.
        if index == self.notebook.crates.len() {
            self.notebook.crates.push(made);
        }
        for recompiled in &ready.recompiled {
            self.notebook.items.insert(recompiled.name.clone(), index);
            self.notebook
                .impl_files
                .insert(recompiled.file.clone(), (recompiled.users_file.clone(), recompiled.map.clone()));
        }
        self.warn_of_users(cell, index, &ready.recompiled, events);
        for recompiled in &ready.recompiled {
            if let Some(source) = self.notebook.sources.get_mut(&recompiled.name) {
                source.homes.insert(index);
            }
        }
        for part in &cell.parts {
            let PartKind::Item(item) = &part.kind else { continue };
            if let ItemKind::Named(name) | ItemKind::Trait(name) = &item.kind {
                let text = cell.code[part.range.clone()].to_string();
                let mut homes = self.notebook.sources.remove(name).map_or_else(BTreeSet::new, |old| old.homes);
                homes.insert(index);
                let mentions = part.mentions.clone();
                let import_context = import_context(&mentions, cell, &self.notebook);
                let source = KnownSource { text, mentions, homes, import_context, file: file.to_string() };
                self.notebook.sources.insert(name.clone(), source);
            }
            match &item.kind {
                ItemKind::Named(name) => drop(self.notebook.items.insert(name.clone(), index)),
                ItemKind::Statics(names) => {
                    self.notebook.items.extend(names.iter().map(|name| (name.clone(), index)));
                }
                ItemKind::Trait(name) => {
                    self.notebook.items.insert(name.clone(), index);
                    self.notebook.traits.insert(name.clone());
                }
                ItemKind::Macro(name) => {
                    let known = KnownMacro { home: index, mentions: part.mentions.clone() };
                    self.notebook.macros.insert(name.clone(), known);
                }
                ItemKind::Use(leaves) => {
                    for leaf in leaves {
                        self.notebook.uses.retain(|old| old != leaf && (!leaf.has_name() || old.name != leaf.name));
                        self.notebook.uses.push(leaf.clone());
                    }
                }
                ItemKind::Impl { .. } => self.note_methods(part),
                ItemKind::Made(names) => self.notebook.made.push((names.clone(), index)),
                ItemKind::Other => {}
            }
        }
        let has_new_glob = |part: &Part| {
            matches!(&part.kind, PartKind::Item(ItemPart { kind: ItemKind::Use(leaves), .. })
                if leaves.iter().any(|leaf| leaf.name == "*"))
        };
        if cell.parts.iter().any(has_new_glob) {
            self.notebook.missing.clear();
        }
        self.notebook.missing.extend(ready.choices.missing.iter().cloned());
        let mut forget = self.hide_older(cell, index, &ready);
        // A new item hides an older import of its name.
        let items = &self.notebook.items;
        self.notebook.uses.retain(|leaf| items.get(&leaf.name) != Some(&index));

        self.note_ends(number, cell, &ready, events);
        let puts: BTreeSet<&str> = ready.generated.puts.iter().map(|put| put.name.as_str()).collect();
        for name in ready.generated.takes.iter().filter(|name| !puts.contains(name.as_str())) {
            self.notebook.variables.remove(name);
        }
        let with_cell = ready.choices.omitted.iter().filter(|(_, ends)| **ends == VariableFate::WithCell);
        let with_cell: Vec<String> = with_cell.map(|(name, _)| format!("`{name}`")).collect();
        if !with_cell.is_empty() {
            let verb = if with_cell.len() == 1 { "lasts" } else { "last" };
            let message = format!("{} {verb} only for this cell, in which something borrows", with_cell.join(", "));
            self.warn(events, "borrowed-variable", message, keeping(BORROWED));
        }
        for part in &cell.parts {
            let PartKind::Let { names, .. } = &part.kind else { continue };
            for binding in names.iter().filter(|b| b.name.starts_with('_')) {
                self.notebook.gone.insert(binding.name.clone(), Loss::Underscore(number));
            }
        }
        // A `return` before its `let`.
        let made: BTreeSet<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        for put in ready.generated.puts.iter().filter(|put| !made.contains(plain(&put.name))) {
            self.notebook.variables.remove(&put.name);
            self.notebook.gone.insert(put.name.clone(), Loss::NotMade(number));
        }
        let by_name = by_plain_name(&ready.generated.puts);
        for variable in variables {
            let Some(&put) = by_name.get(variable.name.as_str()) else { continue };
            match types.get(&variable.name).cloned().unwrap_or(Err("of a private type")) {
                Ok(type_code) => {
                    self.notebook.gone.remove(&put.name);
                    self.notebook.moved.remove(&put.name);
                    self.notebook.variables.insert(
                        put.name.clone(),
                        KnownVariable {
                            type_code,
                            mutable: put.mutable,
                            preview: variable.preview,
                            bytes: variable.bytes,
                        },
                    );
                }
                Err(what) => {
                    self.notebook.variables.remove(&put.name);
                    self.notebook.gone.insert(put.name.clone(), Loss::Unkept(what, number));
                    if !is_used(cell, &put.name) {
                        let message =
                            format!("`{}` is {what}: its type has no name, so it lasts only for this cell", put.name);
                        self.warn(events, "unnameable-type", message, keeping(what));
                    }
                    forget.push(variable.name);
                }
            }
        }
        if !forget.is_empty() {
            self.forget_unnamed(forget, events);
        }
    }

    /// Variables that the cell has not put back are gone, and why.
    fn note_ends(&mut self, number: u64, cell: &Cell, ready: &CompiledCell, events: &Sender<Event>) {
        for (name, ends) in &ready.choices.omitted {
            let why = match ends {
                VariableFate::Moved => Loss::Moved(number),
                VariableFate::MovedInPart if !is_left(name, ready) => Loss::Moved(number),
                VariableFate::MovedInPart => Loss::MovedInPart(number),
                VariableFate::Unset => Loss::Unset(number),
                VariableFate::Borrows | VariableFate::Holds => match borrower(cell, name) {
                    BORROWED => Loss::Borrowed(number),
                    what => Loss::Unkept(what, number),
                },
                VariableFate::WithCell => Loss::WithCell(number),
                VariableFate::CallsMut | VariableFate::CallsOnce | VariableFate::Plain => continue,
            };
            let known = self.notebook.variables.remove(name);
            let is_moved = matches!(ends, VariableFate::Moved | VariableFate::MovedInPart);
            let known = known.filter(|known| known.mutable && is_moved);
            let known = known.or_else(|| declared(cell, name).filter(|_| *ends == VariableFate::Unset));
            if let Some(known) = known {
                self.notebook.moved.insert(name.clone(), known);
            }
            self.notebook.gone.insert(name.clone(), why);
            // A variable that its own cell has used is probably not wanted again. If it is, that cell says why it is
            // gone.
            let is_unkept = name.starts_with('_');
            if matches!(ends, VariableFate::Borrows | VariableFate::Holds) && !is_unkept && !is_used(cell, name) {
                let message = format!("`{name}` borrows from another variable, so it lasts only for this cell");
                self.warn(events, "borrowed-variable", message, keeping(borrower(cell, name)));
            }
        }
    }

    /// Drops values that nothing can name any more. The cell has succeeded; if a `Drop` fails, the values stay where
    /// they are.
    fn forget_unnamed(&mut self, names: Vec<String>, events: &Sender<Event>) {
        self.stop.begin();
        let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if let RunOutcome::Failed { diagnostic, variables_lost } = self.process.forget(names, events) {
            if variables_lost {
                self.lose_variables(events);
            }
            self.process.take_calls();
            let message = format!("the earlier value of {listed} could not be dropped: {}", diagnostic.message);
            let help = match variables_lost {
                true => "all variables were lost with the cell process; run their cells again",
                false => "it stays in memory; all variables are as the cell has left them",
            };
            self.warn(events, "drop", message, help);
        }
        self.stop.settle();
    }

    /// The newest of a name holds: a function hides an older variable, and a variable an older constant. Gives the
    /// variables that nothing can name any more.
    fn hide_older(&mut self, cell: &Cell, index: usize, ready: &CompiledCell) -> Vec<String> {
        let puts: BTreeSet<&str> = ready.generated.puts.iter().map(|put| put.name.as_str()).collect();
        let is_put = |name: &str| puts.contains(name);
        let hidden = cell.values().filter(|name| self.notebook.variables.contains_key(*name) && !is_put(name));
        let hidden: Vec<String> = hidden.map(String::from).collect();
        for name in &hidden {
            self.notebook.variables.remove(name);
        }
        let is_part_of = |name: &str, put: &Binding| parts_of(name).is_some_and(|(variable, _)| variable == put.name);
        let is_replaced = |name: &&String| ready.generated.puts.iter().any(|put| is_part_of(name, put));
        let fields: Vec<String> = self.notebook.variables.keys().filter(is_replaced).cloned().collect();
        for name in &fields {
            self.notebook.variables.remove(name);
        }
        for put in &ready.generated.puts {
            let is_older = self.notebook.items.get(&put.name).is_some_and(|&home| home != index);
            let source = self.notebook.sources.get(&put.name).map_or("", |source| source.text.as_str());
            if is_older && is_value(source, &put.name) && !source.contains("fn ") {
                self.notebook.items.remove(&put.name);
            }
        }
        hidden.iter().chain(&fields).map(|name| plain(name).to_string()).collect()
    }

    /// Items of earlier cells keep the older item that they were compiled with: says which.
    fn warn_of_users(&self, cell: &Cell, index: usize, recompiled: &[RecompiledFunction], events: &Sender<Event>) {
        let named = cell.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Item(ItemPart { kind: ItemKind::Named(name) | ItemKind::Trait(name), .. }) => Some(name),
            _ => None,
        });
        for name in named.chain(recompiled.iter().map(|recompiled| &recompiled.name)) {
            let Some(source) = self.notebook.sources.get(name).filter(|source| !source.homes.contains(&index)) else {
                continue;
            };
            let is_type = ["struct ", "enum ", "trait ", "union "].iter().any(|word| source.text.contains(word));
            let uses = |(user, &home): (&String, &usize)| {
                let crate_ = &self.notebook.crates[home];
                let known = self.notebook.sources.get(user);
                let mentions =
                    known.is_some_and(|s| s.mentions.contains(name) && !recompile_dependents::binds(&s.text, name));
                let sees = !crate_.links.is_disjoint(&source.homes) || source.homes.contains(&home);
                (home != index && user != name && mentions && sees).then(|| self.with_cell(user, home))
            };
            let mut users: Vec<String> = self.notebook.items.iter().filter_map(uses).collect();
            if !is_type {
                let own = |of: &String| cell.parts.iter().any(|part| names(part, of));
                let types = recompile_dependents::types_that_call(name, &source.homes, &self.notebook);
                let types = types.into_iter().filter(|(of, home)| *home != index && !own(of));
                users.extend(types.map(|(of, home)| format!("methods of {}", self.with_cell(&of, home))));
            }
            // Values of a type that was defined again stay what they are.
            let paths = source.homes.iter().map(|&home| format!("::{}::{name}", self.notebook.crates[home].name));
            let paths: Vec<String> = if is_type { paths.collect() } else { Vec::new() };
            let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let is_of =
                |code: &str, path: &str| code.match_indices(path).any(|(at, _)| is_whole(&code[at + path.len()..]));
            for (variable, known) in &self.notebook.variables {
                let is_made_again = cell.parts.iter().any(|part| binds(part, variable));
                if !is_made_again && paths.iter().any(|path| is_of(&known.type_code, path)) {
                    users.push(format!("the variable `{variable}`"));
                }
            }
            if !users.is_empty() {
                let verb = if users.len() == 1 && !users[0].starts_with("methods") { "uses" } else { "use" };
                let message = format!("{} still {verb} the earlier `{name}`", users.join(", "));
                self.warn(events, "earlier-item", message, "run those cells again to use the new one");
            }
        }
    }

    /// Callers of a method that an `impl` has replaced were compiled with the older one.
    pub(super) fn warn_of_callers(&self, impls: &[Part], before: &Notebook, events: &Sender<Event>) {
        for part in impls {
            let PartKind::Item(ItemPart { kind: ItemKind::Impl { target: Some(target), methods, .. }, .. }) =
                &part.kind
            else {
                continue;
            };
            let (Some(&home), Some(known)) = (before.items.get(target), before.methods.get(target)) else { continue };
            for method in methods.iter().filter(|method| known.contains(*method)) {
                let calls = |(user, &at): (&String, &usize)| {
                    let mentions = self.notebook.sources.get(user).is_some_and(|s| s.mentions.contains(method));
                    let sees = at == home || self.notebook.crates[at].links.contains(&home);
                    (mentions && sees && user != target).then(|| self.with_cell(user, at))
                };
                let users: Vec<String> = before.items.iter().filter_map(calls).collect();
                if !users.is_empty() {
                    let verb = if users.len() == 1 { "uses" } else { "use" };
                    let message = format!("{} still {verb} the earlier `{method}` of `{target}`", users.join(", "));
                    self.warn(events, "earlier-item", message, "run those cells again to use the new one");
                }
            }
        }
    }

    /// `total` (cell 3).
    fn with_cell(&self, item: &str, home: usize) -> String {
        let known = self.notebook.sources.get(item).map(|source| &source.file);
        let file = known.unwrap_or(&self.notebook.crates[home].file);
        format!("`{item}` ({})", file.trim_end_matches(".rs").replace('_', " "))
    }

    pub(super) fn warn(&self, events: &Sender<Event>, code: &str, message: String, help: &str) {
        let mut warning = Diagnostic::error(Class::Compile, code, message).help(help);
        warning.severity = onrush_wire::Severity::Warning;
        let _ = events.send(Event::Warning(warning));
    }

    /// How code spells the types of the variables that the cell put back, or why nothing can.
    fn type_codes(
        &mut self,
        cell: &Cell,
        crate_name: &str,
        file: &str,
        ready: &CompiledCell,
        variables: &[Variable],
    ) -> BTreeMap<String, Result<String, &'static str>> {
        let puts = by_plain_name(&ready.generated.puts);
        let mut types = BTreeMap::new();
        let mut unsure = Vec::new();
        for variable in variables {
            let Some(&put) = puts.get(variable.name.as_str()) else { continue };
            // A reference of a certain lifetime, where code can only say one of any.
            let closure = ready.generated.closures.get(&put.name);
            if closure.is_some_and(|closure| !closure.is_typed) && variable.type_name.contains('&') {
                types.insert(variable.name.clone(), Err("a closure"));
                continue;
            }
            match spell(&variable.type_name) {
                Spelling::Code(code) => drop(types.insert(variable.name.clone(), Ok(code))),
                Spelling::Unnameable("a closure") if is_async(cell, &put.name) => {
                    types.insert(variable.name.clone(), Err("a future"));
                }
                Spelling::Unnameable(what) => drop(types.insert(variable.name.clone(), Err(what))),
                Spelling::Unsure(_) => match self.memo(&variable.type_name).and_then(|memo| self.types.get(&memo)) {
                    Some(code) => drop(types.insert(variable.name.clone(), Ok(code.clone()))),
                    None => unsure.push((put.name.clone(), variable)),
                },
            }
        }
        if !unsure.is_empty() {
            let names: Vec<String> = unsure.iter().map(|(name, _)| name.clone()).collect();
            let type_names = unsure.iter().map(|(_, variable)| variable.type_name.as_str());
            let crates = type_names.flat_map(|name| self.notebook.dependencies.indirect(name)).collect();
            let found = self.compiler.type_codes(cell, crate_name, file, &self.notebook, ready, &names, &crates);
            for (name, variable) in unsure {
                match found.get(&name) {
                    Some(code) => {
                        types.insert(variable.name.clone(), Ok(code.clone()));
                        if let Some(memo) = self.memo(&variable.type_name) {
                            self.types.learn(&memo, code);
                        }
                    }
                    None if is_function(&variable.type_name) => {
                        types.insert(variable.name.clone(), Err("a function"));
                    }
                    None => {}
                }
            }
        }
        types
    }
}

impl Executor {
    /// Under which name a type's spelling is remembered: another graph of crates may spell it otherwise. `None` where
    /// one name can mean two types: a crate of the prelude and the notebook's own build of it.
    fn memo(&self, type_name: &str) -> Option<String> {
        let dependencies = &self.notebook.dependencies;
        if ["arrow", "chrono", "serde"].iter().any(|name| dependencies.replaces(name)) {
            return None;
        }
        Some(match dependencies.key() {
            "" => type_name.to_string(),
            key => format!("{type_name} {key}"),
        })
    }
}

/// The name that the store has for a raw identifier.
fn plain(name: &str) -> &str {
    name.trim_start_matches("r#")
}

fn by_plain_name(puts: &[Binding]) -> HashMap<&str, &Binding> {
    puts.iter().map(|put| (plain(&put.name), put)).collect()
}

/// Whether something is left of a variable that the cell has moved in part: all fields may be moved.
fn is_left(name: &str, ready: &CompiledCell) -> bool {
    let is_field = |other: &str| parts_of(other).is_some_and(|(variable, _)| variable == name);
    let is_known = ready.choices.omitted.keys().any(|other| is_field(other));
    !is_known || ready.generated.puts.iter().any(|put| is_field(&put.name))
}

/// A variable that the cell has declared without a value.
fn declared(cell: &Cell, name: &str) -> Option<KnownVariable> {
    let part = cell.parts.iter().rfind(|part| binds(part, name))?;
    let PartKind::Let { names, .. } = &part.kind else { return None };
    let type_code = declared_type(&cell.code[part.range.clone()], name)?;
    let mutable = names.iter().any(|binding| binding.name == name && binding.mutable);
    Some(KnownVariable { type_code, mutable, preview: None, bytes: 0 })
}

/// Whether a cell uses a variable after the `let` that makes it.
fn is_used(cell: &Cell, name: &str) -> bool {
    let made = cell.parts.iter().rposition(|part| binds(part, name));
    made.is_some_and(|at| cell.parts[at + 1..].iter().any(|part| part.mentions.contains(name)))
}

/// Whether a variable is made of `async`: the type of what that gives is named as a closure's is.
fn is_async(cell: &Cell, name: &str) -> bool {
    let binds =
        |part: &&Part| matches!(&part.kind, PartKind::Let { names, .. } if names.iter().any(|b| b.name == name));
    cell.parts.iter().rfind(binds).is_some_and(|part| part.mentions.contains("async"))
}

fn names(part: &Part, of: &str) -> bool {
    let PartKind::Item(item) = &part.kind else { return false };
    matches!(&item.kind, ItemKind::Named(name) | ItemKind::Trait(name) if name == of)
}

fn binds(part: &Part, name: &str) -> bool {
    matches!(&part.kind, PartKind::Let { names, .. } if names.iter().any(|b| b.name == name))
}
