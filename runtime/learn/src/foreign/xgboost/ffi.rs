//! XGBoost's C interface (`include/xgboost/c_api.h`) behind safe types. All `unsafe` code of the family is here.
//!
//! Data cross as addresses in JSON (the array interface of NumPy); the library copies them before a call returns.
//! Errors are codes with a message, and never unwind.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_float, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;
use parking_lot::Mutex;

use crate::error::{Error, ErrorKind};
use crate::foreign::find;

type Handle = *mut c_void;
type Reset = extern "C" fn(Handle);
type Next = extern "C" fn(Handle) -> c_int;
/// `bst_ulong`.
type Ulong = u64;

/// Makes the table of the library's functions, which is filled by their names.
macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        #[allow(non_snake_case, reason = "the names are the library's")]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Functions {
                    // SAFETY: the types are those of c_api.h, which has not changed them since 2.1; older libraries are
                    // refused.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,)*
                })
            }
        }
    };
}

functions! {
    XGBRegisterLogCallback(extern "C" fn(*const c_char));
    XGDMatrixCreateFromColumnar(*const c_char, *const c_char, *mut Handle);
    XGProxyDMatrixCreate(*mut Handle);
    XGProxyDMatrixSetDataColumnar(Handle, *const c_char);
    XGQuantileDMatrixCreateFromCallback(Handle, Handle, Handle, Reset, Next, *const c_char, *mut Handle);
    XGDMatrixSetInfoFromInterface(Handle, *const c_char, *const c_char);
    XGDMatrixSetStrFeatureInfo(Handle, *const c_char, *const *const c_char, Ulong);
    XGDMatrixFree(Handle);
    XGBoosterCreate(*const Handle, Ulong, *mut Handle);
    XGBoosterFree(Handle);
    XGBoosterReset(Handle);
    XGBoosterSetParam(Handle, *const c_char, *const c_char);
    XGBoosterSetAttr(Handle, *const c_char, *const c_char);
    XGBoosterSetStrFeatureInfo(Handle, *const c_char, *const *const c_char, Ulong);
    XGBoosterUpdateOneIter(Handle, c_int, Handle);
    XGBoosterEvalOneIter(Handle, c_int, *const Handle, *const *const c_char, Ulong, *mut *const c_char);
    XGBoosterSaveModelToBuffer(Handle, *const c_char, *mut Ulong, *mut *const c_char);
    XGBoosterPredictFromColumnar(
        Handle, *const c_char, *const c_char, Handle, *mut *const Ulong, *mut Ulong, *mut *const c_float
    );
    XGBoosterFeatureScore(
        Handle, *const c_char, *mut Ulong, *mut *const *const c_char, *mut Ulong, *mut *const Ulong,
        *mut *const c_float
    );
}

/// The loaded library.
pub struct Api {
    functions: Functions,
    last_error: unsafe extern "C" fn() -> *const c_char,
    /// Major, minor, patch.
    version: [u32; 3],
    // Last: the functions above are inside of it.
    _library: Library,
}

/// The library, loaded once in a process. It is never unloaded, because its threads outlive every call. A failure is
/// not kept: after an installation the next call finds it.
static LOADED: Mutex<Option<&'static Api>> = Mutex::new(None);

/// Finds and loads the library.
///
/// # Errors
/// If there is none, if it cannot be loaded, and if it is older than 2.1, the first one with columns of numbers.
pub fn api() -> Result<&'static Api, Error> {
    let mut loaded = LOADED.lock();
    if let Some(api) = *loaded {
        return Ok(api);
    }
    let api = match find::files().first() {
        Some(file) => open(file)?,
        None => open(Path::new(&find::name())).map_err(|error| match error.kind {
            ErrorKind::XgboostVersion => error,
            _ => absent(),
        })?,
    };
    Ok(loaded.insert(Box::leak(Box::new(api))))
}

