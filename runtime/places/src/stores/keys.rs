//! Stores with the keys of the environment and of the usual files. Without any, requests are not signed, as public
//! buckets want it; on a machine of the store's provider its own service gives the keys.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientOptions, ObjectStore, Result, RetryConfig};
use reqwest::Url;

type Environment = HashMap<String, String>;

/// The places where no key was found.
const NONE: &str = "no key: none is in the environment";

/// Opens the store of an address, and says where its key is from.
pub(super) fn open(
    url: &Url,
    environment: &Environment,
    client: ClientOptions,
    retry: RetryConfig,
) -> Result<(Arc<dyn ObjectStore>, &'static str)> {
    match url.scheme() {
        "s3" | "s3a" => amazon(url, environment, client, retry),
        "gs" => google(url, environment, client, retry),
        _ => azure(url, environment, client, retry),
    }
}

fn has(environment: &Environment, names: &[&str]) -> bool {
    names.iter().any(|name| environment.get(*name).is_some_and(|value| !value.is_empty()))
}

fn home(environment: &Environment) -> Option<PathBuf> {
    environment.get("HOME").map(PathBuf::from)
}

/// Whether this machine belongs to a provider, by what its firmware says.
fn is_at(provider: &str) -> bool {
    let named = |file: &str| std::fs::read_to_string(Path::new("/sys/class/dmi/id").join(file));
    ["sys_vendor", "product_name"].iter().any(|file| named(file).is_ok_and(|text| text.contains(provider)))
}

fn amazon(
    url: &Url,
    environment: &Environment,
    client: ClientOptions,
    retry: RetryConfig,
) -> Result<(Arc<dyn ObjectStore>, &'static str)> {
    let mut builder = AmazonS3Builder::new().with_client_options(client).with_retry(retry);
    for (name, value) in environment.iter().filter(|(name, _)| name.starts_with("AWS_")) {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    if let Some(endpoint) = endpoint.iter().find_map(|name| environment.get(*name)) {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    let profile = Profile::read(environment);
    if !has(environment, &["AWS_REGION", "AWS_DEFAULT_REGION"])
        && let Some(region) = profile.get("region")
    {
        builder = builder.with_region(region);
    }
    let roles =
        ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"];
    let who = if has(environment, &["AWS_ACCESS_KEY_ID"]) {
        "the key of AWS_ACCESS_KEY_ID"
    } else if let (Some(id), Some(secret)) = (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")) {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        if let Some(token) = profile.get("aws_session_token") {
            builder = builder.with_token(token);
        }
        "the key of ~/.aws/credentials"
    } else if has(environment, &roles) || is_at("Amazon EC2") {
        "the role of this machine"
    } else {
        builder = builder.with_skip_signature(true);
        NONE
    };
    Ok((Arc::new(builder.with_url(url.as_str()).build()?), who))
}

/// A profile of Amazon's files.
struct Profile {
    values: HashMap<String, String>,
}

impl Profile {
    fn read(environment: &Environment) -> Profile {
        let name = environment.get("AWS_PROFILE").map_or("default", String::as_str);
        let file = |variable: &str, usual: &str| {
            environment.get(variable).map(PathBuf::from).or_else(|| Some(home(environment)?.join(".aws").join(usual)))
        };
        let mut values = HashMap::new();
        let files = [file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
        for path in files.into_iter().flatten() {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            let mut inside = false;
            for line in text.lines().map(str::trim) {
                if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    inside = section.trim().trim_start_matches("profile ").trim() == name;
                } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
                    values.insert(key.trim().to_lowercase(), value.trim().to_string());
                }
            }
        }
        Profile { values }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

fn google(
    url: &Url,
    environment: &Environment,
    client: ClientOptions,
    retry: RetryConfig,
) -> Result<(Arc<dyn ObjectStore>, &'static str)> {
    let mut builder = GoogleCloudStorageBuilder::new().with_client_options(client).with_retry(retry);
    if let Some(path) = environment.get("SERVICE_ACCOUNT") {
        builder = builder.with_service_account_path(path);
    }
    for (name, value) in environment.iter().filter(|(name, _)| name.starts_with("GOOGLE_")) {
        if let Ok(key) = name.to_ascii_lowercase().parse::<GoogleConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let names = [
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "SERVICE_ACCOUNT",
    ];
    let usual = home(environment).map(|home| home.join(".config/gcloud/application_default_credentials.json"));
    let who = if has(environment, &names) {
        "the service account of the environment"
    } else if let Some(path) = usual.filter(|path| path.is_file()) {
        builder = builder.with_application_credentials(path.to_string_lossy());
        "the login of gcloud"
    } else if is_at("Google") {
        "the account of this machine"
    } else {
        builder = builder.with_skip_signature(true);
        NONE
    };
    Ok((Arc::new(builder.with_url(url.as_str()).build()?), who))
}

fn azure(
    url: &Url,
    environment: &Environment,
    client: ClientOptions,
    retry: RetryConfig,
) -> Result<(Arc<dyn ObjectStore>, &'static str)> {
    let mut builder = MicrosoftAzureBuilder::new().with_client_options(client).with_retry(retry);
    for (name, value) in environment.iter().filter(|(name, _)| name.starts_with("AZURE_")) {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AzureConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    if environment.get("AZURE_ENDPOINT").is_some_and(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    let names = [
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_TOKEN",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI",
    ];
    let who = if has(environment, &names) {
        "the key of the environment"
    } else if is_at("Microsoft Corporation") && has(environment, &["AZURE_CLIENT_ID", "IDENTITY_ENDPOINT"]) {
        "the identity of this machine"
    } else {
        builder = builder.with_skip_signature(true);
        NONE
    };
    Ok((Arc::new(builder.with_url(url.as_str()).build()?), who))
}
