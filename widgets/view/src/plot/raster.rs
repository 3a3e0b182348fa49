//! SVG to PNG. A machine may have no fonts at all, so a face of our own (DejaVu Sans) comes along and is the one used: the
//! same plot gives the same picture everywhere. Characters that it lacks are looked for among the machine's fonts.

use std::sync::{Arc, LazyLock};

use resvg::{tiny_skia, usvg};

/// The fonts that every picture uses. Reading the machine's takes a moment, so that it happens only where a text needs them.
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

/// Whether the face that comes along has all characters of a document.
pub fn own_suffices(svg: &str) -> bool {
    svg.chars().all(|c| (c as u32) < 0x0590 || matches!(c as u32, 0x1e00..=0x22ff))
}

/// A PNG of `scale` pixels for each pixel of the document.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    let options = usvg::Options {
        font_family: "DejaVu Sans".to_string(),
        fontdb: Arc::clone(if own_suffices(svg) { &OWN } else { &ALL }),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| format!("the plot's SVG is not valid: {e}"))?;
    let size = tree.size();
    let (width, height) = ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| format!("a picture of {width} × {height} pixels is too large"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| format!("the PNG could not be written: {e}"))
}
