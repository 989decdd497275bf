//! Maps terminal colors to the nearest of the 16 colors of the page, which are legible in light and dark mode.

/// The 16 ANSI colors as terminals show them.
const ANSI_COLORS: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// Returns the nearest color for one of the 256 colors: 16 base colors, a cube with six steps, grays.
pub(super) fn of_256(index: u16) -> Option<u8> {
    let index = u8::try_from(index).ok()?;
    let step = |level: u8| u16::from(level) * 40 + if level > 0 { 55 } else { 0 };
    match index {
        0..16 => Some(index),
        16..232 => {
            let cube = index - 16;
            of_rgb([step(cube / 36), step(cube / 6 % 6), step(cube % 6)])
        }
        232.. => of_rgb([8 + 10 * u16::from(index - 232); 3]),
    }
}

/// Returns the nearest color for an RGB color.
pub(super) fn of_rgb(colour: [u16; 3]) -> Option<u8> {
    let distance = |known: &[u8; 3]| -> u32 {
        let apart = known.iter().zip(colour).map(|(known, c)| u16::from(*known).abs_diff(c.min(255)));
        apart.map(|apart| u32::from(apart).pow(2)).sum()
    };
    let found = ANSI_COLORS.iter().enumerate().min_by_key(|(_, known)| distance(known))?;
    u8::try_from(found.0).ok()
}
#[cfg(test)]
mod tests {
    use super::{of_256, of_rgb};

    #[test]
    fn colours_have_a_nearest() {
        assert_eq!([of_256(9), of_256(196), of_256(232), of_256(255)], [Some(9), Some(9), Some(0), Some(7)]);
        assert_eq!([of_rgb([250, 5, 3]), of_rgb([60_000, 60_000, 0])], [Some(9), Some(11)]);
        assert_eq!(of_256(256), None);
    }
}
