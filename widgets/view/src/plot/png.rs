//! SVG to PNG. A machine may have no fonts at all, so DejaVu Sans is embedded and used first: the same plot gives the
//! same picture everywhere. Characters that it lacks are searched among the fonts of the machine.

use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use resvg::{tiny_skia, usvg};

/// The fonts of all pictures. Loading those of the machine takes time, so that it happens only if a text needs them.
static OWN: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| Arc::new(own()));
static ALL: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = own();
    fonts.load_system_fonts();
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

fn own() -> usvg::fontdb::Database {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    fonts
}

/// Whether the embedded face has all characters of a document.
pub fn own_suffices(svg: &str) -> bool {
    svg.chars().all(|c| (c as u32) < 0x0590 || matches!(c as u32, 0x1e00..=0x22ff))
}

/// Letters that a PNG or PDF of this document will not show: no font of the machine has them, or only as colour glyphs.
pub fn undrawn(svg: &str) -> Vec<char> {
    let mut letters = Vec::new();
    if !own_suffices(svg)
        && let Ok(tree) = tree(svg)
    {
        collect_undrawn(tree.root(), &mut letters);
    }
    letters.sort_unstable();
    letters.dedup();
    letters
}

fn collect_undrawn(group: &usvg::Group, letters: &mut Vec<char>) {
    const NONE: u16 = 0;
    // The joiners within a family emoji are not letters.
    let is_shown = |c: &char| {
        !c.is_whitespace() && !c.is_control() && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}')
    };
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => collect_undrawn(group, letters),
            usvg::Node::Text(text) => {
                let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                for glyph in glyphs {
                    let missing = |c: &char| glyph.id.0 == NONE || ('\u{1f000}'..'\u{20000}').contains(c);
                    letters.extend(glyph.text.chars().filter(|c| is_shown(c) && missing(c)));
                }
            }
            _ => {}
        }
    }
}

fn tree(svg: &str) -> Result<usvg::Tree, String> {
    let options = usvg::Options {
        font_family: "DejaVu Sans".to_string(),
        fontdb: Arc::clone(if own_suffices(svg) { &OWN } else { &ALL }),
        ..usvg::Options::default()
    };
    usvg::Tree::from_str(svg, &options).map_err(|e| format!("the plot's SVG is not valid: {e}"))
}

/// A PNG of `scale` pixels for each pixel of the document. Embedded PNGs, which the renderer leaves out, are drawn over
/// it.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    let tree = tree(svg)?;
    let size = tree.size();
    let (width, height) = ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| format!("a picture of {width} × {height} pixels is too large"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    for image in svg.split(IMAGE).skip(1) {
        draw(image, scale, &mut pixels).ok_or("a raster of the plot could not be drawn")?;
    }
    crate::png::encode(&pixels).map_err(|e| format!("the PNG could not be written: {e}"))
}

/// How an embedded PNG begins in a document ([`super::canvas::Canvas::image`]).
pub const IMAGE: &str = "<image ";

/// By how many pixels the group of an embedded PNG is moved: `data-shift="10 20"`.
pub const SHIFT: &str = "data-shift=";

/// The place of the first embedded PNG of a document: left, top, width and height.
pub fn place(svg: &str) -> Option<[f32; 4]> {
    placed(svg.split_once(IMAGE)?.1)
}

fn placed(image: &str) -> Option<[f32; 4]> {
    let number = |name: &str| attribute(image, name)?.parse::<f32>().ok();
    // An image inside of a group that is moved ([`SHIFT`]).
    let shift = attribute(image, SHIFT).and_then(|shift| shift.split_once(' '));
    let (right, down) = shift.map_or((0.0, 0.0), |(x, y)| (x.parse().unwrap_or(0.0), y.parse().unwrap_or(0.0)));
    Some([number("x=")? + right, number("y=")? + down, number("width=")?, number("height=")?])
}

fn attribute<'i>(image: &'i str, name: &str) -> Option<&'i str> {
    image.split_once(name)?.1.split('"').nth(1)
}

/// Draws an embedded PNG. `None` if it is none.
fn draw(image: &str, scale: f32, pixels: &mut tiny_skia::Pixmap) -> Option<()> {
    let [x, y, width, height] = placed(image)?;
    let png = attribute(image, "href=")?.strip_prefix("data:image/png;base64,")?;
    let png = base64::engine::general_purpose::STANDARD.decode(png).ok()?;
    let own = tiny_skia::Pixmap::decode_png(&png).ok()?;
    let place = tiny_skia::Transform::from_scale(width / own.width() as f32, height / own.height() as f32)
        .post_translate(x, y)
        .post_scale(scale, scale);
    let paint = tiny_skia::PixmapPaint { quality: tiny_skia::FilterQuality::Bilinear, ..Default::default() };
    pixels.draw_pixmap(0, 0, own.as_ref(), &paint, place, None);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of unassigned planes, and a crab that only colour fonts have.
    #[test]
    fn letters_that_no_font_has_are_told() {
        let of = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90\" height=\"20\">\
                 <g><text x=\"0\" y=\"10\" font-size=\"9\">{text}</text></g></svg>"
            );
            undrawn(&svg)
        };
        assert_eq!(of("Ærø é Ж β ∞"), []);
        assert_eq!(of("a\u{e1234} b\u{e1234}\u{1f980} c"), ['\u{1f980}', '\u{e1234}']);
    }
}