/// Says how to install the library.
fn absent() -> Error {
    Error::new(ErrorKind::XgboostMissing, "XGBoost is not installed").help(
        "`pip install xgboost` (or xgboost-cpu) into the active Python, then run the cell again; \
         HistGradientBoostingClassifier is built in",
    )
}

fn open(file: &Path) -> Result<Api, Error> {
    let broken = |e: &dyn std::fmt::Display| {
        Error::new(ErrorKind::XgboostMissing, format!("XGBoost's library {} cannot be loaded: {e}", file.display()))
            .help("`pip install --force-reinstall xgboost` (or xgboost-cpu) repairs it; then run the cell again")
            .help(format!("the variable {} names another file", find::VARIABLE))
    };
    // SAFETY: the initialisers of the library fill its own tables and start nothing. The user or the active Python
    // chose the file.
    let library = unsafe { Library::new(file) }.map_err(|e| broken(&e))?;
    // SAFETY: the type is that of c_api.h.
    let version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) =
        *unsafe { library.get(b"XGBoostVersion\0") }.map_err(|e| broken(&e))?;
    let mut numbers = [0 as c_int; 3];
    let [major, minor, patch] = &mut numbers;
    // SAFETY: three addresses of integers, as the function takes them.
    unsafe { version(major, minor, patch) };
    let version = numbers.map(|n| u32::try_from(n).unwrap_or(0));
    let [major, minor, patch] = version;
    if (major, minor) < (2, 1) {
        let message = format!("XGBoost {major}.{minor}.{patch} is installed, and 2.1 or newer is needed");
        return Err(Error::new(ErrorKind::XgboostVersion, message)
            .help("`pip install --upgrade xgboost` (or xgboost-cpu) in the active Python, then restart the session"));
    }
    let functions = Functions::load(&library).map_err(|e| broken(&e))?;
    // SAFETY: the type is that of c_api.h.
    let last_error = *unsafe { library.get(b"XGBGetLastError\0") }.map_err(|e| broken(&e))?;
    Ok(Api { functions, last_error, version, _library: library })
}

impl Api {
    /// An error of the library as a sentence: without its time, its source file and its stack.
    fn checked(&self, code: c_int) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the library keeps the message of this thread until its next call on it.
        let text = unsafe { CStr::from_ptr((self.last_error)()) }.to_string_lossy().into_owned();
        Err(Error::new(ErrorKind::Xgboost, format!("XGBoost: {}", sentence(&text))))
    }

    /// Whether the library takes names of categories, and keeps them in its files.
    pub fn has_names(&self) -> bool {
        self.version >= [3, 1, 0]
    }

    /// Calls `work` and returns the warnings that the library gave on this thread meanwhile.
    pub fn with_warnings<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<String>) {
        WARNINGS.with_borrow_mut(Vec::clear);
        // SAFETY: the function lives as long as the process. The library calls it on the thread that registers it.
        unsafe { (self.functions.XGBRegisterLogCallback)(warn) };
        let done = work();
        (done, WARNINGS.with_borrow_mut(std::mem::take))
    }
}

thread_local! {
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn warn(text: *const c_char) {
    // SAFETY: the library passes a string that lives during the call.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    WARNINGS.with_borrow_mut(|warnings| warnings.push(sentence(&text)));
}

/// The parameters that the library does not know, by the warnings of this thread since [`Api::with_warnings`].
pub fn unused_parameters() -> Vec<String> {
    WARNINGS.with_borrow(|warnings| {
        let lists = warnings.iter().filter_map(|w| w.strip_prefix("Parameters: {")?.strip_suffix("} are not used."));
        lists.flat_map(|list| list.split(',')).map(|name| name.trim().trim_matches('"').to_string()).collect()
    })
}

/// The message of `[12:00:00] WARNING: /src/learner.cc:738: message`, on one line.
fn sentence(text: &str) -> String {
    let text = text.split("Stack trace:").next().unwrap_or_default();
    let text = match text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((_, rest)) => rest,
        None => text,
    };
    let text = text.trim_start().trim_start_matches("WARNING: ");
    // The source file: up to `.cc:738: `.
    let text = match text.split_once(": ") {
        Some((place, rest)) if place.contains('/') && !place.contains(' ') => rest,
        _ => text,
    };
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A string for the library. A byte 0 cannot cross.
fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// An array of numbers for the library: its address, the type of its values, and how many.
fn interface(address: *const c_void, typestr: &str, len: usize) -> serde_json::Value {
    serde_json::json!({
        "data": [address as usize, true],
        "typestr": typestr,
        "version": 3,
        "strides": null,
        "shape": [len],
        "mask": null,
    })
}

/// A feature for the library.
pub struct Feature<'a> {
    pub name: &'a str,
    /// Numbers, or the positions of categories. NaN is missing.
    pub values: &'a [f64],
    pub category: bool,
    /// The strings of the categories, joined, and where each begins.
    pub names: Option<(Vec<u8>, Vec<i32>)>,
}

