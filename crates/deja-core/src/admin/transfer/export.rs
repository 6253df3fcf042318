//! Out: a project's head, and pages of its entries.

use std::num::NonZeroUsize;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use half::f16;

use super::{
    AnswerRecord, Cursor, EntryRecord, Head, KeyRecord, ProjectRecord, ProviderRecord, Record, VectorRecord,
    timestamp,
};
use crate::admin::{Acting, AdminError, Hidden};
use crate::api_key::ApiKey;
use crate::cache::{Entry, PromptHash};
use crate::embedding::Embedding;
use crate::id::EntryId;
use crate::project::Project;
use crate::provider::ProviderConfig;
use crate::rate_limit::Quota;
use crate::store::{EntryCursor, WholeEntry};

/// Entries of a page at most. The store makes it shorter where they are long.
const PAGE: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// What comes before a project's entries; always the same lines in the same order while nothing changes.
pub async fn head(by: &Acting<'_>, wanted: &Head) -> Result<Vec<Record>, AdminError> {
    let project = by.project(&wanted.project).await?;
    let what = match (wanted.settings, wanted.keys) {
        (false, false) => "entries",
        (true, false) => "entries, settings",
        (false, true) => "entries, key hashes",
        (true, true) => "entries, settings, key hashes",
    };
    let change = by.change("cache.export").within(project.id).of(wanted.project.as_str()).how(what);
    by.store().note(&change).await?;
    let slug = project.slug.as_str();
    let mut records = Vec::new();
    if wanted.settings {
        records.push(project_record(&project));
        let providers = by.store().providers(project.id).await?;
        records.extend(providers.iter().map(|provider| provider_record(slug, provider, wanted.secrets)));
    }
    if wanted.keys {
        let keys = by.store().keys(project.id).await?;
        records.extend(keys.iter().map(|(key, _)| key_record(slug, key)));
    }
    Ok(records)
}

/// The project's entries behind `after`, oldest first; none at the end.
pub async fn entries(by: &Acting<'_>, slug: &str, after: Option<Cursor>) -> Result<Vec<Record>, AdminError> {
    let project = by.project(slug).await?;
    let after = after.map(|after| cursor(&after).map_err(AdminError::Invalid)).transpose()?;
    let page = by.store().export(project.id, after, by.now(), PAGE).await?;
    Ok(page.into_iter().map(|whole| Record::Entry(Box::new(entry_record(slug, whole)))).collect())
}

fn cursor(at: &Cursor) -> Result<EntryCursor, String> {
    let id = at.id.parse().map_err(|_| format!("'{}' is not the id of an entry", at.id))?;
    Ok(EntryCursor { created: timestamp(at.created)?, id })
}

/// The record of one entry, if it is live.
pub(in crate::admin) async fn entry(
    by: &Acting<'_>,
    project: &Project,
    entry: &Entry,
) -> Result<Option<Box<EntryRecord>>, AdminError> {
    // The place right before the entry: entries of one moment are in the order of their ids.
    let (created, id) = match u128::from_be_bytes(*entry.id.as_bytes()).checked_sub(1) {
        Some(id) => (entry.created, id),
        None => (entry.created.minus(Duration::from_nanos(1)), u128::MAX),
    };
    let before = EntryCursor { created, id: EntryId::from_bytes(id.to_be_bytes()) };
    let mut page = by.store().export(project.id, Some(before), by.now(), NonZeroUsize::MIN).await?;
    let whole = page.pop().filter(|whole| whole.entry.id == entry.id);
    Ok(whole.map(|whole| Box::new(entry_record(project.slug.as_str(), whole))))
}

fn project_record(project: &Project) -> Record {
    Record::Project(Box::new(ProjectRecord {
        project: project.slug.to_string(),
        id: project.id.to_string(),
        name: project.name.clone(),
        tier: project.tier,
        requests_per_minute: project.custom_quota.map(Quota::per_minute),
        burst: project.custom_quota.map(Quota::burst),
        suspended: project.suspended,
        settings: project.settings.clone(),
        created: project.created.into(),
    }))
}

fn provider_record(slug: &str, provider: &ProviderConfig, secrets: bool) -> Record {
    let sealed = provider.sealed_secret.as_ref().filter(|_| secrets);
    Record::Provider(ProviderRecord {
        project: slug.to_owned(),
        id: provider.id.to_string(),
        name: provider.name.clone(),
        kind: provider.kind,
        base_url: provider.base_url.clone(),
        models: provider.models.clone(),
        allow_private: provider.allow_private,
        created: provider.created.into(),
        has_secret: provider.sealed_secret.is_some(),
        sealed: sealed.map(|bytes| STANDARD.encode(bytes)),
    })
}

fn key_record(slug: &str, key: &ApiKey) -> Record {
    Record::Key(KeyRecord {
        project: slug.to_owned(),
        id: key.id.to_string(),
        name: key.name.clone(),
        shown: key.shown.clone(),
        hash: Hidden::from(hex::encode(key.hash.0)),
        models: key.models.clone(),
        requests_per_minute: key.quota.map(Quota::per_minute),
        burst: key.quota.map(Quota::burst),
        expires: key.expires.map(Into::into),
        created: key.created.into(),
        revoked: key.revoked.map(Into::into),
    })
}

fn entry_record(slug: &str, whole: WholeEntry) -> EntryRecord {
    let WholeEntry { entry, prompt_hash, kind, context, parameters, vectors } = whole;
    let hash = (prompt_hash != PromptHash::of(&entry.prompt)).then(|| hex::encode(prompt_hash.0));
    // A prompt that was too long for an embedder comes without its vector, and is tried again where it goes.
    let mut vectors = vectors.into_iter().filter_map(|(embedder, vector)| {
        Some(VectorRecord { embedder: embedder.to_string(), f16: halves(&vector?) })
    });
    EntryRecord {
        project: slug.to_owned(),
        id: entry.id.to_string(),
        model: entry.model,
        kind,
        context,
        parameters,
        prompt: entry.prompt,
        hash,
        answer: AnswerRecord {
            text: entry.answer.text,
            provider: entry.answer.provider,
            served_model: entry.answer.served_model,
            input_tokens: entry.answer.input_tokens,
            output_tokens: entry.answer.output_tokens,
            tokens_estimated: entry.answer.tokens_estimated,
            record: entry.answer.record.map(|record| STANDARD.encode(record)),
        },
        created: entry.created.into(),
        expires: entry.expires.map(Into::into),
        vector: vectors.next(),
        more_vectors: vectors.collect(),
    }
}

/// What a store keeps of a vector: rounding it again gives the same bits.
fn halves(vector: &Embedding) -> String {
    let bytes: Vec<u8> =
        vector.as_slice().iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
