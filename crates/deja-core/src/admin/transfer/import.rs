//! In: a batch of records. What is there already stays as it is, so that an import can simply be repeated.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use deja_wire::MAX_MODEL_BYTES;
use deja_wire::lenient::MAX_COUNT;
use half::f16;
use serde::de::IgnoredAny;

use super::{
    Batch, EntryRecord, Imported, KeyRecord, Open, ProjectRecord, ProviderRecord, Record, VectorRecord,
    samples, timestamp,
};
use crate::admin::names::{models_of, name_of, shown};
use crate::admin::{Acting, AdminError, projects, providers};
use crate::api_key::{ApiKey, KeyHash};
use crate::cache::{Answer, Entry, Kind, NewEntry, PromptHash};
use crate::embedding::{EmbedderId, Embedding};
use crate::project::{Project, Slug};
use crate::provider::ProviderConfig;
use crate::quality::NewSample;
use crate::rate_limit::Quota;
use crate::store::StoreError;

/// How far the clock that an entry was created by may be ahead.
const SKEW: Duration = Duration::from_mins(1);
/// Components of a vector at most, as in the settings.
const MAX_DIMENSION: usize = 8192;

/// Why a record was not stored: of no use, or the store does not work.
enum Refused {
    Bad(String),
    Failed(AdminError),
}

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Self::Bad(reason)
    }
}

impl From<AdminError> for Refused {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Invalid(reason)
            | AdminError::Setting { problem: reason, .. }
            | AdminError::Conflict(reason) => Self::Bad(reason),
            other => Self::Failed(other),
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        AdminError::from(error).into()
    }
}

/// Stores what is not there yet, and says of each record what became of it, up to the first bad one unless those
/// are skipped.
pub async fn import(by: &Acting<'_>, mut batch: Batch) -> Result<Vec<Imported>, AdminError> {
    if batch.first {
        by.store().note(&by.change("cache.import")).await?;
    }
    let mut known = HashMap::new();
    let mut all = Vec::with_capacity(batch.records.len());
    let (mut entries, mut samples) = (Vec::new(), Vec::new());
    for record in batch.records {
        let imported = match take(by, &mut known, &mut batch.open, record).await {
            Ok(Taken::Done(imported)) => imported,
            Ok(Taken::Entry(arrived)) => {
                entries.push((all.len(), *arrived));
                Imported::Stored
            }
            Ok(Taken::Sample(sample)) => {
                samples.push((all.len(), *sample));
                Imported::Stored
            }
            Err(Refused::Bad(reason)) => Imported::Bad(reason),
            Err(Refused::Failed(error)) => return Err(error),
        };
        let is_bad = matches!(imported, Imported::Bad(_));
        all.push(imported);
        if is_bad && !batch.skip_bad {
            break;
        }
    }
    let (places, entries): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
    let inserted = insert(by, entries).await?;
    if inserted.contains(&Imported::Stored) {
        by.admin.imported.notify_one();
    }
    for (at, imported) in places.into_iter().zip(inserted) {
        all[at] = imported;
    }
    // Behind the entries that they are of.
    let (places, samples): (Vec<_>, Vec<_>) = samples.into_iter().unzip();
    for (at, imported) in places.into_iter().zip(samples::keep(by, &samples).await?) {
        all[at] = imported;
    }
    Ok(all)
}

/// A record that is done with, or an entry or a sample that is still to be stored.
enum Taken {
    Done(Imported),
    Entry(Box<Arrived>),
    Sample(Box<NewSample>),
}

