//! The SVG that plotters draws on. Its own backend rounds to whole pixels, gives every point an element and cannot turn
//! text by any angle. This one has sixteenths of a pixel, and writes a title and a description for screen readers. It
//! joins equal points into one path: 5 000 points are 60 kB instead of 600. Knows nothing of charts.

use std::convert::Infallible;
use std::fmt::Write as _;

use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

use crate::html::escape;

/// Backend units in a pixel.
pub const UNIT: f64 = 16.0;

/// An SVG under construction. The drawing interface takes backend units ([`UNIT`]), the methods take pixels.
pub struct Canvas {
    width: u32,
    height: u32,
    out: String,
    /// Filled circles of one colour and radius that wait to be joined into one path. Their opacity does not add up
    /// where they overlap; `present` ends a path, so that the next one is drawn over it.
    points: Option<(String, u32, String)>,
    dashes: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Layout of a piece of text. `angle` is in degrees, clockwise, around its anchor.
#[derive(Clone, Copy)]
pub struct TextLook {
    pub size: f64,
    pub color: RGBColor,
    pub anchor: Anchor,
    pub angle: f64,
    pub bold: bool,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Canvas {
    pub fn new(width: u32, height: u32) -> Self {
        Canvas { width, height, out: String::new(), points: None, dashes: None }
    }

    /// The whole document; `label` is the text for screen readers.
    pub fn finish(&mut self, title: &str, label: &str) -> String {
        self.flush();
        let (w, h) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{label}\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n\
             <title>{title}</title>\n<desc>{label}</desc>\n{}</svg>\n",
            self.out,
            title = escape(title),
            label = escape(label),
        )
    }

    /// Elements drawn until [`Canvas::close`] form a group with this class.
    pub fn open(&mut self, class: &str) {
        self.flush();
        let _ = writeln!(self.out, "<g class=\"{}\">", escape(class));
    }

    /// Elements drawn until [`Canvas::close`] form a group of which only the part in a rectangle is shown: left, top,
    /// right, bottom.
    pub fn open_clipped(&mut self, class: &str, [left, top, right, bottom]: [f64; 4]) {
        self.flush();
        let [x, y, width, height] = [left, top, right - left, bottom - top].map(round);
        // The same id in another picture of a page is the same rectangle.
        let id = format!("clip-{x}-{y}-{width}-{height}").replace('.', "_");
        let _ = writeln!(
            self.out,
            "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>\n\
             <g class=\"{}\" clip-path=\"url(#{id})\">",
            escape(class)
        );
    }

    pub fn close(&mut self) {
        self.flush();
        self.out.push_str("</g>\n");
    }

    /// Makes the following lines dashed (`stroke-dasharray`), or solid again.
    pub fn dash(&mut self, dashes: Option<&'static str>) {
        self.flush();
        self.dashes = dashes;
    }

    /// Straight lines as one path, so that the opacity does not add up where they cross.
    pub fn lines(&mut self, ends: &[[f64; 4]], color: RGBColor, opacity: f64, width: f64) {
        self.flush();
        let mut path = String::new();
        for [x0, y0, x1, y1] in ends {
            let _ = write!(path, "M{} {}L{} {}", round(*x0), round(*y0), round(*x1), round(*y1));
        }
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"none\" stroke={} stroke-width=\"{}\"/>",
            of_color(color, opacity, "stroke-opacity"),
            round(width)
        );
    }

    /// Filled triangles as one path.
    pub fn triangles(&mut self, corners: &[[(f64, f64); 3]], color: RGBColor, opacity: f64) {
        self.flush();
        let mut path = String::new();
        for [a, b, c] in corners {
            let [a, b, c] = [a, b, c].map(|(x, y)| format!("{} {}", round(*x), round(*y)));
            let _ = write!(path, "M{a}L{b}L{c}Z");
        }
        let _ = writeln!(self.out, "<path d=\"{path}\" fill={}/>", of_color(color, opacity, "fill-opacity"));
    }

