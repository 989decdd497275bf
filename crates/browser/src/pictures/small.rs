//! Screenshots as small files: 256 colors are enough for a page of text.

use std::{collections::HashMap, io::Cursor};

use anyhow::{Context as _, ensure};
use color_quant::NeuQuant;

const MAX_PALETTE_COLORS: usize = 256;

/// One pixel in ten is sampled for the palette: screens repeat themselves.
const QUANTIZER_SAMPLE_FACTOR: i32 = 10;

/// Encodes the same picture with a palette.
pub fn encode_with_palette(whole: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut decoder = png::Decoder::new(Cursor::new(whole));
    decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("too large")?];
    let info = reader.next_frame(&mut pixels)?;
    ensure!(info.color_type == png::ColorType::Rgba, "a picture in {:?}", info.color_type);
    let (palette, indexes) = build_palette(&pixels);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, info.width, info.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indexes)?;
    writer.finish()?;
    Ok(file)
}

/// Returns a palette and the palette index of each pixel. The colors are exact if there are few, otherwise the nearest
/// of the best palette.
fn build_palette(pixels: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut known = HashMap::new();
    for pixel in pixels.chunks_exact(4) {
        let next = known.len();
        known.entry(pixel).or_insert(next);
        if known.len() > MAX_PALETTE_COLORS {
            let quantizer = NeuQuant::new(QUANTIZER_SAMPLE_FACTOR, MAX_PALETTE_COLORS, pixels);
            let mut nearest: HashMap<&[u8], u8> = HashMap::new();
            let index = |pixel| *nearest.entry(pixel).or_insert_with(|| palette_index(quantizer.index_of(pixel)));
            return (quantizer.color_map_rgb(), pixels.chunks_exact(4).map(index).collect());
        }
    }
    let mut palette = vec![0; known.len() * 3];
    for (pixel, index) in &known {
        for (to, from) in palette.iter_mut().skip(index * 3).zip(pixel.iter().take(3)) {
            *to = *from;
        }
    }
    let index = |pixel| palette_index(known.get(pixel).copied().unwrap_or_default());
    (palette, pixels.chunks_exact(4).map(index).collect())
}

fn palette_index(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
