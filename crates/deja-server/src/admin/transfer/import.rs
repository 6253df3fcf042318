//! In: a batch of records. What is there already stays as it is, so that an import can simply be repeated.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deja_core::api_key::{ApiKey, KeyHash};
use deja_core::cache::{Answer, Entry, Inserted, NewEntry, PromptHash};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::project::{Project, Slug};
use deja_core::provider::ProviderConfig;
use deja_core::rate_limit::Quota;
use deja_core::store::StoreError;
use futures::{StreamExt as _, TryStreamExt as _};
use half::f16;

use super::{
    Batch, EntryRecord, Fate, KeyRecord, ProjectRecord, ProviderRecord, Record, VectorRecord, timestamp,
};
use crate::admin::{Acting, AdminError, Reply, models_of, name_of, projects, providers, shown};

/// Entries that are written side by side, so that they share commits.
const SIDE_BY_SIDE: usize = 128;
/// The same with a store that other processes share: it is reached by few connections, which queries need too.
const SIDE_BY_SIDE_SHARED: usize = 4;
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
            AdminError::Invalid(reason) | AdminError::Conflict(reason) => Self::Bad(reason),
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
pub(in crate::admin) async fn import(context: &Acting<'_>, batch: Batch) -> Result<Reply, AdminError> {
    if batch.first {
        context.store.note(&context.change("cache.import")).await?;
    }
    let mut known = HashMap::new();
    let mut fates = Vec::with_capacity(batch.records.len());
    let mut entries = Vec::new();
    for record in batch.records {
        let at = fates.len();
        let taken = match record {
            Record::Project(record) => project(context, *record).await,
            Record::Provider(record) => provider(context, &mut known, record).await,
            Record::Key(record) => key(context, &mut known, record).await,
            Record::Entry(record) => match entry(context, &mut known, *record).await {
                Ok(Some(new)) => {
                    entries.push((at, new));
                    Ok(Fate::Stored)
                }
                Ok(None) => Ok(Fate::Expired),
                Err(refused) => Err(refused),
            },
        };
        let fate = match taken {
            Ok(fate) => fate,
            Err(Refused::Bad(reason)) => Fate::Bad(reason),
            Err(Refused::Failed(error)) => return Err(error),
        };
        let is_bad = matches!(fate, Fate::Bad(_));
        fates.push(fate);
        if is_bad && !batch.skip_bad {
            break;
        }
    }
    let inserts = entries
        .into_iter()
        .map(|(at, new)| async move { Ok::<_, AdminError>((at, insert(context, new).await?)) });
    let at_once = if context.store.claims().is_some() { SIDE_BY_SIDE_SHARED } else { SIDE_BY_SIDE };
    let inserted: Vec<(usize, Fate)> =
        futures::stream::iter(inserts).buffer_unordered(at_once).try_collect().await?;
    if inserted.iter().any(|(_, fate)| *fate == Fate::Stored) {
        context.imported.notify_one();
    }
    for (at, fate) in inserted {
        fates[at] = fate;
    }
    Ok(Reply::Imported(fates))
}

/// The project of this slug, looked up once a batch.
async fn owner<'a>(
    context: &Acting<'_>,
    known: &'a mut HashMap<String, Project>,
    slug: &str,
) -> Result<&'a Project, Refused> {
    if !known.contains_key(slug) {
        let missing = || {
            let slug = shown(slug);
            format!("there is no project '{slug}' here: create it, or export it too (--with-projects)")
        };
        let project = context.store.project(slug).await?.ok_or_else(missing)?;
        known.insert(slug.to_owned(), project);
    }
    known.get(slug).ok_or_else(|| Refused::Bad("no project".into()))
}

async fn project(context: &Acting<'_>, record: ProjectRecord) -> Result<Fate, Refused> {
    let slug: Slug = record.project.parse().map_err(|error| format!("{error}"))?;
    if context.store.project(slug.as_str()).await?.is_some() {
        return Ok(Fate::There);
    }
    let custom_quota = match (record.requests_per_minute, record.burst) {
        (Some(rate), Some(burst)) => Some(Quota::new(rate, burst).map_err(|error| error.to_string())?),
        _ => None,
    };
    projects::check(&record.settings)?;
    let project = Project {
        id: id(&record.id)?,
        name: name_of("the name", &record.name)?,
        slug,
        tier: record.tier,
        custom_quota,
        suspended: record.suspended,
        settings: record.settings,
        created: timestamp(record.created)?,
    };
    let change =
        context.change("project.create").within(project.id).of(project.slug.as_str()).how("imported");
    context.store.create_project(&project, &change).await?;
    Ok(Fate::Stored)
}