async fn take(
    by: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    open: &mut Open,
    record: Record,
) -> Result<Taken, Refused> {
    Ok(Taken::Done(match record {
        Record::Project(record) => {
            let slug = record.project.clone();
            let imported = project(by, *record).await?;
            if imported == Imported::Stored {
                open.made.insert(slug);
            }
            imported
        }
        Record::Provider(record) => provider(by, known, open, record).await?,
        Record::Key(record) => key(by, known, open, record).await?,
        Record::Entry(record) => match entry(by, known, *record).await? {
            Some(arrived) => return Ok(Taken::Entry(Box::new(arrived))),
            None => Imported::Expired,
        },
        Record::Sample(record) => {
            let project = owner(by, known, &record.project).await?.id;
            let sample = samples::sample(project, record)?;
            if sample.expires.is_none_or(|expires| by.now() < expires) {
                return Ok(Taken::Sample(Box::new(sample)));
            }
            Imported::Expired
        }
    }))
}

/// The project of this slug, looked up once a batch.
async fn owner<'a>(
    by: &Acting<'_>,
    known: &'a mut HashMap<String, Project>,
    slug: &str,
) -> Result<&'a Project, Refused> {
    if !known.contains_key(slug) {
        let missing = || {
            let slug = shown(slug);
            format!("there is no project '{slug}' here: create it, or export it too (--with-projects)")
        };
        let project = match by.project(slug).await {
            Err(AdminError::NotFound(_)) => return Err(missing().into()),
            found => found?,
        };
        known.insert(slug.to_owned(), project);
    }
    known.get(slug).ok_or_else(|| Refused::Bad("no project".into()))
}

async fn project(by: &Acting<'_>, record: ProjectRecord) -> Result<Imported, Refused> {
    let slug: Slug = record.project.parse().map_err(|error| format!("{error}"))?;
    by.owners_only()?;
    if by.store().project(slug.as_str()).await?.is_some() {
        return Ok(Imported::There);
    }
    let custom_quota = quota(record.requests_per_minute, record.burst)?;
    projects::check(&record.settings)?;
    let project = Project {
        id: id(&record.id)?,
        name: name_of(&record.name)?,
        slug,
        tier: record.tier,
        custom_quota,
        suspended: record.suspended,
        settings: record.settings,
        created: timestamp(record.created)?,
        purges: 0,
    };
    if let Some(other) = by.store().projects().await?.iter().find(|other| other.id == project.id) {
        return Err(Refused::Bad(format!(
            "its id is that of the project '{}' here: give it that slug in the file, or another id",
            other.slug
        )));
    }
    let change = by.change("project.create").within(project.id).of(project.slug.as_str()).how("imported");
    by.store().create_project(&project, &change).await?;
    Ok(Imported::Stored)
}

fn quota(per_minute: Option<u32>, burst: Option<u32>) -> Result<Option<Quota>, String> {
    let both = per_minute.zip(burst);
    both.map(|(rate, burst)| Quota::new(rate, burst).map_err(|error| error.to_string())).transpose()
}

async fn provider(
    by: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    open: &Open,
    record: ProviderRecord,
) -> Result<Imported, Refused> {
    let project = owner(by, known, &record.project).await?.id;
    if let Some(there) = by.store().providers(project).await?.iter().find(|other| other.name == record.name) {
        let lacks_secret = record.has_secret && there.sealed_secret.is_none();
        return Ok(if lacks_secret { Imported::WithoutSecret } else { Imported::There });
    }
    if !open.providers && !open.made.contains(&record.project) {
        return Err(Refused::Bad(format!(
            "the project '{}' was here before, and the provider would get its prompts: add --with-projects if the \
             file may give it one",
            record.project
        )));
    }
    (by.admin.url_check)(&record.base_url, record.allow_private)?;
    let unreadable = |_| "the sealed secret is not base64".to_owned();
    let provider = ProviderConfig {
        id: id(&record.id)?,
        project,
        name: providers::provider_name(&record.name)?,
        kind: record.kind,
        base_url: record.base_url.trim_end_matches('/').to_owned(),
        models: models_of(record.models)?,
        sealed_secret: record.sealed.map(|text| STANDARD.decode(text).map_err(unreadable)).transpose()?,
        allow_private: record.allow_private,
        created: timestamp(record.created)?,
    };
    let change = by.change("provider.add").within(project).of(&provider.name).how("imported");
    match by.store().add_provider(&provider, &change).await {
        Ok(()) => Ok(Imported::Stored),
        Err(error) => Err(by.refused(project, &record.project, error).await.into()),
    }
}

