//! Mutations of small valid files of every format: bytes set, bits flipped, pieces inserted, repeated, left out and cut
//! off. Each file is read within its limit of memory and of time, and gives valid rows or an error that names it.
//!
//! The files are the same in every run. `ONRUSH_MUTATIONS=100000` makes so many of each, and `ONRUSH_MUTATE=orc` only
//! those of names with that part. A process that ends leaves the file that it read in `/dev/shm/onrush-mutations`.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use onrush_frame::TaskHandle;
use onrush_io::{Content, FileCache, FrameWriter, Full, Memory};
use onrush_wire::plan::{CsvOptions, ExcelOptions, Format, ParquetOptions, Sink, SinkFormat, Source};
use onrush_wire::{Class, Diagnostic};

/// Mutations of each file in CI. More of them find Avro blocks that say fewer records than they have: arrow-avro 59.3
/// never ends on the bytes that are left.
const ROUNDS: usize = 120;
/// Bytes that readers may count for one file.
const LIMIT: u64 = 256 << 20;
/// Bytes that the process may have in memory at any time.
const RESIDENT: u64 = 1 << 30;
/// For one file: a valid one takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Knuth's linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The bytes that a reader takes, counted as the engine's pool does.
#[derive(Default)]
struct Limited(AtomicU64);

impl Memory for Limited {
    fn take(&self, bytes: u64) -> Result<(), Full> {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= LIMIT {
            return Ok(());
        }
        self.0.fetch_sub(bytes, Ordering::Relaxed);
        Err(Full { limit: LIMIT, free: LIMIT.saturating_sub(before) })
    }

    fn give_back(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Changes a file once.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let piece = |bytes: &[u8], random: &mut Random| {
        let from = random.below(bytes.len());
        let length = 1 + random.below(32);
        bytes[from..].iter().take(length).copied().collect::<Vec<u8>>()
    };
    match random.below(9) {
        0 => bytes[at] = random.of(&[0, 1, 0x7f, 0x80, 0xff]),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.of(b"\"',;\n\r\\{}[]<>-.e9 "),
        // A length of 2^31 or 2^63 or so, or a negative one.
        3 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0x7f),
        4 => bytes[at..].iter_mut().take(4).for_each(|byte| *byte = 0xff),
        5 => drop(bytes.splice(at..at, piece(bytes, random))),
        6 => {
            let noise: Vec<u8> = (0..1 + random.below(8)).map(|_| random.below(256) as u8).collect();
            drop(bytes.splice(at..at, noise));
        }
        7 => drop(bytes.drain(at..(at + 1 + random.below(16)).min(bytes.len()))),
        _ => bytes.truncate(at),
    }
    if bytes.is_empty() {
        bytes.push(0);
    }
}

/// Changes a part of a zip archive, whose checksum is right again.
fn mutate_inside(archive: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).ok()?;
    let chosen = random.below(archive.len());
    let mut out = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for number in 0..archive.len() {
        let mut entry = archive.by_index(number).ok()?;
        let (name, mut bytes) = (entry.name().ok()?.into_owned(), Vec::new());
        entry.read_to_end(&mut bytes).ok()?;
        if number == chosen {
            (0..1 + random.below(3)).for_each(|_| mutate(&mut bytes, random));
        }
        out.start_file(name, zip::write::SimpleFileOptions::default()).ok()?;
        out.write_all(&bytes).ok()?;
    }
    Some(out.finish().ok()?.into_inner())
}

fn rows() -> RecordBatch {
    let there = |row: i64| row % 5 != 3;
    let columns: [(&str, ArrayRef); 7] = [
        ("id", Arc::new((0..40).collect::<Int64Array>())),
        ("x", Arc::new((0..40).map(|r| there(r).then_some(r as f64 / 4.0)).collect::<Float64Array>())),
        ("name", Arc::new((0..40).map(|r| there(r).then(|| format!("é{}", r % 7))).collect::<StringArray>())),
        ("flag", Arc::new((0..40).map(|r| there(r).then_some(r % 3 == 0)).collect::<BooleanArray>())),
        ("day", Arc::new((0..40).map(|r| there(r).then_some(r as i32 * 300)).collect::<Date32Array>())),
        ("when", Arc::new((0..40).map(|r| there(r).then_some(r * 1_000_007)).collect::<TimestampMicrosecondArray>())),
        (
            "price",
            Arc::new(
                (0..40_i128)
                    .map(|r| Some(r * 25))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

/// Valid files: those of other libraries in `files`, files of the writers, and text.
fn seeds(folder: &Path) -> BTreeMap<String, (Vec<u8>, Format)> {
    let mut seeds = BTreeMap::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    for entry in std::fs::read_dir(&files).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Feather 1, which is refused.
        if name == "one.feather" {
            continue;
        }
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => Format::Parquet(ParquetOptions::default()),
            Some("feather" | "arrow" | "arrows") => Format::Ipc,
            Some("avro") => Format::Avro,
            Some("orc") => Format::Orc,
            Some("xlsx" | "xls" | "ods") => Format::Excel(ExcelOptions::default()),
            _ => continue,
        };
        seeds.insert(name, (std::fs::read(path).unwrap(), format));
    }
    let parquet =
        |compression: &str| SinkFormat::Parquet { compression: compression.to_string(), row_group_rows: Some(16) };
    let batch = rows();
    for (name, format) in [("none.parquet", parquet("none")), ("zstd.parquet", parquet("zstd"))] {
        let sink = Sink { path: name.to_string(), folder: folder.to_string_lossy().into_owned(), format };
        let mut writer = FrameWriter::create(&sink, &batch.schema()).unwrap();
        writer.write(&batch, &TaskHandle::new()).unwrap();
        writer.finish(&TaskHandle::new()).unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        seeds.insert(name.to_string(), (bytes, Format::Parquet(ParquetOptions::default())));
    }
    let csv = "id,x,name,day\n1,1.5,\"a, \"\"b\"\"\",2026-01-05\n2,,é,2026-01-05T10:20:30.5+01:00\n-3,1e300,\"two\nlines\",\n";
    let lines = "{\"a\": 1, \"b\": [{\"c\": null}], \"s\": \"\\u00e9\\n\"}\n{\"a\": 2.5e3, \"b\": [], \"t\": true}\n";
    let array =
        "[{\"a\": 1, \"b\": {\"c\": \"x\", \"d\": [1, 2]}},\n {\"a\": null, \"b\": {\"c\": \"\\ud83d\\ude00\"}}]\n";
    for (name, text, format) in [
        ("a.csv", csv, Format::Csv(CsvOptions::default())),
        ("a.jsonl", lines, Format::JsonLines),
        ("a.json", array, Format::JsonLines),
        ("at.json", "{\"data\": {\"rows\": [{\"a\": 1}, {\"a\": null}]}}", Format::JsonAt("data.rows".to_string())),
    ] {
        seeds.insert(name.to_string(), (text.as_bytes().to_vec(), format));
    }
    seeds
}

/// Reads a file; its arrays are those that their types allow.
fn read(name: &str, folder: &Path, format: Format) -> Result<(), Diagnostic> {
    let folder = folder.to_string_lossy().into_owned();
    let source = Source { path: name.to_string(), folder, format, cluster: None };
    let (loaded, _) = FileCache::new(64 << 20).open_marked(&source, None, &Limited::default(), &TaskHandle::new())?;
    if let Content::Memory(table) = loaded.content {
        for batch in table.batches() {
            for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
                assert_eq!(column.data_type(), field.data_type(), "{name}");
                column.to_data().validate_full().unwrap_or_else(|e| panic!("{name}: column `{}`: {e}", field.name()));
            }
        }
    }
    Ok(())
}

/// The most that the process had in memory so far.
fn most_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    folder.join(format!("onrush-mutations-{}", std::process::id()))
}

