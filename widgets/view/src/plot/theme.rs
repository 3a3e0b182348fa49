//! Colours of a plot, and how wide its text is.

use std::collections::HashSet;

use onrush_wire::plot::{ColorMap, Theme};
use plotters::prelude::ViridisRGB;
use plotters::style::RGBColor;
use plotters::style::colors::colormaps::ColorMap as _;

/// Colours around the data.
#[derive(Clone, Copy)]
pub struct Colors {
    /// `None` keeps the colour of the page.
    pub background: Option<RGBColor>,
    pub text: RGBColor,
    pub faint: RGBColor,
    pub grid: RGBColor,
    pub grid_opacity: f64,
}

pub fn colors(theme: Theme) -> Colors {
    match theme {
        // #808080 has a contrast of about 4 to both white and #111.
        Theme::Auto => Colors {
            background: None,
            text: RGBColor(0x80, 0x80, 0x80),
            faint: RGBColor(0x80, 0x80, 0x80),
            grid: RGBColor(0x80, 0x80, 0x80),
            grid_opacity: 0.25,
        },
        Theme::Light => Colors {
            background: Some(RGBColor(0xff, 0xff, 0xff)),
            text: RGBColor(0x26, 0x26, 0x26),
            faint: RGBColor(0x66, 0x66, 0x66),
            grid: RGBColor(0, 0, 0),
            grid_opacity: 0.12,
        },
        Theme::Dark => Colors {
            background: Some(RGBColor(0x17, 0x19, 0x1c)),
            text: RGBColor(0xe4, 0xe4, 0xe4),
            faint: RGBColor(0xa8, 0xa8, 0xa8),
            grid: RGBColor(0xff, 0xff, 0xff),
            grid_opacity: 0.16,
        },
    }
}

/// The palette of Okabe and Ito, distinguishable with any colour vision, in an order that begins with the strongest.
/// Black is replaced by grey and yellow is darkened, so that each is visible on light and dark pages.
const SERIES: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xb5, 0xa6, 0x1c),
    RGBColor(0x80, 0x6a, 0x9e),
];

/// The colour of the group of other categories.
const OTHER: RGBColor = RGBColor(0x99, 0x99, 0x99);

/// The colour of a series; the ninth is the first one, darker and dashed.
pub fn series_color(index: usize, name: &str) -> RGBColor {
    if name == "other" || name == "null" {
        return OTHER;
    }
    let RGBColor(r, g, b) = SERIES[index % SERIES.len()];
    let shade = |c: u8| (f64::from(c) * 0.7f64.powi((index / SERIES.len()).min(3) as i32)) as u8;
    RGBColor(shade(r), shade(g), shade(b))
}

pub fn series_dashes(index: usize) -> Option<&'static str> {
    match index / SERIES.len() {
        0 => None,
        1 => Some("6 3"),
        _ => Some("2 3"),
    }
}

/// The colours of a scale, from the smallest number to the largest; `None` for viridis, which is computed.
pub fn anchors(map: ColorMap) -> Option<&'static [RGBColor]> {
    const fn hex(color: u32) -> RGBColor {
        RGBColor((color >> 16) as u8, (color >> 8) as u8, color as u8)
    }
    const CIVIDIS: [RGBColor; 10] = [
        hex(0x00224e),
        hex(0x123570),
        hex(0x3b496c),
        hex(0x575d6d),
        hex(0x707173),
        hex(0x8a8678),
        hex(0xa59c74),
        hex(0xc3b369),
        hex(0xe1cc55),
        hex(0xfee838),
    ];
    const MAGMA: [RGBColor; 10] = [
        hex(0x000004),
        hex(0x180f3d),
        hex(0x440f76),
        hex(0x721f81),
        hex(0x9e2f7f),
        hex(0xcd4071),
        hex(0xf1605d),
        hex(0xfd9668),
        hex(0xfeca8d),
        hex(0xfcfdbf),
    ];
    const GREYS: [RGBColor; 3] = [hex(0xf0f0f0), hex(0x969696), hex(0x252525)];
    // ColorBrewer's RdBu, from blue.
    const BLUE_RED: [RGBColor; 9] = [
        hex(0x2166ac),
        hex(0x4393c3),
        hex(0x92c5de),
        hex(0xd1e5f0),
        hex(0xf7f7f7),
        hex(0xfddbc7),
        hex(0xf4a582),
        hex(0xd6604d),
        hex(0xb2182b),
    ];
    match map {
        ColorMap::Viridis => None,
        ColorMap::Cividis => Some(&CIVIDIS),
        ColorMap::Magma => Some(&MAGMA),
        ColorMap::Greys => Some(&GREYS),
        ColorMap::BlueRed => Some(&BLUE_RED),
    }
}

