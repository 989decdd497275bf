//! The style of terminal output: SGR sequences as classes.

use vte::Params;

use super::colour::{of_256, of_rgb};

/// Colors and font weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TerminalStyle {
    /// One of the 16 colors.
    text: Option<u8>,
    background: Option<u8>,
    /// A bit set; the bits are in the order of [`WEIGHTS`].
    weights: u8,
}

/// SGR parameters that turn on a weight, and the class.
const STYLE_CLASSES: &[(u16, &str)] =
    &[(1, "a-bold"), (2, "a-dim"), (3, "a-italic"), (4, "a-underline"), (7, "a-inverse")];

impl TerminalStyle {
    /// Returns the classes, if there are any.
    pub(super) fn classes(self) -> Option<String> {
        let mut classes = Vec::new();
        classes.extend(self.text.map(|colour| format!("a-{colour}")));
        classes.extend(self.background.map(|colour| format!("b-{colour}")));
        for (bit, (_, class)) in STYLE_CLASSES.iter().enumerate() {
            if self.weights & 1 << bit != 0 {
                classes.push((*class).to_owned());
            }
        }
        (!classes.is_empty()).then(|| classes.join(" "))
    }

    /// Applies an SGR sequence.
    pub(super) fn set(&mut self, params: &Params) {
        let mut params = params.iter();
        while let Some(param) = params.next() {
            match param {
                // A color is one parameter (`38:2::255:0:0`) or several (`38;2;255;0;0`).
                [38, rest @ ..] if !rest.is_empty() => self.text = colour(rest),
                [48, rest @ ..] if !rest.is_empty() => self.background = colour(rest),
                [38] => self.text = following(&mut params),
                [48] => self.background = following(&mut params),
                [4, 0] => self.turn(4, false),
                [single, ..] => self.single(*single),
                [] => {}
            }
        }
    }

    fn single(&mut self, param: u16) {
        let of_eight = |base: u16| u8::try_from(param - base).ok();
        match param {
            0 => *self = Self::default(),
            1 | 2 | 3 | 4 | 7 => self.turn(param, true),
            21 => self.turn(4, true),
            22 => [1, 2].into_iter().for_each(|weight| self.turn(weight, false)),
            23 | 24 | 27 => self.turn(param - 20, false),
            30..=37 => self.text = of_eight(30),
            39 => self.text = None,
            40..=47 => self.background = of_eight(40),
            49 => self.background = None,
            90..=97 => self.text = of_eight(82),
            100..=107 => self.background = of_eight(92),
            _ => {}
        }
    }

    fn turn(&mut self, weight: u16, on: bool) {
        let Some(bit) = STYLE_CLASSES.iter().position(|(param, _)| *param == weight) else { return };
        if on { self.weights |= 1 << bit } else { self.weights &= !(1 << bit) }
    }
}

/// Parses the color `5:n`, `2:r:g:b` or `2:space:r:g:b`.
fn colour(params: &[u16]) -> Option<u8> {
    match params {
        [5, index, ..] => of_256(*index),
        [2, r, g, b] | [2, _, r, g, b, ..] => of_rgb([*r, *g, *b]),
        _ => None,
    }
}

/// Parses a color from the following parameters.
fn following<'a>(params: &mut impl Iterator<Item = &'a [u16]>) -> Option<u8> {
    let mut next = || params.next().and_then(|param| param.first()).copied();
    match next()? {
        5 => of_256(next()?),
        2 => of_rgb([next()?, next()?, next()?]),
        _ => None,
    }
}
