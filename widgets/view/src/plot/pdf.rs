//! SVG to PDF: lines stay lines, and text stays text if its font can be embedded (see `png.rs`).

use std::sync::Arc;

use svg2pdf::usvg;

/// A document of one page, as large as the plot: a pixel is 1/96 inch.
pub fn pdf(svg: &str) -> Result<Vec<u8>, String> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    if !super::png::own_suffices(svg) {
        fonts.load_system_fonts();
    }
    fonts.set_sans_serif_family("DejaVu Sans");
    let options =
        usvg::Options { font_family: "DejaVu Sans".to_string(), fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| format!("the plot's SVG is not valid: {e}"))?;
    let made = |embed_text| {
        let options = svg2pdf::ConversionOptions { embed_text, ..svg2pdf::ConversionOptions::default() };
        svg2pdf::to_pdf(&tree, options, svg2pdf::PageOptions { dpi: 96.0 })
    };
    // Some fonts of a machine cannot be embedded: then letters become paths.
    let (as_text, as_lines) = (true, false);
    made(as_text).or_else(|_| made(as_lines)).map_err(|e| format!("the PDF could not be made: {e}"))
}