/// Bytes of address space for the process that reads: a reader that takes all memory ends there, not the machine.
const SPACE: u64 = 6 << 30;
const INSIDE: &str = "ONRUSH_MUTATIONS_INSIDE";

/// Runs the test in a process with a limit of its address space.
#[test]
fn mutated_files_are_rows_or_errors() {
    if std::env::var_os(INSIDE).is_some() {
        return mutations();
    }
    let name = "mutations::mutated_files_are_rows_or_errors";
    let limited = format!("ulimit -v {} && exec \"$0\" {name} --exact --nocapture", SPACE >> 10);
    let own = std::env::current_exe().unwrap();
    let ran = std::process::Command::new("sh").args(["-c", &limited]).arg(own).env(INSIDE, "1").output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    println!("{said}");
    assert!(ran.status.success(), "{}\n{said}", ran.status);
}

fn mutations() {
    let rounds = std::env::var("ONRUSH_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(ROUNDS);
    let wanted = std::env::var("ONRUSH_MUTATE").unwrap_or_default();
    let folder = scratch();
    std::fs::create_dir_all(&folder).unwrap();
    let mut wrong: Vec<String> = Vec::new();
    // Decoders panic where the readers catch it.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        // The thread of the test has a name.
        if std::thread::current().name().is_some_and(|name| name.contains("mutated")) {
            eprintln!("{info}");
        }
    }));
    for (name, (whole, format)) in seeds(&folder).into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let mut random = Random(name.bytes().fold(11_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte)));
        let (mut read_well, mut refused) = (0, 0);
        for round in 0..=rounds {
            let mut bytes = whole.clone();
            let is_archive = name.ends_with(".xlsx") || name.ends_with(".ods");
            match round {
                // The file itself.
                0 => {}
                _ if is_archive && round % 3 > 0 => bytes = mutate_inside(&whole, &mut random).unwrap(),
                _ => (0..1 + round % 4).for_each(|_| mutate(&mut bytes, &mut random)),
            }
            std::fs::write(folder.join(&name), &bytes).unwrap();
            let (answer, answered) = channel();
            let (one, of, format) = (name.clone(), folder.clone(), format.clone());
            let worker = std::thread::spawn(move || drop(answer.send(read(&one, &of, format))));
            let mut fails = |what: String| {
                let kept = format!("{name}-{round}.{}", name.rsplit('.').next().unwrap_or_default());
                std::fs::write(folder.join(&kept), &bytes).unwrap();
                wrong.push(format!("{}: {what}", folder.join(kept).display()));
            };
            match answered.recv_timeout(PATIENCE) {
                Ok(Ok(())) => read_well += 1,
                Ok(Err(error)) if round == 0 => fails(format!("a valid file is refused: {error}")),
                Ok(Err(error)) => {
                    refused += 1;
                    let is_explained = error.message.contains(&name) || error.notes.iter().any(|n| n.contains(&name));
                    if !matches!(error.class, Class::Data | Class::Plan | Class::Resources) || !is_explained {
                        fails(format!("{:?} {error}", error.class));
                    }
                }
                Err(RecvTimeoutError::Timeout) => fails("not read in time".to_string()),
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = worker.join().unwrap_err();
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                    fails(format!("panic: {}", text.unwrap_or_default()));
                }
            }
            if most_resident() > RESIDENT {
                fails(format!("{} MB in memory", most_resident() >> 20));
                break;
            }
        }
        println!("{name}: {read_well} read, {refused} refused");
    }
    std::panic::set_hook(hook);
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
    std::fs::remove_dir_all(&folder).unwrap();
}