/// Rows for the library. All columns have the same length.
#[derive(Default)]
pub struct MatrixRows<'a> {
    pub features: Vec<Feature<'a>>,
    pub label: Option<&'a [f64]>,
    pub weight: Option<&'a [f64]>,
    /// The number of the group of each row, ascending.
    pub qid: Option<&'a [u32]>,
}

impl MatrixRows<'_> {
    fn columns(&self) -> CString {
        let columns: Vec<serde_json::Value> = self
            .features
            .iter()
            .map(|feature| {
                let values = interface(feature.values.as_ptr().cast(), "<f8", feature.values.len());
                match &feature.names {
                    None => values,
                    Some((bytes, offsets)) => serde_json::json!([
                        {
                            "offsets": interface(offsets.as_ptr().cast(), "<i4", offsets.len()),
                            "values": interface(bytes.as_ptr().cast(), "|i1", bytes.len()),
                        },
                        values,
                    ]),
                }
            })
            .collect();
        c_string(&serde_json::Value::Array(columns).to_string())
    }

    /// Writes label, weights, groups, names and types of the features into a matrix.
    fn describe(&self, api: &Api, matrix: Handle) -> Result<(), Error> {
        let set = |field: &str, array: serde_json::Value| {
            let (field, array) = (c_string(field), c_string(&array.to_string()));
            // SAFETY: the matrix is alive; the strings live during the call, and so do the numbers, which `self`
            // borrows.
            api.checked(unsafe {
                (api.functions.XGDMatrixSetInfoFromInterface)(matrix, field.as_ptr(), array.as_ptr())
            })
        };
        if let Some(label) = self.label {
            set("label", interface(label.as_ptr().cast(), "<f8", label.len()))?;
        }
        if let Some(weight) = self.weight {
            set("weight", interface(weight.as_ptr().cast(), "<f8", weight.len()))?;
        }
        if let Some(qid) = self.qid {
            set("qid", interface(qid.as_ptr().cast(), "<u4", qid.len()))?;
        }
        self.strings(|field, len, strings| {
            // SAFETY: as many strings as are said, alive during the call; the library copies them.
            api.checked(unsafe { (api.functions.XGDMatrixSetStrFeatureInfo)(matrix, field, strings, len) })
        })
    }

    /// Calls `set` for the names and for the types of the features: the field, how many there are, and where they are.
    fn strings(
        &self,
        set: impl Fn(*const c_char, Ulong, *const *const c_char) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let names: Vec<CString> = self.features.iter().map(|f| c_string(f.name)).collect();
        let types: Vec<CString> =
            self.features.iter().map(|f| c_string(if f.category { "c" } else { "float" })).collect();
        for (field, strings) in [(c"feature_name", names), (c"feature_type", types)] {
            let pointers: Vec<*const c_char> = strings.iter().map(|s| s.as_ptr()).collect();
            set(field.as_ptr(), pointers.len() as Ulong, pointers.as_ptr())?;
        }
        Ok(())
    }
}

