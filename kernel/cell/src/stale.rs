//! Staleness analysis: records which cell made and used each name, and finds cells whose outputs no longer follow from
//! the cells above.
//!
//! Every successful run gives a new version to each name that it defines, changes or moves. A cell is stale if it used
//! a version that a run from top to bottom would not give it. The order of cells is that of the notebook's file if it
//! is known, else that of their first runs. After a run from top to bottom no cell is stale.
//!
//! Not tracked: values that two names share through an `Rc`, files, and the environment.

mod uses;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::interface::{Flow, Stale};
pub use uses::{Uses, defined_names, uses};

/// The position of a cell, as the front end reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The cell's id in the notebook. Without an id every run is a separate cell.
    pub id: Option<String>,
    /// Cells that were deleted since the last run.
    pub deleted: Vec<String>,
    /// The ids of all cells from top to bottom, if they are known.
    pub order: Vec<String>,
    /// Controls that are on no screen any more.
    pub dropped: Vec<String>,
    /// The front end shows nothing of the cell: it is silent.
    pub is_hidden: bool,
}

/// The name of a variable or an item: two namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    Variable(String),
    Item(String),
}

impl Name {
    pub fn text(&self) -> &str {
        match self {
            Name::Variable(name) | Name::Item(name) => name,
        }
    }
}

/// A version of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    number: u64,
    /// The cell that made the version.
    by: String,
}

/// The order of versions; an earlier one is above.
type Place = (usize, u64);

#[derive(Clone, Debug, Default)]
struct Record {
    /// The execution number of the run.
    execution: u64,
    text: String,
    deleted: bool,
    /// Whether the newest run failed: then its output is the error.
    failed: bool,
    /// Order of first runs.
    position: u64,
    reads: BTreeMap<Name, Version>,
    /// The version that was made, or `None` for a moved variable.
    writes: BTreeMap<Name, Option<u64>>,
}

/// The versions that a successful run made.
#[derive(Clone, Debug, Default)]
pub struct NewVersions {
    /// With the value as text if that describes it fully: an equal text is the same version.
    pub written: BTreeMap<Name, Option<String>>,
    pub moved: BTreeSet<Name>,
}

#[derive(Clone, Debug)]
enum Why {
    /// The cell's earlier run had changed it.
    Own(Name),
    Deleted(Name),
    /// The name was made again, or is no longer made.
    MadeAgain(Name),
    /// Another cell in between makes the name.
    Between(Name, String),
    Through(Name),
}

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    clock: u64,
    live: BTreeMap<Name, Version>,
    values: BTreeMap<Name, String>,
    cells: BTreeMap<String, Record>,
    order: Vec<String>,
    /// The running cell and the names it reads.
    running: Option<(String, u64, BTreeMap<Name, Version>)>,
}

impl Ledger {
    /// The notebook's state, which the front end sends with every execution.
    pub fn arrange(&mut self, origin: &Origin) {
        for id in &origin.deleted {
            if let Some(record) = self.cells.get_mut(id) {
                record.deleted = true;
            }
        }
        if !origin.order.is_empty() {
            self.order = origin.order.clone();
        }
    }

    /// Begins a run. Returns warnings about stale values that the cell reads.
    pub fn begin(&mut self, origin: &Origin, execution: u64, uses: &Uses) -> (Flow, Vec<String>) {
        let key = origin.id.clone().unwrap_or_else(|| format!("#{execution}"));
        let names = uses.names();
        let reads: BTreeMap<Name, Version> =
            names.filter_map(|name| Some((name.clone(), self.live.get(&name)?.clone()))).collect();
        let stale = self.stale();
        let mut notes = Vec::new();
        for (name, version) in reads.iter().filter(|(_, version)| version.by != key) {
            if let Some((_, why @ (Why::MadeAgain(cause) | Why::Between(cause, _) | Why::Through(cause)))) =
                stale.get_key_value(&version.by)
            {
                let from = self.title(&version.by);
                let of = if cause == name { String::new() } else { format!(" of `{}`", cause.text()) };
                let how = match why {
                    Why::Between(_, cell) => format!("without what {} does to it", self.title(cell)),
                    _ if of.is_empty() => "from an older one".to_string(),
                    _ => format!("from an older value{of}"),
                };
                notes.push(format!("`{}` was computed by {from} {how}: run {from} again", name.text()));
            }
        }
        let flow = Flow {
            reads: reads.iter().map(|(n, v)| (n.text().to_string(), self.execution(&v.by))).collect(),
            ..Flow::default()
        };
        self.running = Some((key, execution, reads));
        (flow, notes)
    }

