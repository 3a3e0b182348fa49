//! Rich output that a cell makes itself: HTML, Markdown, LaTeX, SVG and PNG, as of `IPython.display`, and the trait of
//! types that are shown so. Tables, plots and controls have their forms elsewhere.

use std::fmt::Display as Text;

use onrush_wire::display::{Content, Display};
use onrush_wire::{Class, Diagnostic};

use crate::process;
use crate::raise::{here, raise};

/// Forms of one output by MIME type. A front end shows the richest form that it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MimeBundle {
    /// MIME type and data. Binary data is base64.
    forms: Vec<(String, String)>,
}

/// A type that has rich output: as the last expression of a cell, and in `show!`. As IPython's `_repr_mimebundle_`.
///
/// ```text
/// struct Colour(u8, u8, u8);
/// impl RichDisplay for Colour {
///     fn mime_bundle(&self) -> MimeBundle {
///         let Colour(r, g, b) = self;
///         MimeBundle::new().html(format!("<div style='background:rgb({r},{g},{b})'>&nbsp;</div>"))
///     }
/// }
/// ```
pub trait RichDisplay {
    /// The forms of the output.
    fn mime_bundle(&self) -> MimeBundle;
}

impl<T: RichDisplay + ?Sized> RichDisplay for &T {
    fn mime_bundle(&self) -> MimeBundle {
        (**self).mime_bundle()
    }
}

impl<T: RichDisplay + ?Sized> RichDisplay for &mut T {
    fn mime_bundle(&self) -> MimeBundle {
        (**self).mime_bundle()
    }
}

impl<T: RichDisplay + ?Sized> RichDisplay for Box<T> {
    fn mime_bundle(&self) -> MimeBundle {
        (**self).mime_bundle()
    }
}

impl MimeBundle {
    /// An output without forms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds plain text, for terminals. Without it the text of another form stands there.
    #[must_use]
    pub fn text(self, text: impl Text) -> Self {
        self.data("text/plain", text)
    }

    /// Adds HTML.
    #[must_use]
    pub fn html(self, html: impl Text) -> Self {
        self.data("text/html", html)
    }

    /// Adds Markdown.
    #[must_use]
    pub fn markdown(self, markdown: impl Text) -> Self {
        self.data("text/markdown", markdown)
    }

    /// Adds LaTeX, with its delimiters: `$…$`, `$$…$$` or an environment.
    #[must_use]
    pub fn latex(self, latex: impl Text) -> Self {
        self.data("text/latex", latex)
    }

    /// Adds an SVG picture. Text without an `<svg` element ends the cell with an error.
    #[must_use]
    #[track_caller]
    pub fn svg(self, svg: impl Text) -> Self {
        let svg = svg.to_string();
        if !svg.contains("<svg") {
            let message = format!("`svg` takes the text of an SVG picture, not {}", told(svg.as_bytes()));
            let error = Diagnostic::error(Class::Data, "svg", message).at(here("svg"), "");
            raise(error.help("`std::fs::read_to_string(path)?` reads the text of a file"));
        }
        self.data("image/svg+xml", svg)
    }

    /// Adds a PNG picture, as the bytes of its file. Other bytes end the cell with an error.
    #[must_use]
    #[track_caller]
    pub fn png(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        if !bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            let message = format!("`png` takes the bytes of a PNG file, not {}", told(bytes));
            let help = match bytes.starts_with(b"\xff\xd8\xff") {
                true => "these are the bytes of a JPEG file: `MimeBundle::new().bytes(\"image/jpeg\", bytes)`",
                false => "`std::fs::read(path)?` reads the bytes of a file",
            };
            raise(Diagnostic::error(Class::Data, "png", message).at(here("png"), "").help(help));
        }
        self.bytes("image/png", bytes)
    }

    /// Adds binary data of any MIME type, such as `image/jpeg`.
    #[must_use]
    pub fn bytes(self, mime: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.data(mime, base64(bytes.as_ref()))
    }

    /// Adds data of any MIME type, in place of the data that the type had: text, JSON for JSON types, base64 for binary
    /// types.
    #[must_use]
    pub fn data(mut self, mime: &str, data: impl Text) -> Self {
        self.forms.retain(|(known, _)| known != mime);
        self.forms.push((mime.to_string(), data.to_string()));
        self
    }

    /// Shows the output in the middle of a cell.
    pub fn show(&self) {
        process::display(Display { content: self.as_content(), display_id: None, update: false, is_result: false });
    }

    pub(crate) fn as_content(&self) -> Content {
        let mut forms = self.forms.clone();
        let has = |mime: &str| forms.iter().any(|(known, _)| known == mime);
        if !has("text/plain") && !forms.is_empty() {
            let of = |mime: &str| forms.iter().find(|(known, _)| known == mime).map(|(_, data)| data.clone());
            let text = of("text/markdown").or_else(|| of("text/latex")).or_else(|| of("text/html"));
            let names = || format!("[{}]", forms.iter().map(|(mime, _)| mime.as_str()).collect::<Vec<_>>().join(", "));
            let text = text.unwrap_or_else(names);
            forms.push(("text/plain".to_string(), text));
        }
        Content::Mime(forms)
    }
}