async fn provider(
    context: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    record: ProviderRecord,
) -> Result<Fate, Refused> {
    let project = owner(context, known, &record.project).await?.id;
    if context.store.providers(project).await?.iter().any(|other| other.name == record.name) {
        return Ok(Fate::There);
    }
    (context.url_check)(&record.base_url, record.allow_private)?;
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
    let change = context.change("provider.add").within(project).of(&provider.name).how("imported");
    context.store.add_provider(&provider, &change).await?;
    Ok(Fate::Stored)
}

async fn key(
    context: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    record: KeyRecord,
) -> Result<Fate, Refused> {
    let project = owner(context, known, &record.project).await?.id;
    let mut hash = [0; 32];
    hex::decode_to_slice(record.hash.expose(), &mut hash)
        .map_err(|_| "the key's hash is not that of a key".to_owned())?;
    if let Some(admission) = context.store.admit(&KeyHash(hash)).await? {
        let same = admission.project.id == project;
        return if same {
            Ok(Fate::There)
        } else {
            Err(Refused::Bad("the key opens another project".into()))
        };
    }
    let key = ApiKey {
        id: id(&record.id)?,
        project,
        name: name_of("the name", &record.name)?,
        shown: record.shown.chars().take(7).collect(),
        hash: KeyHash(hash),
        models: record.models.map(models_of).transpose()?,
        created: timestamp(record.created)?,
        revoked: record.revoked.map(timestamp).transpose()?,
    };
    // One that is revoked here stays revoked.
    let found = context.store.find_keys(&record.id).await?;
    if found.iter().any(|other| other.project == project && other.id == key.id) {
        return Ok(Fate::There);
    }
    let change = context
        .change("key.create")
        .within(project)
        .of(format!("{} {}", key.shown, key.name))
        .how("imported");
    match context.store.create_key(&key, &change).await {
        Err(StoreError::Conflict(_)) => Ok(Fate::There),
        created => Ok(created.map(|()| Fate::Stored)?),
    }
}

/// The entry to store; `None` if it is no longer served. It goes where its project looks for it, whatever the
/// project it comes from had set about sharing answers between models.
async fn entry(
    context: &Acting<'_>,
    known: &mut HashMap<String, Project>,
    record: EntryRecord,
) -> Result<Option<NewEntry>, Refused> {
    let project = owner(context, known, &record.project).await?;
    let (created, expires) = (timestamp(record.created)?, record.expires.map(timestamp).transpose()?);
    if record.prompt.is_empty() || record.model.is_empty() {
        return Err(Refused::Bad("an entry needs a prompt and a model".into()));
    }
    let vector = record.vector.map(vector).transpose()?;
    let new = NewEntry {
        scope: project.scope(&record.model, record.context.as_deref()),
        prompt_hash: PromptHash::of(&record.prompt),
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
            },
            created,
            expires,
        },
        vector,
        max_entries: project.settings.max_entries,
    };
    let now: Timestamp = context.clock.now();
    Ok(new.entry.is_live(now).then_some(new))
}

/// A vector keeps the name of who made it: if that is not the embedder here, the entry is embedded again in the
/// background, and found by the same prompt only until then.
fn vector(record: VectorRecord) -> Result<(EmbedderId, Embedding), String> {
    let unusable = || "its vector cannot be read: it is half precision, little-endian, in base64".to_owned();
    let bytes = STANDARD.decode(&record.f16).map_err(|_| unusable())?;
    if bytes.len() % 2 != 0 || bytes.len() > 2 * MAX_DIMENSION || record.embedder.is_empty() {
        return Err(unusable());
    }
    let values: Vec<f32> =
        bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect();
    let embedding = Embedding::new(values).map_err(|error| error.to_string())?;
    Ok((EmbedderId::new(record.embedder), embedding))
}

async fn insert(context: &Acting<'_>, new: NewEntry) -> Result<Fate, AdminError> {
    let (project, id) = (new.scope.project(), new.entry.id);
    match context.store.insert(new).await {
        Ok(Inserted::New) => Ok(Fate::Stored),
        Ok(Inserted::Twin(_)) => Ok(Fate::There),
        // The same entry in another scope: it came before the project began, or ceased, to share answers.
        Err(StoreError::Conflict(_)) if context.store.entry(project, id).await?.is_some() => Ok(Fate::There),
        Err(error) => Err(error.into()),
    }
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{}' is not an id", shown(text)))
}