    fn execution(&self, key: &str) -> u64 {
        self.cells.get(key).map_or(0, |record| record.execution)
    }

    fn title(&self, key: &str) -> String {
        format!("In [{}]", self.execution(key))
    }

    /// Ends a failed run: the versions that the cell made before stay.
    pub fn fail(&mut self) {
        if let Some(record) = self.running.take().and_then(|(key, _, _)| self.cells.get_mut(&key)) {
            record.failed = true;
        }
    }

    /// Ends a successful run.
    pub fn commit(&mut self, text: &str, made: NewVersions) -> Flow {
        let Some((key, execution, reads)) = self.running.take() else { return Flow::default() };
        let old = self.cells.get(&key).cloned();
        let same = |old: &Record| {
            let versions = |reads: &BTreeMap<Name, Version>| reads.values().map(|v| v.number).collect::<Vec<_>>();
            old.text == text && versions(&old.reads) == versions(&reads)
        };
        let repeated = old.as_ref().filter(|old| same(old));
        // The version of an item is its source, as long as the items that it uses are unchanged.
        let items = |reads: &BTreeMap<Name, Version>| {
            reads.iter().filter(|(n, _)| matches!(n, Name::Item(_))).map(|(_, v)| v.number).collect::<Vec<_>>()
        };
        let same_items = old.as_ref().filter(|old| items(&old.reads) == items(&reads));
        let mut writes = BTreeMap::new();
        for name in &made.moved {
            self.live.remove(name);
            writes.insert(name.clone(), None);
        }
        for (name, value) in &made.written {
            // Equal code on equal versions gave an equal value: nothing has changed.
            let old = if matches!(name, Name::Item(_)) { same_items } else { repeated };
            let known = old.and_then(|old| old.writes.get(name).copied().flatten());
            let unchanged = known.filter(|_| value.is_some() && self.values.get(name) == value.as_ref());
            let number = unchanged.unwrap_or_else(|| {
                self.clock += 1;
                self.clock
            });
            match value {
                Some(value) => drop(self.values.insert(name.clone(), value.clone())),
                None => drop(self.values.remove(name)),
            }
            self.live.insert(name.clone(), Version { number, by: key.clone() });
            writes.insert(name.clone(), Some(number));
        }
        self.clock += 1;
        let mut position = old.as_ref().map_or(self.clock, |old| old.position);
        // The cell reads a name of a cell that came later so far, so it stands below that cell.
        if reads.values().any(|v| v.by != key && self.cells.get(&v.by).is_some_and(|p| p.position > position)) {
            position = self.clock;
        }
        let flow_reads = reads.iter().map(|(n, v)| (n.text().to_string(), self.execution(&v.by))).collect();
        let written = writes.keys().map(|n| n.text().to_string()).collect();
        let record =
            Record { execution, text: text.to_string(), deleted: false, failed: false, position, reads, writes };
        self.cells.insert(key, record);
        Flow { reads: flow_reads, writes: written, stale: self.stale_cells() }
    }

    /// Forgets everything, after the process ended or was cleared.
    pub fn forget(&mut self) {
        let clock = self.clock;
        *self = Ledger { clock, order: std::mem::take(&mut self.order), ..Ledger::default() };
    }

    /// The cells that are stale, by their execution numbers.
    pub fn stale_cells(&self) -> Vec<Stale> {
        let stale = self.stale();
        let said = |(key, why): (&String, &Why)| {
            let record = &self.cells[key];
            let by = |name: &Name| record.reads.get(name).map_or_else(String::new, |v| self.title(&v.by));
            let why = match why {
                Why::Own(name) => format!("used `{}` as its own earlier run had left it", name.text()),
                Why::Deleted(name) => format!("used `{}`, which a deleted cell made", name.text()),
                Why::MadeAgain(name) => format!("used `{}`, which {} has made again", name.text(), by(name)),
                Why::Between(name, cell) => {
                    format!("used `{}` without what {} does to it", name.text(), self.title(cell))
                }
                Why::Through(name) => format!("used `{}`, and {} is stale itself", name.text(), by(name)),
            };
            Stale { cell: key.clone(), execution: record.execution, why }
        };
        let mut cells: Vec<Stale> = stale.iter().map(said).collect();
        cells.sort_by_key(|cell| cell.execution);
        cells
    }