async fn key(
    by: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    open: &Open,
    record: KeyRecord,
) -> Result<Imported, Refused> {
    let project = owner(by, known, &record.project).await?.id;
    named("what is shown of the key", &record.shown)?;
    let hash = sha256("the key's hash", record.hash.expose())?;
    if let Some(admission) = by.store().key_by_hash(&KeyHash(hash)).await? {
        let same = admission.project.id == project;
        return if same {
            Ok(Imported::There)
        } else {
            Err(Refused::Bad("the key opens another project".into()))
        };
    }
    let key = ApiKey {
        id: id(&record.id)?,
        project,
        name: name_of(&record.name)?,
        shown: record.shown.chars().take(7).collect(),
        hash: KeyHash(hash),
        models: record.models.map(models_of).transpose()?,
        quota: quota(record.requests_per_minute, record.burst)?,
        expires: record.expires.map(timestamp).transpose()?,
        created: timestamp(record.created)?,
        revoked: record.revoked.map(timestamp).transpose()?,
    };
    // A key that is revoked here stays revoked.
    let found = by.store().find_keys(&record.id).await?;
    if found.iter().any(|other| other.project == project && other.id == key.id) {
        return Ok(Imported::There);
    }
    if !open.keys && !open.made.contains(&record.project) {
        return Err(Refused::Bad(format!(
            "the project '{}' was here before, and the key would open it: add --with-keys if the file may give it one",
            record.project
        )));
    }
    let change =
        by.change("key.create").within(project).of(format!("{} {}", key.shown, key.name)).how("imported");
    match by.store().create_key(&key, &change).await {
        Ok(()) => Ok(Imported::Stored),
        Err(error) => match by.refused(project, &record.project, error).await {
            AdminError::Conflict(_) => Ok(Imported::There),
            error => Err(error.into()),
        },
    }
}

/// An entry to store.
struct Arrived {
    /// The slug of its project.
    slug: String,
    new: NewEntry,
}

/// The entry to store; `None` if it is no longer served. It goes where its project looks for it, whatever the
/// project it comes from had set about sharing answers between models.
async fn entry(
    by: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    record: EntryRecord,
) -> Result<Option<Arrived>, Refused> {
    let project = owner(by, known, &record.project).await?;
    let (created, expires) = (timestamp(record.created)?, record.expires.map(timestamp).transpose()?);
    if created > by.now().plus(SKEW) {
        return Err(Refused::Bad(format!("it was created in the future, at {}", record.created)));
    }
    if record.prompt.is_empty() || record.model.is_empty() {
        return Err(Refused::Bad("an entry needs a prompt and a model".into()));
    }
    if record.model.len() > MAX_MODEL_BYTES {
        return Err(Refused::Bad(format!("the model is longer than the limit of {MAX_MODEL_BYTES} bytes")));
    }
    let is_query = record.kind == Kind::Query;
    // As for an answer of a provider (`may_store`): nobody is helped by it. What a wire format answered may be calls of tools.
    if is_query && record.answer.text.trim().is_empty() {
        return Err(Refused::Bad("an entry needs an answer with text".into()));
    }
    if is_query != record.answer.record.is_none() || is_query && !record.parameters.is_empty() {
        let kinds = "an entry of a wire format needs its record, and one of a query has neither record nor parameters";
        return Err(Refused::Bad(kinds.into()));
    }
    let prompt_hash = match &record.hash {
        None => PromptHash::of(&record.prompt),
        Some(hash) => PromptHash(sha256("what it is found by", hash)?),
    };
    named("the name of the provider", &record.answer.provider)?;
    if record.answer.input_tokens.max(record.answer.output_tokens) > MAX_COUNT {
        return Err(Refused::Bad(format!("no answer has more than {MAX_COUNT} tokens")));
    }
    let vectors = record.vector.into_iter().chain(record.more_vectors).map(vector);
    // One of each embedder, the last one of the line.
    let vectors = vectors.collect::<Result<BTreeMap<_, _>, _>>()?.into_iter().collect();
    let now = by.now();
    let new = NewEntry {
        scope: project.scope_of(record.kind, &record.model, record.context.as_deref(), record.parameters),
        prompt_hash,
        entry: Entry {
            id: id(&record.id)?,
            prompt: record.prompt,
            model: record.model,
            answer: Answer {
                text: record.answer.text,
                provider: record.answer.provider,
                served_model: record.answer.served_model,
                input_tokens: record.answer.input_tokens,
                output_tokens: record.answer.output_tokens,
                tokens_estimated: record.answer.tokens_estimated,
                record: record.answer.record.map(|record| body(&record)).transpose()?,
            },
            created,
            expires,
        },
        vectors,
        now,
        replaces: false,
        purges: None,
    };
    Ok(new.entry.is_live(now).then_some(Arrived { slug: record.project, new }))
}

