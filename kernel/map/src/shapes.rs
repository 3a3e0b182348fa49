//! The shapes of `data/shapes.deflate`, which `data/make.mjs` writes: arcs that neighbors share (as in TopoJSON), and
//! polygons of them.

use std::sync::LazyLock;

use onrush_wire::map::ShapeSet;

use crate::projection::Point;

static FILE: &[u8] = include_bytes!("../data/shapes.deflate");
/// Most bytes of the file when it is not deflated.
const LIMIT: usize = 1 << 22;

/// A country, a dependent area, or a state.
#[derive(Debug, Default, PartialEq)]
pub struct Region {
    /// ISO 3166-1 numeric, or FIPS. 0 for areas without a code.
    pub number: u32,
    /// ISO 3166-1 alpha-2, or the code of the postal service. Empty without a code.
    pub short: String,
    /// ISO 3166-1 alpha-3; empty for states.
    pub long: String,
    /// In English, the usual one first.
    pub names: Vec<String>,
    /// Rings of arcs.
    pub(crate) rings: Vec<Vec<i64>>,
}

impl Region {
    /// The usual name.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Whether the file has its shape. It lacks some small islands, and areas that it counts among a country.
    pub fn has_shape(&self) -> bool {
        !self.rings.is_empty()
    }
}

/// Shapes with common arcs.
#[derive(Default)]
pub struct Shapes {
    /// Longitudes and latitudes.
    pub arcs: Vec<Vec<Point>>,
    /// Whether an arc lies between two regions.
    pub is_border: Vec<bool>,
    /// All land, or the whole country.
    pub outline: Vec<Vec<i64>>,
    pub regions: Vec<Region>,
}

/// The regions of a set, in the order of the file.
pub fn regions(set: ShapeSet) -> &'static [Region] {
    &shapes(set).regions
}

pub fn shapes(set: ShapeSet) -> &'static Shapes {
    static ALL: LazyLock<[Shapes; 2]> = LazyLock::new(|| {
        // The file is part of the program, and a test reads it.
        let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(FILE, LIMIT).unwrap_or_default();
        let mut reader = Reader(&bytes);
        [reader.shapes().unwrap_or_default(), reader.shapes().unwrap_or_default()]
    });
    match set {
        ShapeSet::Countries => &ALL[0],
        ShapeSet::States => &ALL[1],
    }
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn take(&mut self, length: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 127).checked_shl(shift)?;
            shift += 7;
            if byte < 128 {
                return Some(value);
            }
        }
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// The sign is the lowest bit; `!n` is written for negative numbers.
    fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        let half = i64::try_from(value >> 1).ok()?;
        Some(if value & 1 == 1 { !half } else { half })
    }

    fn float(&mut self) -> Option<f64> {
        Some(f64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    /// Rings of polygons. Holes need no mark: their arcs go the other way around.
    fn rings(&mut self) -> Option<Vec<Vec<i64>>> {
        let mut rings = Vec::new();
        for _ in 0..self.count()? {
            for _ in 0..self.count()? {
                let arcs: Option<Vec<i64>> = (0..self.count()?).map(|_| self.signed()).collect();
                rings.push(arcs?);
            }
        }
        Some(rings)
    }

    fn shapes(&mut self) -> Option<Shapes> {
        let [width, height, left, bottom] = [self.float()?, self.float()?, self.float()?, self.float()?];
        let (mut arcs, mut start) = (Vec::new(), (0, 0));
        for _ in 0..self.count()? {
            let count = self.count()?;
            let mut arc = Vec::with_capacity(count.min(self.0.len()));
            let mut at: (i64, i64) = start;
            for point in 0..count {
                at = (at.0 + self.signed()?, at.1 + self.signed()?);
                if point == 0 {
                    start = at;
                }
                // Rounding must not push a point beyond the date line.
                let lon = (at.0 as f64 * width + left).clamp(-180.0, 180.0);
                arc.push((lon, at.1 as f64 * height + bottom));
            }
            arcs.push(arc);
        }
        let outline = self.rings()?;
        let mut regions = Vec::new();
        for _ in 0..self.count()? {
            let number = u32::try_from(self.number()?).ok()?;
            let (short, long) = (self.text()?, self.text()?);
            let names: Option<Vec<String>> = (0..self.count()?).map(|_| self.text()).collect();
            regions.push(Region { number, short, long, names: names?, rings: self.rings()? });
        }
        let mut users = vec![Vec::new(); arcs.len()];
        for (index, region) in regions.iter().enumerate() {
            for arc in region.rings.iter().flatten() {
                let users = users.get_mut(arc_index(*arc))?;
                if !users.contains(&index) {
                    users.push(index);
                }
            }
        }
        let is_border = users.iter().map(|users| users.len() > 1).collect();
        Some(Shapes { arcs, is_border, outline, regions })
    }
}

/// The number of an arc in whichever direction.
pub fn arc_index(arc: i64) -> usize {
    (if arc < 0 { !arc } else { arc }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// world-atlas 2.0.2 and us-atlas 3.0.1: arcs and points as their files have them; ISO 3166-1 has 249 codes, and
    /// Kosovo's.
    #[test]
    fn the_file_is_complete() {
        let points = |set| shapes(set).arcs.iter().map(Vec::len).sum::<usize>();
        assert_eq!((shapes(ShapeSet::Countries).arcs.len(), points(ShapeSet::Countries)), (1959, 80617));
        assert_eq!((shapes(ShapeSet::States).arcs.len(), points(ShapeSet::States)), (419, 11781));
        let with_code = regions(ShapeSet::Countries).iter().filter(|region| !region.short.is_empty()).count();
        assert_eq!((with_code, regions(ShapeSet::States).len()), (250, 56));
        let shown = regions(ShapeSet::Countries).iter().filter(|region| region.has_shape()).count();
        assert!(shown > 230, "{shown}");
    }
}