/// A `DMatrix` of the library: a copy of rows, quantised for the histogram method.
pub struct Matrix {
    handle: Handle,
    api: &'static Api,
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: the handle came from the library and is freed once.
        unsafe { (self.api.functions.XGDMatrixFree)(self.handle) };
    }
}

/// The state of the iterator that hands one batch of rows to the library.
struct Batch<'a> {
    rows: &'a MatrixRows<'a>,
    columns: &'a CStr,
    proxy: &'a Matrix,
    given: bool,
    failed: Option<Error>,
}

extern "C" fn reset(batch: Handle) {
    // SAFETY: the handle is the `Batch` of `Matrix::quantile`, which nothing else uses during the call.
    unsafe { &mut *batch.cast::<Batch<'_>>() }.given = false;
}

extern "C" fn next(batch: Handle) -> c_int {
    // SAFETY: as above.
    let batch = unsafe { &mut *batch.cast::<Batch<'_>>() };
    if batch.given || batch.failed.is_some() {
        return 0;
    }
    batch.given = true;
    let api = batch.proxy.api;
    // SAFETY: the proxy is alive; the columns live as long as the batch.
    let code = unsafe { (api.functions.XGProxyDMatrixSetDataColumnar)(batch.proxy.handle, batch.columns.as_ptr()) };
    match api.checked(code).and_then(|()| batch.rows.describe(api, batch.proxy.handle)) {
        Ok(()) => 1,
        Err(error) => {
            batch.failed = Some(error);
            0
        }
    }
}

impl Matrix {
    /// Rows as they are, for `exact`, `approx` and `gblinear`.
    ///
    /// # Errors
    /// If the library refuses them.
    pub fn plain(api: &'static Api, rows: &MatrixRows<'_>, threads: usize) -> Result<Matrix, Error> {
        let (columns, config) = (rows.columns(), c_string(&format!("{{\"missing\": NaN, \"nthread\": {threads}}}")));
        let mut handle = ptr::null_mut();
        // SAFETY: the columns are borrowed by `rows`, all strings live during the call, and the handle is written on
        // success.
        api.checked(unsafe {
            (api.functions.XGDMatrixCreateFromColumnar)(columns.as_ptr(), config.as_ptr(), &mut handle)
        })?;
        let matrix = Matrix { handle, api };
        rows.describe(api, matrix.handle)?;
        Ok(matrix)
    }

    /// Quantised rows. Rows for evaluation take the bins of the training rows, `like`.
    ///
    /// # Errors
    /// If the library refuses them.
    pub fn quantile(
        api: &'static Api,
        rows: &MatrixRows<'_>,
        like: Option<&Matrix>,
        max_bin: Option<usize>,
        threads: usize,
    ) -> Result<Matrix, Error> {
        let mut proxy = ptr::null_mut();
        // SAFETY: the handle is written on success.
        api.checked(unsafe { (api.functions.XGProxyDMatrixCreate)(&mut proxy) })?;
        let proxy = Matrix { handle: proxy, api };
        let max_bin = max_bin.map_or(String::new(), |bins| format!(", \"max_bin\": {bins}"));
        let config = c_string(&format!("{{\"missing\": NaN, \"nthread\": {threads}{max_bin}}}"));
        let columns = rows.columns();
        let mut batch = Batch { rows, columns: &columns, proxy: &proxy, given: false, failed: None };
        let like = like.map_or(ptr::null_mut(), |matrix| matrix.handle);
        let mut handle = ptr::null_mut();
        // SAFETY: the library calls `reset` and `next` with the address of `batch` on this thread during the call only.
        let code = unsafe {
            let batch = (&raw mut batch).cast::<c_void>();
            let create = api.functions.XGQuantileDMatrixCreateFromCallback;
            create(batch, proxy.handle, like, reset, next, config.as_ptr(), &mut handle)
        };
        let created = api.checked(code).map(|()| Matrix { handle, api });
        // The first error is the reason of the second one.
        match batch.failed {
            Some(error) => Err(error),
            None => created,
        }
    }
}

/// A model of the library.
pub struct Booster {
    handle: Handle,
    api: &'static Api,
}

// SAFETY: the library locks nothing and keeps results by thread. Only its training changes a booster, and owns it.
// Afterwards the booster predicts in place, which the library documents as safe from several threads for trees.
unsafe impl Send for Booster {}
// SAFETY: as above.
unsafe impl Sync for Booster {}

impl Drop for Booster {
    fn drop(&mut self) {
        // SAFETY: the handle came from the library and is freed once.
        unsafe { (self.api.functions.XGBoosterFree)(self.handle) };
    }
}

impl Booster {
    /// A model without trees, which remembers predictions for these rows.
    ///
    /// # Errors
    /// If the library refuses the rows.
    pub fn new(api: &'static Api, matrices: &[&Matrix]) -> Result<Booster, Error> {
        let handles: Vec<Handle> = matrices.iter().map(|m| m.handle).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: as many handles as are said. The library shares their ownership, so that they may be freed before the
        // booster.
        api.checked(unsafe { (api.functions.XGBoosterCreate)(handles.as_ptr(), handles.len() as Ulong, &mut handle) })?;
        Ok(Booster { handle, api })
    }

    /// # Errors
    /// If the library refuses the value. Some values and all names are looked at in the first round only.
    pub fn set_param(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (c_string(name), c_string(value));
        // SAFETY: the strings live during the call.
        self.api.checked(unsafe { (self.api.functions.XGBoosterSetParam)(self.handle, name.as_ptr(), value.as_ptr()) })
    }

    /// Writes names and types of the features into the model.
    ///
    /// # Errors
    /// None are known.
    pub fn set_features(&mut self, rows: &MatrixRows<'_>) -> Result<(), Error> {
        rows.strings(|field, len, strings| {
            // SAFETY: as many strings as are said, alive during the call; the library copies them.
            self.api
                .checked(unsafe { (self.api.functions.XGBoosterSetStrFeatureInfo)(self.handle, field, strings, len) })
        })
    }

    /// Whether models keep the names of categories.
    pub fn has_names(&self) -> bool {
        self.api.has_names()
    }

    /// Writes a note into the model, such as `best_iteration`.
    ///
    /// # Errors
    /// None are known.
    pub fn set_attribute(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (c_string(name), c_string(value));
        // SAFETY: the strings live during the call.
        self.api.checked(unsafe { (self.api.functions.XGBoosterSetAttr)(self.handle, name.as_ptr(), value.as_ptr()) })
    }

    /// Trains a round.
    ///
    /// # Errors
    /// If a parameter or the data are not what the library takes.
    pub fn update(&mut self, round: usize, matrix: &Matrix) -> Result<(), Error> {
        // SAFETY: both handles are alive.
        self.api
            .checked(unsafe { (self.api.functions.XGBoosterUpdateOneIter)(self.handle, round as c_int, matrix.handle) })
    }

    /// Scores rows under their names: `[0]\tvalidation_0-rmse:0.5`.
    ///
    /// # Errors
    /// If a metric cannot be computed.
    pub fn evaluate(&mut self, round: usize, sets: &[(String, &Matrix)]) -> Result<String, Error> {
        let names: Vec<CString> = sets.iter().map(|(name, _)| c_string(name)).collect();
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let matrices: Vec<Handle> = sets.iter().map(|(_, matrix)| matrix.handle).collect();
        let mut text = ptr::null();
        // SAFETY: as many handles and names as are said. The library keeps the text until its next call on this thread.
        unsafe {
            let len = sets.len() as Ulong;
            let evaluate = self.api.functions.XGBoosterEvalOneIter;
            let round = round as c_int;
            self.api.checked(evaluate(self.handle, round, matrices.as_ptr(), names.as_ptr(), len, &mut text))?;
            Ok(CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    /// Lets go of the training rows and of what was remembered for them.
    ///
    /// # Errors
    /// None are known.
    pub fn forget_rows(&mut self) -> Result<(), Error> {
        // SAFETY: the handle is alive.
        self.api.checked(unsafe { (self.api.functions.XGBoosterReset)(self.handle) })
    }

    /// The model as UBJSON.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn to_ubj(&self) -> Result<Vec<u8>, Error> {
        let (mut len, mut bytes) = (0, ptr::null());
        let config = c"{\"format\": \"ubj\"}";
        // SAFETY: the library keeps the bytes until its next call on this thread.
        unsafe {
            let save = self.api.functions.XGBoosterSaveModelToBuffer;
            self.api.checked(save(self.handle, config.as_ptr(), &mut len, &mut bytes))?;
            Ok(std::slice::from_raw_parts(bytes.cast::<u8>(), len as usize).to_vec())
        }
    }

    /// Predictions of the first `rounds` rounds, or of all for 0: rows x outputs. Margins, or values on the target's
    /// scale.
    ///
    /// # Errors
    /// If the features are not those of the training.
    pub fn predict(&self, rows: &MatrixRows<'_>, rounds: usize, margin: bool) -> Result<Vec<f32>, Error> {
        let config = c_string(&format!(
            "{{\"type\": {}, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": {rounds}, \
             \"missing\": NaN, \"strict_shape\": true, \"cache_id\": 0}}",
            u8::from(margin),
        ));
        let columns = rows.columns();
        let (mut shape, mut dimensions, mut values) = (ptr::null(), 0, ptr::null());
        // SAFETY: the columns are borrowed by `rows`. The library keeps shape and values until its next call on this
        // thread.
        unsafe {
            let predict = self.api.functions.XGBoosterPredictFromColumnar;
            let (columns, config, none) = (columns.as_ptr(), config.as_ptr(), ptr::null_mut());
            self.api.checked(predict(self.handle, columns, config, none, &mut shape, &mut dimensions, &mut values))?;
            let len = std::slice::from_raw_parts(shape, dimensions as usize).iter().product::<Ulong>();
            match len {
                0 => Ok(Vec::new()),
                len => Ok(std::slice::from_raw_parts(values, len as usize).to_vec()),
            }
        }
    }

    /// The importance of the features that were used, by name, of a type such as `gain`. A linear model with several
    /// outputs has one value for each output.
    ///
    /// # Errors
    /// If the library has no such type.
    pub fn importances(&self, kind: &str) -> Result<Vec<(String, Vec<f32>)>, Error> {
        let config = c_string(&serde_json::json!({ "importance_type": kind }).to_string());
        let (mut count, mut names, mut dimensions) = (0, ptr::null(), 0);
        let (mut shape, mut values) = (ptr::null(), ptr::null());
        // SAFETY: the library keeps names, shape and values until its next call on this thread.
        unsafe {
            let score = self.api.functions.XGBoosterFeatureScore;
            self.api.checked(score(
                self.handle,
                config.as_ptr(),
                &mut count,
                &mut names,
                &mut dimensions,
                &mut shape,
                &mut values,
            ))?;
            let len = std::slice::from_raw_parts(shape, dimensions as usize).iter().product::<Ulong>() as usize;
            if count == 0 || len == 0 {
                return Ok(Vec::new());
            }
            let values = std::slice::from_raw_parts(values, len);
            let names = std::slice::from_raw_parts(names, count as usize);
            let outputs = (len / count as usize).max(1);
            let names = names.iter().map(|name| CStr::from_ptr(*name).to_string_lossy().into_owned());
            Ok(names.zip(values.chunks(outputs).map(<[f32]>::to_vec)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_message_loses_its_time_its_file_and_its_stack() {
        let text =
            "[12:00:00] /workspace/src/objective/regression_obj.cu:80: Check failed: label\nStack trace:\n  [bt] (0)";
        assert_eq!(sentence(text), "Check failed: label");
        let text = "[12:00:00] WARNING: /workspace/src/learner.cc:790: \nParameters: { \"foo\" } are not used.\n";
        assert_eq!(sentence(text), "Parameters: { \"foo\" } are not used.");
        assert_eq!(sentence("plain"), "plain");
    }
}