    /// For each variable the execution number that made it, and its warning.
    pub fn variables(&self) -> BTreeMap<String, (u64, Option<String>)> {
        let stale = self.stale_cells();
        let describe = |(name, version): (&Name, &Version)| {
            let Name::Variable(name) = name else { return None };
            let record = self.cells.get(&version.by)?;
            let why = stale.iter().find(|stale| stale.cell == version.by).map(|stale| format!("stale: {}", stale.why));
            let state = if record.deleted { Some("made by a deleted cell".to_string()) } else { why };
            Some((name.clone(), (record.execution, state)))
        };
        self.live.iter().filter_map(describe).collect()
    }

    /// The position of each cell: by the notebook's file, then by first runs.
    fn places(&self) -> HashMap<&str, Place> {
        let known: HashMap<&str, usize> = self.order.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        let place = |(key, record): (&'_ String, &'_ Record)| {
            (known.get(key.as_str()).copied().unwrap_or(usize::MAX), record.position)
        };
        self.cells.iter().map(|cell| (cell.0.as_str(), place(cell))).collect()
    }

    fn stale(&self) -> BTreeMap<String, Why> {
        let places = self.places();
        let mut makers: BTreeMap<&Name, Vec<(Place, &str)>> = BTreeMap::new();
        for (key, record) in self.cells.iter().filter(|(_, record)| !record.deleted) {
            for name in record.writes.keys() {
                makers.entry(name).or_default().push((places[key.as_str()], key));
            }
        }
        makers.values_mut().for_each(|makers| makers.sort_unstable());
        // In the order of runs: a cell that is read comes before its reader.
        let mut cells: Vec<(&String, &Record)> =
            self.cells.iter().filter(|(_, record)| !record.deleted && !record.failed).collect();
        cells.sort_by_key(|(_, record)| record.execution);
        let mut stale: BTreeMap<String, Why> = BTreeMap::new();
        loop {
            let before = stale.len();
            for (key, record) in &cells {
                if stale.contains_key(*key) {
                    continue;
                }
                let own = |(name, version): (&Name, &Version)| {
                    let makers = makers.get(name).map_or(&[][..], Vec::as_slice);
                    self.reason(key, name, version, makers, &places)
                };
                let through = |(name, version): (&Name, &Version)| {
                    stale.contains_key(&version.by).then(|| Why::Through(name.clone()))
                };
                if let Some(why) = record.reads.iter().find_map(own).or_else(|| record.reads.iter().find_map(through)) {
                    stale.insert((*key).clone(), why);
                }
            }
            if stale.len() == before {
                return stale;
            }
        }
    }