    /// Polygons as one path, with holes by the even-odd rule, and a text that browsers show when the pointer rests on
    /// it.
    pub fn rings(&mut self, rings: &[Vec<(f64, f64)>], color: RGBColor, opacity: f64, title: Option<&str>) {
        self.flush();
        let path: String = rings.iter().map(|ring| outline(ring) + "z").collect();
        let fill = of_color(color, opacity, "fill-opacity");
        let _ = write!(self.out, "<path d=\"{path}\" fill={fill} fill-rule=\"evenodd\"");
        let _ = match title {
            Some(title) => writeln!(self.out, "><title>{}</title></path>", escape(title)),
            None => writeln!(self.out, "/>"),
        };
    }

    /// Lines as one path.
    pub fn paths(&mut self, paths: &[Vec<(f64, f64)>], color: RGBColor, opacity: f64, width: f64) {
        self.flush();
        let path: String = paths.iter().map(|points| outline(points)).collect();
        let stroke = of_color(color, opacity, "stroke-opacity");
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"none\" stroke={stroke} stroke-width=\"{}\" stroke-linejoin=\"round\"/>",
            round(width)
        );
    }

    /// An empty circle.
    pub fn ring(&mut self, (x, y): (f64, f64), radius: f64, color: RGBColor, opacity: f64, width: f64) {
        self.flush();
        let _ = writeln!(
            self.out,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke={} stroke-width=\"{}\"/>",
            round(x),
            round(y),
            round(radius),
            of_color(color, opacity, "stroke-opacity"),
            round(width)
        );
    }

    /// A filled circle with an outline, and a text that browsers show when the pointer rests on it.
    pub fn disc(&mut self, (x, y): (f64, f64), radius: f64, fill: RGBColor, outline: RGBColor, title: Option<&str>) {
        self.flush();
        let _ = write!(
            self.out,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill={} stroke={}",
            round(x),
            round(y),
            round(radius),
            of_color(fill, 1.0, ""),
            of_color(outline, 1.0, ""),
        );
        let _ = match title {
            Some(title) => writeln!(self.out, "><title>{}</title></circle>", escape(title)),
            None => writeln!(self.out, "/>"),
        };
    }

    /// An embedded PNG.
    pub fn image(&mut self, png: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.flush();
        let [x, y, width, height] = [x, y, width, height].map(round);
        let _ = writeln!(
            self.out,
            "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{png}\"/>"
        );
    }

    /// Text with an outline around its letters, for a place where other things are below.
    pub fn outlined_text(&mut self, text: &str, x: f64, y: f64, look: TextLook, outline: RGBColor) {
        self.flush();
        let _ = writeln!(
            self.out,
            "<g stroke={} stroke-width=\"2.5\" stroke-linejoin=\"round\" paint-order=\"stroke\">",
            of_color(outline, 0.8, "stroke-opacity")
        );
        self.text(text, x, y, look);
        self.close();
    }

    /// Text whose baseline is at `y`.
    pub fn text(&mut self, text: &str, x: f64, y: f64, look: TextLook) {
        self.flush();
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (round(x), round(y));
        let angle = if look.angle == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {x} {y})\"", round(look.angle))
        };
        let weight = if look.bold { " font-weight=\"600\"" } else { "" };
        let RGBColor(r, g, b) = look.color;
        let _ = writeln!(
            self.out,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"#{r:02x}{g:02x}{b:02x}\"{anchor}{weight}{angle}>{}</text>",
            round(look.size),
            escape(text)
        );
    }

    fn flush(&mut self) {
        if let Some((color, radius, path)) = self.points.take() {
            let _ = writeln!(
                self.out,
                "<path d=\"{path}\" fill=\"none\" stroke={color} stroke-width=\"{}\" stroke-linecap=\"round\"/>",
                pixels(2 * radius as i32)
            );
        }
    }

    fn stroke<S: BackendStyle>(&self, style: &S) -> String {
        let dashes = self.dashes.map_or(String::new(), |d| format!(" stroke-dasharray=\"{d}\""));
        format!(
            "fill=\"none\" stroke={} stroke-width=\"{}\" stroke-linejoin=\"round\" stroke-linecap=\"round\"{dashes}",
            color(style.color(), "stroke-opacity"),
            pixels(style.stroke_width() as i32)
        )
    }
}

