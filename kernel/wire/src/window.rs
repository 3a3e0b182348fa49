//! A rectangle of the plane that a picture shows, for graphs, rasters and maps.

use serde::{Deserialize, Serialize};

/// A rectangle in the coordinates of the layout, with the y axis upwards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    pub x0: f64,
    pub y0: f64,
    pub x1: f64,
    pub y1: f64,
}

impl Window {
    /// The smallest window around this one in which pixels are squares, if it has this number of them in each
    /// direction.
    #[must_use]
    pub fn with_aspect(self, width: u32, height: u32) -> Window {
        let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
        let pixel = ((self.x1 - self.x0) / width).max((self.y1 - self.y0) / height);
        let around = |low: f64, high: f64, pixels: f64| {
            let (middle, half) = ((low + high) / 2.0, pixel * pixels / 2.0);
            (middle - half, middle + half)
        };
        let ((x0, x1), (y0, y1)) = (around(self.x0, self.x1, width), around(self.y0, self.y1, height));
        Window { x0, y0, x1, y1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_until_pixels_are_squares() {
        let window = Window { x0: 0.0, y0: 0.0, x1: 8.0, y1: 1.0 };
        assert_eq!(window.with_aspect(800, 600), Window { x0: 0.0, y0: -2.5, x1: 8.0, y1: 3.5 });
        assert_eq!(window.with_aspect(100, 1), Window { x0: -46.0, y0: 0.0, x1: 54.0, y1: 1.0 });
    }
}