    /// The reason why a cell that read this version is stale, regardless of the cell that made it.
    fn reason(
        &self,
        key: &str,
        name: &Name,
        version: &Version,
        makers: &[(Place, &str)],
        places: &HashMap<&str, Place>,
    ) -> Option<Why> {
        if version.by == key {
            return Some(Why::Own(name.clone()));
        }
        let maker = self.cells.get(&version.by)?;
        if maker.deleted {
            return Some(Why::Deleted(name.clone()));
        }
        if maker.writes.get(name).copied().flatten() != Some(version.number) {
            return Some(Why::MadeAgain(name.clone()));
        }
        // The last cell above that makes the name should have provided it.
        let (place, expected) = makers.iter().rfind(|(place, _)| *place < places[key])?;
        let between = *expected != version.by && *place > places[version.by.as_str()];
        between.then(|| Why::Between(name.clone(), expected.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a cell by its id: what it reads and what it makes.
    fn run(
        ledger: &mut Ledger,
        count: &mut u64,
        id: &str,
        reads: &[&str],
        writes: &[&str],
    ) -> (Vec<String>, Vec<String>) {
        *count += 1;
        let origin = Origin { id: Some(id.to_string()), ..Origin::default() };
        let uses = Uses { variables: reads.iter().map(|name| name.to_string()).collect(), ..Uses::default() };
        let (_, notes) = ledger.begin(&origin, *count, &uses);
        let written = writes.iter().map(|name| (Name::Variable(name.to_string()), None)).collect();
        let flow = ledger.commit(&format!("{id} {count}"), NewVersions { written, ..NewVersions::default() });
        (flow.stale.into_iter().map(|stale| stale.cell).collect(), notes)
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn nothing_is_stale_from_top_to_bottom_and_again() {
        let (mut ledger, mut n) = (Ledger::default(), 0);
        for _ in 0..2 {
            // The state in the middle of the second pass is stale; at its end nothing is.
            run(&mut ledger, &mut n, "a", &[], &["x"]);
            run(&mut ledger, &mut n, "b", &["x"], &["y"]);
            run(&mut ledger, &mut n, "c", &["x"], &["x"]);
            let (stale, _) = run(&mut ledger, &mut n, "d", &["x", "y"], &[]);
            assert_eq!(stale, NONE);
        }
    }

    #[test]
    fn a_cell_that_ran_again_makes_its_users_stale_and_theirs() {
        let (mut ledger, mut n) = (Ledger::default(), 0);
        run(&mut ledger, &mut n, "a", &[], &["x"]);
        run(&mut ledger, &mut n, "b", &["x"], &["y"]);
        run(&mut ledger, &mut n, "c", &["y"], &[]);
        let (stale, _) = run(&mut ledger, &mut n, "a", &[], &["x"]);
        assert_eq!(stale, ["b", "c"]);
        assert_eq!(ledger.stale_cells()[0].why, "used `x`, which In [4] has made again");
        assert_eq!(ledger.variables()["y"].1.clone().unwrap(), "stale: used `x`, which In [4] has made again");
        let (_, notes) = run(&mut ledger, &mut n, "d", &["y"], &[]);
        assert_eq!(notes, ["`y` was computed by In [2] from an older value of `x`: run In [2] again"]);
        assert_eq!(run(&mut ledger, &mut n, "b", &["x"], &["y"]).0, ["c", "d"]);
        run(&mut ledger, &mut n, "c", &["y"], &[]);
        assert_eq!(run(&mut ledger, &mut n, "d", &["y"], &[]).0, NONE);
    }

    #[test]
    fn a_cell_that_changes_a_value_twice_is_stale() {
        let (mut ledger, mut n) = (Ledger::default(), 0);
        run(&mut ledger, &mut n, "a", &[], &["v"]);
        run(&mut ledger, &mut n, "b", &["v"], &["v"]);
        assert_eq!(run(&mut ledger, &mut n, "c", &["v"], &[]).0, NONE);
        assert_eq!(run(&mut ledger, &mut n, "b", &["v"], &["v"]).0, ["c", "b"]);
        // The value that the cell in between would change.
        run(&mut ledger, &mut n, "a", &[], &["v"]);
        let (stale, _) = run(&mut ledger, &mut n, "c", &["v"], &[]);
        assert_eq!(stale, ["b", "c"]);
        assert!(ledger.stale_cells()[1].why.contains("without what In [4] does to it"), "{:?}", ledger.stale_cells());
    }

    #[test]
    fn a_cell_that_reads_what_came_later_stands_below_it_unless_the_file_says_otherwise() {
        let (mut ledger, mut n) = (Ledger::default(), 0);
        run(&mut ledger, &mut n, "a", &[], &["x"]);
        run(&mut ledger, &mut n, "b", &["x"], &[]);
        run(&mut ledger, &mut n, "inserted", &["x"], &["x"]);
        assert_eq!(run(&mut ledger, &mut n, "b", &["x"], &[]).0, NONE);
        ledger.order = ["a", "inserted", "b"].map(str::to_string).to_vec();
        run(&mut ledger, &mut n, "a", &[], &["x"]);
        assert_eq!(run(&mut ledger, &mut n, "b", &["x"], &[]).0, ["inserted", "b"]);
    }

    #[test]
    fn what_a_deleted_cell_made_is_said() {
        let (mut ledger, mut n) = (Ledger::default(), 0);
        run(&mut ledger, &mut n, "a", &[], &["x"]);
        let origin = Origin { id: Some("b".into()), deleted: vec!["a".into()], ..Origin::default() };
        ledger.arrange(&origin);
        ledger.begin(&origin, 2, &Uses { variables: BTreeSet::from(["x".to_string()]), ..Uses::default() });
        let flow = ledger.commit("x", NewVersions::default());
        assert_eq!(flow.stale[0].why, "used `x`, which a deleted cell made");
        assert_eq!(ledger.variables()["x"], (1, Some("made by a deleted cell".into())));
    }

    #[test]
    fn the_same_value_again_is_the_same_version() {
        let mut ledger = Ledger::default();
        let mut go = |id: &str, reads: &[&str], written: &[(&str, &str)], n: u64| {
            let origin = Origin { id: Some(id.into()), ..Origin::default() };
            let uses = Uses { variables: reads.iter().map(|r| r.to_string()).collect(), ..Uses::default() };
            ledger.begin(&origin, n, &uses);
            let written = written
                .iter()
                .map(|(name, value)| (Name::Variable(name.to_string()), Some(value.to_string())))
                .collect();
            ledger.commit(id, NewVersions { written, ..NewVersions::default() }).stale.len()
        };
        go("a", &[], &[("x", "1")], 1);
        go("b", &["x"], &[], 2);
        assert_eq!(go("a", &[], &[("x", "1")], 3), 0);
        assert_eq!(go("a", &[], &[("x", "2")], 4), 1);
    }
}
