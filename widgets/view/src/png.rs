//! Pixels as PNG files.

use ::png::{AdaptiveFilterType, BitDepth, ColorType, Compression, Encoder, EncodingError};
use resvg::tiny_skia::Pixmap;

/// A PNG of the pixels: rows are filtered before they are compressed, which makes drawings half as large.
pub fn encode(pixels: &Pixmap) -> Result<Vec<u8>, EncodingError> {
    let straight = pixels.pixels().iter().flat_map(|pixel| {
        let color = pixel.demultiply();
        [color.red(), color.green(), color.blue(), color.alpha()]
    });
    let straight: Vec<u8> = straight.collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Default);
    encoder.set_adaptive_filter(AdaptiveFilterType::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&straight)?;
    writer.finish()?;
    Ok(file)
}