/// Shows HTML in the middle of a cell, as `IPython.display.HTML` does.
pub fn show_html(html: impl Text) {
    MimeBundle::new().html(html).show();
}

/// Shows Markdown in the middle of a cell, as `IPython.display.Markdown` does.
pub fn show_markdown(markdown: impl Text) {
    MimeBundle::new().markdown(markdown).show();
}

/// Shows LaTeX in the middle of a cell, as `IPython.display.Latex` does, with its delimiters: `show_latex("$x^2$")`.
pub fn show_latex(latex: impl Text) {
    MimeBundle::new().latex(latex).show();
}

/// Shows an SVG picture in the middle of a cell, from its text, as `IPython.display.SVG` does.
#[track_caller]
pub fn show_svg(svg: impl Text) {
    MimeBundle::new().svg(svg).show();
}

/// Shows a PNG picture in the middle of a cell, from the bytes of its file, as `IPython.display.Image` does.
#[track_caller]
pub fn show_png(bytes: impl AsRef<[u8]>) {
    MimeBundle::new().png(bytes).show();
}

/// Bytes for a message: text as it is, if it is short.
fn told(bytes: &[u8]) -> String {
    const SHORT: usize = 60;
    match std::str::from_utf8(bytes) {
        _ if bytes.is_empty() => "an empty one".to_string(),
        Ok(text) if text.len() <= SHORT => format!("the text {text:?}"),
        Ok(_) => format!("a text of {} bytes", bytes.len()),
        Err(_) => format!("{} bytes that begin with {:02x?}", bytes.len(), &bytes[..bytes.len().min(4)]),
    }
}

/// Base64 with padding, as of RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * at) & 63) as usize];
            out.push(if at > three.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // The vectors of RFC 4648, section 10, and bytes whose base64 has `+` and `/` (coreutils' `base64`).
    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"fooba", "Zm9vYmE="),
            (b"foobar", "Zm9vYmFy"),
            (b"\xfb\xff\xfe", "+//+"),
        ] {
            assert_eq!(base64(bytes), text);
        }
    }

    #[test]
    fn an_output_has_a_plain_form() {
        let forms = |bundle: MimeBundle| match bundle.as_content() {
            Content::Mime(forms) => forms,
            other => panic!("{other:?}"),
        };
        let pair = |mime: &str, data: &str| (mime.to_string(), data.to_string());
        let made = forms(MimeBundle::new().html("<b>x</b>").markdown("**x**"));
        assert_eq!(made, [pair("text/html", "<b>x</b>"), pair("text/markdown", "**x**"), pair("text/plain", "**x**")]);
        assert_eq!(forms(MimeBundle::new().text("x").html("y").text("z"))[1], pair("text/plain", "z"));
        let png = forms(MimeBundle::new().png(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(png, [pair("image/png", "iVBORw0KGgo="), pair("text/plain", "[image/png]")]);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let error = crate::raise::attempt(|| show_png("plot.png")).unwrap_err();
        assert_eq!(error.message, "`png` takes the bytes of a PNG file, not the text \"plot.png\"");
        let error = crate::raise::attempt(|| show_png([0xff, 0xd8, 0xff, 0xe0, 0])).unwrap_err();
        assert!(error.help[0].contains("image/jpeg"), "{error}");
        let error = crate::raise::attempt(|| show_svg("chart.svg")).unwrap_err();
        assert!(error.message.contains("not the text \"chart.svg\""), "{error}");
    }
}
