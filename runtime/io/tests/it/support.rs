//! A temporary folder of files for tests of readers and writers.

use arrow::util::display::{ArrayFormatter, FormatOptions};
use onrush_frame::{Table, TaskHandle, dtype_to_wire};
use onrush_io::{Content, FileCache, FileWriter};
use onrush_wire::Diagnostic;
use onrush_wire::plan::{Format, Sink, SinkFormat, Source};
use tempfile::TempDir;

pub struct Folder {
    pub dir: TempDir,
    cache: FileCache,
}

impl Folder {
    pub fn new() -> Self {
        Folder { dir: tempfile::tempdir().unwrap(), cache: FileCache::new(64 << 20) }
    }

    fn path(&self) -> String {
        self.dir.path().to_str().unwrap().to_string()
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path().join(name)).unwrap()
    }

    pub fn open(&self, path: &str, format: Format) -> Result<Table, Diagnostic> {
        let source = Source { path: path.to_string(), folder: self.path(), format, cluster: None };
        match self.cache.open(&source, &TaskHandle::new())?.content {
            Content::Memory(table) => Ok(table.as_ref().clone()),
            Content::Scan(_) => panic!("a small file is held"),
        }
    }

    pub fn write(&self, path: &str, format: SinkFormat, table: &Table) -> Result<u64, Diagnostic> {
        let sink = Sink { path: path.to_string(), folder: self.path(), format };
        let mut writer = FileWriter::create(&sink, table.schema())?;
        for batch in table.batches() {
            writer.write(batch, &TaskHandle::new())?;
        }
        writer.finish().map(|w| w.rows)
    }
}

/// Names and types, such as `a i64, b str`.
pub fn schema(table: &Table) -> String {
    let fields = table.schema().fields().iter().map(|f| format!("{} {}", f.name(), dtype_to_wire(f.data_type())));
    fields.collect::<Vec<_>>().join(", ")
}

/// The rows, one in each line, with `|` between values.
pub fn rows(table: &Table) -> String {
    let options = FormatOptions::default().with_null("null");
    let mut lines = Vec::new();
    for batch in table.batches() {
        let columns: Vec<ArrayFormatter<'_>> =
            batch.columns().iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            lines.push(columns.iter().map(|c| c.value(row).to_string()).collect::<Vec<_>>().join("|"));
        }
    }
    lines.join("\n")
}

pub fn assert_says(error: &Diagnostic, code: &str, parts: &[&str]) {
    assert_eq!(error.code, code, "{error}");
    let all = format!("{error}\n{}\n{}", error.notes.join("\n"), error.help.join("\n"));
    for part in parts {
        assert!(all.contains(part), "no `{part}` in: {all}");
    }
}
