"""Rich output of a cell's own. Expected are the MIME types of IPython.display's classes, and the data that went in."""

import base64

import pytest

# The smallest PNG: one transparent pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'><rect width='4' height='4'/></svg>"


@pytest.mark.parametrize(
    "call, mime, data",
    [
        ('show_html("<b>x</b>");', "text/html", "<b>x</b>"),
        ('show_html(String::from("<i>") + "y</i>");', "text/html", "<i>y</i>"),
        ('show_markdown("**x**");', "text/markdown", "**x**"),
        ('show_latex(r"$\\sqrt{x}$");', "text/latex", r"$\sqrt{x}$"),
        (f'show_svg("{SVG}");', "image/svg+xml", SVG),
    ],
)
def test_each_function_shows_its_type(kernel, call, mime, data):
    ran = kernel.ok(call)
    assert [bundle[mime] for bundle in ran.bundles] == [data]
    assert ran.result is None and ran.bundles[0]["text/plain"]


def test_a_png_travels_as_base64(kernel):
    raw = ", ".join(str(byte) for byte in base64.b64decode(PNG))
    ran = kernel.ok(f"let png: Vec<u8> = vec![{raw}];\nshow_png(&png);")
    # A front end may break the lines of base64: Jupyter's own kernel does.
    assert ran.bundles[0]["image/png"].replace("\n", "") == PNG
    failed = kernel.run('show_png("photo.png")')
    assert "not the text" in failed.error_text and "photo.png" in failed.error_text
    assert "std::fs::read" in failed.error_text


def test_several_values_are_several_outputs(kernel):
    ran = kernel.ok('show!(1, "a"); show!(vec![2]);')
    assert [bundle["text/plain"] for bundle in ran.bundles] == ["1", '"a"', "[2]"]
    assert ran.result is None


def test_a_type_has_a_form_of_its_own(kernel):
    kernel.ok(
        """struct Colour(u8, u8, u8);
impl RichDisplay for Colour {
    fn mime_bundle(&self) -> MimeBundle {
        let Colour(r, g, b) = self;
        MimeBundle::new().html(format!("<i style='color:rgb({r},{g},{b})'>x</i>")).text(format!("#{r:02x}{g:02x}{b:02x}"))
    }
}"""
    )
    for cell in ["Colour(200, 80, 40)", "&Colour(200, 80, 40)", "Box::new(Colour(200, 80, 40))"]:
        ran = kernel.ok(cell)
        assert ran.result == "#c85028"
        assert ran.bundles[0]["text/html"] == "<i style='color:rgb(200,80,40)'>x</i>"
    ran = kernel.ok("show!(Colour(0, 0, 0), 1);")
    assert [bundle["text/plain"] for bundle in ran.bundles] == ["#000000", "1"]
    ran = kernel.ok('MimeBundle::new().data("application/json", r#"{"a": [1]}"#)')
    assert ran.bundles[0]["application/json"] == {"a": [1]}


def test_help_knows_the_functions(kernel):
    for name in ["show_html", "show_svg", "show_png", "show_markdown", "show_latex"]:
        assert "IPython.display" in kernel.ok(f":help {name}").stdout
    assert "show_html" in kernel.ok(":help").stdout