/// Backend units as pixels, without needless digits.
fn pixels(units: i32) -> String {
    round(f64::from(units) / UNIT)
}

fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_string() }
}

/// A colour as a quoted attribute value, with its opacity as another attribute.
fn color(color: BackendColor, opacity: &str) -> String {
    let (r, g, b) = color.rgb;
    if color.alpha >= 1.0 {
        format!("\"#{r:02x}{g:02x}{b:02x}\"")
    } else {
        format!("\"#{r:02x}{g:02x}{b:02x}\" {opacity}=\"{}\"", round(color.alpha))
    }
}

fn of_color(RGBColor(r, g, b): RGBColor, alpha: f64, opacity: &str) -> String {
    color(BackendColor { alpha, rgb: (r, g, b) }, opacity)
}

fn path(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut out = String::new();
    for (i, (x, y)) in points.into_iter().enumerate() {
        let _ = write!(out, "{}{} {}", if i == 0 { "M" } else { "L" }, pixels(x), pixels(y));
    }
    out
}

/// A path by differences of tenths of a pixel. Equal points are one.
fn outline(points: &[(f64, f64)]) -> String {
    let tenths = |(x, y): &(f64, f64)| ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
    let text = |tenths: i64| round(tenths as f64 / 10.0);
    let mut out = String::new();
    let mut before = None;
    for at in points.iter().map(tenths) {
        let _ = match before {
            Some(before) if before == at => Ok(()),
            Some((x, y)) => write!(out, "l{} {}", text(at.0 - x), text(at.1 - y)),
            None => write!(out, "M{} {}", text(at.0), text(at.1)),
        };
        before = Some(at);
    }
    out
}

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        ((f64::from(self.width) * UNIT) as u32, (f64::from(self.height) * UNIT) as u32)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        self.flush();
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect(point, (point.0 + 1, point.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, fill: bool) -> Drawn {
        self.flush();
        let (x0, x1) = (a.0.min(b.0), a.0.max(b.0));
        let (y0, y1) = (a.1.min(b.1), a.1.max(b.1));
        let paint = if fill { format!("fill={}", color(style.color(), "fill-opacity")) } else { self.stroke(style) };
        let _ = writeln!(
            self.out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {paint}/>",
            pixels(x0),
            pixels(y0),
            pixels(x1 - x0),
            pixels(y1 - y0)
        );
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Drawn {
        self.flush();
        let stroke = self.stroke(style);
        let _ = writeln!(self.out, "<path d=\"{}\" {stroke}/>", path(points));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, center: BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        if !fill {
            self.flush();
            let (x, y, r) = (pixels(center.0), pixels(center.1), pixels(radius as i32));
            let stroke = self.stroke(style);
            let _ = writeln!(self.out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {stroke}/>");
            return Ok(());
        }
        let paint = color(style.color(), "stroke-opacity");
        if !matches!(&self.points, Some((c, r, _)) if *c == paint && *r == radius) {
            self.flush();
            self.points = Some((paint, radius, String::new()));
        }
        if let Some((_, _, path)) = &mut self.points {
            let _ = write!(path, "M{} {}h0", pixels(center.0), pixels(center.1));
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Drawn {
        self.flush();
        let _ = writeln!(self.out, "<path d=\"{}Z\" fill={}/>", path(points), color(style.color(), "fill-opacity"));
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, at: BackendCoord) -> Drawn {
        let size = style.size() / UNIT;
        let (r, g, b) = style.color().rgb;
        let anchor = match style.anchor().h_pos {
            HPos::Left => Anchor::Start,
            HPos::Center => Anchor::Middle,
            HPos::Right => Anchor::End,
        };
        let angle = match style.transform() {
            FontTransform::None => 0.0,
            FontTransform::Rotate90 => 90.0,
            FontTransform::Rotate180 => 180.0,
            FontTransform::Rotate270 => 270.0,
        };
        // The baseline, from the ascent of the font.
        let down = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.35,
            VPos::Bottom => -0.2,
        };
        let look = TextLook { size, color: RGBColor(r, g, b), anchor, angle, bold: false };
        self.text(text, f64::from(at.0) / UNIT, f64::from(at.1) / UNIT + down * size, look);
        Ok(())
    }
}
