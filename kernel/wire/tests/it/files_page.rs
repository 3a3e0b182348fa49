//! The table of file formats in `docs/files.md`, written from [`FORMATS`].

use std::fmt::Write;
use std::path::Path;

use onrush_wire::plan::{FORMATS, FormatInfo};

const HEAD: &str = "| format | extensions | read | write | compression that is written |\n|---|---|---|---|---|\n";
const ANY: &str = "| any | as below | `read` | `f.write` | |\n";

fn row(info: &FormatInfo) -> String {
    let listed = |items: Vec<String>| items.join(", ");
    let named = |before: &str, names: &[&str], options: &str| {
        let mut all: Vec<String> = names.iter().map(|name| format!("`{before}{name}`")).collect();
        all.extend((!options.is_empty()).then(|| format!("`{before}{options}()`")));
        listed(all)
    };
    let extensions = info.extensions.iter().chain(info.more_extensions);
    let extensions = listed(extensions.map(|extension| format!("`.{extension}`")).collect());
    let mut writers = named("f.", info.writers, info.writer_options);
    if let ([one], true) = (info.written, info.extensions.len() > 1) {
        let _ = write!(writers, " (`.{one}`)");
    }
    let readers = named("", info.readers, info.reader_options);
    let cells = [info.title, &extensions, &readers, &writers, info.compressions];
    cells.iter().fold("|".to_string(), |row, cell| format!("{row} {cell}{}|", if cell.is_empty() { "" } else { " " }))
        + "\n"
}

#[test]
fn the_table_of_the_files_page_is_that_of_the_formats() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/files.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let start = page.find(HEAD).unwrap();
    // The rows of databases and graphs are by hand.
    let end = start + page[start..].find("| SQLite,").unwrap();
    let table = FORMATS.iter().fold(format!("{HEAD}{ANY}"), |table, info| table + &row(info));
    let expected = format!("{}{table}{}", &page[..start], &page[end..]);
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(page == expected, "docs/files.md has another table: ONRUSH_WRITE=1 writes it");
    }
}
