//! Names and codes of regions: ISO 3166-1 and English names of countries, FIPS and postal codes and names of US states.

use std::collections::HashMap;
use std::sync::LazyLock;

use onrush_wire::map::ShapeSet;

use crate::shapes::{Region, regions};

/// The regions that values name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    pub set: ShapeSet,
    /// Values that name regions of the set.
    pub known: usize,
    /// Whether as many values name regions of the other set.
    pub is_ambiguous: bool,
}

type Names = HashMap<String, usize>;

fn names(set: ShapeSet) -> &'static Names {
    static ALL: LazyLock<[Names; 2]> = LazyLock::new(|| [ShapeSet::Countries, ShapeSet::States].map(table));
    match set {
        ShapeSet::Countries => &ALL[0],
        ShapeSet::States => &ALL[1],
    }
}

/// The usual names come first: "Congo" is another country's second name.
fn table(set: ShapeSet) -> Names {
    let all: Vec<(usize, &Region)> = regions(set).iter().enumerate().collect();
    let mut names = Names::new();
    for (index, region) in &all {
        for code in [&region.short, &region.long] {
            names.entry(folded(code)).or_insert(*index);
        }
        if region.number > 0 {
            names.entry(region.number.to_string()).or_insert(*index);
        }
    }
    let longest = all.iter().map(|(_, region)| region.names.len()).max().unwrap_or(0);
    for place in 0..longest {
        for (index, region) in &all {
            if let Some(name) = region.names.get(place) {
                names.entry(folded(name)).or_insert(*index);
            }
        }
    }
    names.remove("");
    names
}

/// Without case, points and surrounding spaces. Numbers lose their leading zeros.
fn folded(text: &str) -> String {
    let text: String = text.trim().to_lowercase().chars().filter(|c| *c != '.').collect();
    match text.parse::<u32>() {
        Ok(number) => number.to_string(),
        Err(_) => text,
    }
}

/// The region with this name or code, as its place in [`regions`].
pub fn find(set: ShapeSet, text: &str) -> Option<usize> {
    names(set).get(&folded(text)).copied()
}

/// The set of which values name more regions. States are the set of codes that both have, because they have fewer.
pub fn set_of<'t>(values: impl Iterator<Item = &'t str> + Clone) -> Match {
    let known = |set| values.clone().filter(|value| find(set, value).is_some()).count();
    let (countries, states) = (known(ShapeSet::Countries), known(ShapeSet::States));
    let (set, known) = if countries > states { (ShapeSet::Countries, countries) } else { (ShapeSet::States, states) };
    Match { set, known, is_ambiguous: countries == states && known > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn country(text: &str) -> &'static str {
        find(ShapeSet::Countries, text).map_or("", |index| &regions(ShapeSet::Countries)[index].long)
    }

    /// ISO 3166-1 and FIPS 5-2.
    #[test]
    fn names_and_codes_are_found() {
        for text in ["DE", "de", "DEU", "276", " Germany "] {
            assert_eq!(country(text), "DEU", "{text}");
        }
        for (text, code) in [
            ("004", "AFG"),
            ("4", "AFG"),
            ("USA", "USA"),
            ("U.S.", "USA"),
            ("Côte d'Ivoire", "CIV"),
            ("Cote d'Ivoire", "CIV"),
            ("Turkey", "TUR"),
            ("Bosnia and Herz.", "BIH"),
            ("Congo", "COG"),
            ("Dem. Rep. Congo", "COD"),
            ("Kosovo", "XKX"),
            ("Atlantis", ""),
            ("", ""),
        ] {
            assert_eq!(country(text), code, "{text}");
        }
        for text in ["06", "6", "CA", "California"] {
            let region = &regions(ShapeSet::States)[find(ShapeSet::States, text).unwrap()];
            assert_eq!((region.name(), region.number), ("California", 6), "{text}");
        }
        // World-atlas has names that ISO has not, and no two regions share one.
        assert!(regions(ShapeSet::Countries).iter().all(|region| find(ShapeSet::Countries, region.name()).is_some()));
    }

    #[test]
    fn the_values_tell_the_set() {
        let of = |values: &[&str]| set_of(values.iter().copied());
        assert_eq!(of(&["TX", "NY", "OH"]).set, ShapeSet::States);
        assert_eq!(of(&["DE", "FR", "IT", "GB"]).set, ShapeSet::Countries);
        let both = of(&["CA", "DE"]);
        assert_eq!((both.set, both.is_ambiguous), (ShapeSet::States, true));
        assert_eq!(of(&["nowhere"]), Match { set: ShapeSet::States, known: 0, is_ambiguous: false });
    }
}