/// The answer in its wire format.
fn body(record: &str) -> Result<Bytes, String> {
    let body = STANDARD.decode(record).map_err(|_| "its record is not base64".to_owned())?;
    let _: IgnoredAny = serde_json::from_slice(&body).map_err(|_| "its record is not JSON".to_owned())?;
    Ok(body.into())
}

/// A SHA-256 in hexadecimal.
fn sha256(what: &str, text: &str) -> Result<[u8; 32], String> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).map_err(|_| format!("{what} is no SHA-256 in hexadecimal"))?;
    Ok(hash)
}

/// A vector keeps the name of who made it: if that is not the embedder here, the entry is embedded again in the
/// background, and found by the same prompt only until then.
fn vector(record: VectorRecord) -> Result<(EmbedderId, Embedding), String> {
    let unusable = || "its vector cannot be read: it is half precision, little-endian, in base64".to_owned();
    let bytes = STANDARD.decode(&record.f16).map_err(|_| unusable())?;
    if bytes.len() % 2 != 0 || bytes.len() > 2 * MAX_DIMENSION || record.embedder.is_empty() {
        return Err(unusable());
    }
    named("the name of the embedder", &record.embedder)?;
    let values: Vec<f32> =
        bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect();
    let embedding = Embedding::new(values).map_err(|error| error.to_string())?;
    Ok((EmbedderId::new(record.embedder), embedding))
}

/// Stores entries, and says of each what became of it.
async fn insert(by: &Acting<'_>, entries: Vec<Arrived>) -> Result<Vec<Imported>, AdminError> {
    let (mut all, mut new) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for arrived in entries {
        all.push((arrived.slug, arrived.new.scope.project(), arrived.new.entry.id));
        new.push(arrived.new);
    }
    let stored = by.store().insert_all(new).await;
    let mut imported = Vec::with_capacity(all.len());
    for ((slug, project, id), stored) in all.into_iter().zip(stored) {
        imported.push(match stored {
            Ok(true) => Imported::Stored,
            Ok(false) => Imported::There,
            // The same entry in another scope: it came before the project began, or ceased, to share answers.
            Err(StoreError::Conflict(_)) if by.store().entry(project, id).await?.is_some() => Imported::There,
            Err(error) => return Err(by.refused(project, &slug, error).await),
        });
    }
    Ok(imported)
}

/// Refuses what no name has. PostgreSQL takes no NUL in one.
fn named(what: &str, text: &str) -> Result<(), String> {
    if text.contains(char::is_control) {
        Err(format!("{what} has a control character in it"))
    } else {
        Ok(())
    }
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{}' is not an id", shown(text)))
}