/// 0 is the colour of the smallest number, 1 that of the largest.
pub fn scale_color(map: ColorMap, part: f64) -> RGBColor {
    let part = part.clamp(0.0, 1.0);
    let Some(anchors) = anchors(map) else { return ViridisRGB.get_color(part as f32) };
    let at = part * (anchors.len() - 1) as f64;
    let (a, b) = (anchors[at as usize], anchors[(at as usize + 1).min(anchors.len() - 1)]);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * at.fract()).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Estimated width of a text in pixels, in a common sans-serif face: that of the widest (DejaVu Sans).
pub fn text_width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '\u{202f}' => 0.31,
            'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' => 0.4,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
            'A'..='Z' => 0.68,
            '0'..='9' | 'a'..='z' => 0.6,
            c => match unicode_width::UnicodeWidthChar::width(c) {
                Some(0) => 0.0,
                Some(2) => 1.0,
                _ => 0.62,
            },
        })
        .sum();
    em * size
}

/// Truncates a text with an ellipsis.
pub fn fit_text(text: &str, size: f64, width: f64) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text_width(&line, size) <= width {
        return line;
    }
    let mut out = String::new();
    let mut used = text_width("…", size);
    for c in line.chars() {
        used += text_width(c.encode_utf8(&mut [0; 4]), size);
        if used > width && !out.is_empty() {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out + "…"
}

/// Truncates names to a width each. Names that would be equal without their ends lose their middles instead.
pub fn fit_names<'n>(names: impl Iterator<Item = &'n str>, size: f64, width: f64) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let cut: Vec<String> = names.iter().map(|name| fit_text(name, size, width)).collect();
    let (all, left): (HashSet<&str>, HashSet<&String>) = (names.iter().copied().collect(), cut.iter().collect());
    if all.len() == left.len() {
        return cut;
    }
    let half = (width - text_width("…", size)) / 2.0;
    let within = |letters: &mut dyn Iterator<Item = char>| -> String {
        let mut used = 0.0;
        letters
            .take_while(|c| {
                used += text_width(c.encode_utf8(&mut [0; 4]), size);
                used <= half
            })
            .collect()
    };
    let middle = |(name, cut): (&str, String)| {
        if !cut.ends_with('…') || name.ends_with('…') {
            return cut;
        }
        let end: String = within(&mut name.chars().rev()).chars().rev().collect();
        fit_text(&format!("{}…{}", within(&mut name.chars()).trim_end(), end.trim_start()), size, width)
    };
    names.into_iter().zip(cut).map(middle).collect()
}

/// The text in lines of at most `width`, broken at spaces.
pub fn wrap_text(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(" ", size) + text_width(word, size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit_text(word, size, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result begins and ends like the name, and is not wider than allowed.
    #[test]
    fn names_that_differ_at_their_ends_lose_their_middles() {
        let fitted = |names: &[&str]| fit_names(names.iter().copied(), 10.0, 80.0);
        assert_eq!(fitted(&["short", "also"]), ["short", "also"]);
        let ends = fitted(&["one category of many", "two categories of many"]);
        assert!(ends.iter().all(|name| name.ends_with('…')), "{ends:?}");
        let middles = fitted(&["a category of many, the 1st", "a category of many, the 2nd", "a"]);
        assert!(middles[0].starts_with("a cat") && middles[0].ends_with("1st"), "{middles:?}");
        assert!(middles[1].contains('…') && middles[1].ends_with("2nd") && middles[2] == "a", "{middles:?}");
        assert!(middles.iter().all(|name| text_width(name, 10.0) <= 80.0), "{middles:?}");
        // The same name twice is the same.
        assert_eq!(fitted(&["a category of many"; 2])[0], fitted(&["a category of many"])[0]);
    }
}
