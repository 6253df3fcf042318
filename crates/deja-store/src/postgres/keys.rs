//! API keys. Each request asks the database, so that a revocation holds for the very next one on every replica.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use deja_core::api_key::{ApiKey, KeyHash, KeyUsage};
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::{EntryId, KeyId, ProjectId};
use deja_core::project::Tier;
use deja_core::rate_limit::{Decision, MINUTE, Quota};
use deja_core::store::{Admission, Door, Found, Keys, LookUp, LooksAhead, OwnProviders, StoreError};
use tokio::runtime::Handle;
use tokio_postgres::Row;
use uuid::Uuid;

use super::admissions::Asked;
use super::connections::{Connections, Params};
use super::fault::conflict;
use super::limits::{KEYS, QUERIES, SKEW, decision, take_from};
use super::rows::{count, get, hash, id, json, quota, quota_columns, time, time_or_none, to_json, uuid};
use super::{PostgresStore, entries, limits, projects};

/// Columns of a key, from number 0.
const COLUMNS: &str = "k.project_id, k.key_id, k.name, k.shown, k.hash, k.models, k.created, k.revoked,
                       k.requests, k.last_used, k.quota_per_minute, k.quota_burst, k.expires";
/// How many they are.
const WIDTH: usize = 13;

#[async_trait]
impl Keys for PostgresStore {
    async fn create_key(&self, key: &ApiKey, change: &Change) -> Result<(), StoreError> {
        let models = key.models.as_ref().map(to_json).transpose()?;
        let (per_minute, burst) = quota_columns(key.quota);
        let parts = format!(
            "{}, done AS (
                INSERT INTO keys (project_id, key_id, name, shown, hash, models, created, revoked,
                                  quota_per_minute, quota_burst, expires)
                SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM there RETURNING 1)",
            projects::there()
        );
        let params: Params<'_> = &[
            &uuid(key.project.as_bytes()),
            &uuid(key.id.as_bytes()),
            &key.name,
            &key.shown,
            &key.hash.0.as_slice(),
            &models,
            &key.created.as_nanos(),
            &key.revoked.map(Timestamp::as_nanos),
            &per_minute,
            &burst,
            &key.expires.map(Timestamp::as_nanos),
        ];
        let what = || format!("the key {} is there already, or project {} is not", key.shown, key.project);
        match self.change(&parts, params, change).await {
            Ok(0) => Err(StoreError::Conflict(what())),
            created => created.map(drop).map_err(|error| conflict(error, what)),
        }
    }

    async fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<Admission>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {}, p.providers_version FROM keys k JOIN projects p ON p.project_id = k.project_id
             WHERE k.hash = $1 AND k.revoked IS NULL",
            projects::COLUMNS
        );
        let row = self.connections.of_strangers().query_opt(&sql, &[&hash.0.as_slice()]).await?;
        row.map(|row| admission(&row)).transpose()
    }

    async fn keys(&self, project: ProjectId) -> Result<Vec<(ApiKey, KeyUsage)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM keys k WHERE project_id = $1 ORDER BY created, key_id");
        let rows = self.connections.query(&sql, &[&uuid(project.as_bytes())]).await?;
        rows.iter().map(|row| Ok((from_row(row)?, usage_from_row(row)?))).collect()
    }

    async fn find_keys(&self, text: &str) -> Result<Vec<ApiKey>, StoreError> {
        // PostgreSQL takes no NUL in a text, and no prefix has one.
        if text.contains('\0') {
            return Ok(Vec::new());
        }
        let id: Option<KeyId> = text.parse().ok();
        let id = id.as_ref().map(|id| uuid(id.as_bytes()));
        let sql =
            format!("SELECT {COLUMNS} FROM keys k WHERE shown = $1 OR key_id = $2 ORDER BY created, key_id");
        let rows = self.connections.query(&sql, &[&text, &id]).await?;
        rows.iter().map(from_row).collect()
    }

    async fn revoke_key(&self, project: ProjectId, key: KeyId, change: &Change) -> Result<bool, StoreError> {
        let parts = "done AS (
            UPDATE keys SET revoked = $3 WHERE project_id = $1 AND key_id = $2 AND revoked IS NULL
            RETURNING 1)";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(key.as_bytes()), &change.at.as_nanos()];
        Ok(self.change(parts, params, change).await? > 0)
    }
}

#[async_trait]
impl LooksAhead for PostgresStore {
    async fn admit_and_look_up(
        &self,
        hash: &KeyHash,
        wanted: &LookUp,
        now: Timestamp,
    ) -> Result<(Door, Found), StoreError> {
        self.admissions.admit(hash, Asked { wanted: *wanted, now }).await
    }
}

/// What was looked up with an admission.
pub(super) enum Ahead {
    Found(Found),
    /// An entry that is there, of so many bytes: it is to be read by itself.
    Long(EntryId, usize),
}

/// [`LooksAhead::admit_and_look_up`] for several requests of one key, as if they came one after the other.
pub(super) async fn admit_and_look_up(
    connections: &Connections,
    hash: &KeyHash,
    asked: &[Asked],
) -> Result<Vec<(Door, Ahead)>, StoreError> {
    let (Some(first), Some(now)) = (asked.first(), asked.iter().map(|asked| asked.now).max()) else {
        return Ok(Vec::new());
    };
    let connections = connections.of(first.wanted.project);
    let (at, hash) = (now.as_nanos(), hash.0.as_slice());
    let rows = if let [Asked { wanted, .. }] = asked {
        let (scope, prompt) = (wanted.scope.0.as_slice(), wanted.prompt.0.as_slice());
        connections.query(&ADMIT_AND_LOOK_UP, &[&at, &SKEW, &hash, &scope, &prompt]).await?
    } else {
        let scopes: Vec<&[u8]> = asked.iter().map(|asked| asked.wanted.scope.0.as_slice()).collect();
        let prompts: Vec<&[u8]> = asked.iter().map(|asked| asked.wanted.prompt.0.as_slice()).collect();
        connections.query(&ADMIT_AND_LOOK_UP_ALL, &[&at, &SKEW, &hash, &scopes, &prompts]).await?
    };
    let Some(admission) = rows.first().map(admission).transpose()? else {
        return Ok(asked.iter().map(|_| (Door::Unknown, Ahead::Found(Ok(None)))).collect());
    };
    give_back(&connections, &rows[0], &admission.key).await?;
    let told = rows
        .iter()
        .enumerate()
        .map(|(earlier, row)| Ok((door(row, admission.clone(), now, earlier)?, ahead(row)?)));
    told.collect()
}

/// What a row has of an entry: all of it, or its bytes where a row of many leaves a long one out.
fn ahead(row: &Row) -> Result<Ahead, StoreError> {
    let entry: Option<Uuid> = get(row, ENTRY)?;
    let Some(entry) = entry else { return Ok(Ahead::Found(Ok(None))) };
    let bytes = usize::try_from(count(row, BYTES)?).unwrap_or(usize::MAX);
    if bytes > LONG {
        return Ok(Ahead::Long(EntryId::from_bytes(entry.into_bytes()), bytes));
    }
    Ok(Ahead::Found(entries::whole_from_row(row, ENTRY).map(|entry| Some(Arc::new(entry)))))
}

/// Bytes of an answer, beyond which one of many is read by itself: all of them together would take memory and time.
const LONG: usize = 64 * 1024;

/// Where the columns begin that say what was taken from the project's bucket, and from the key's own.
const TAKEN: usize = WIDTH + projects::WIDTH + 1;
const OWN: usize = TAKEN + 3;
/// Where the columns of an entry begin.
const ENTRY: usize = OWN + 3;
/// The column with its bytes. They are 0 for the entry of a single request, which is read whole.
const BYTES: usize = ENTRY + entries::WIDTH + 1;

static ADMIT: LazyLock<String> = LazyLock::new(|| admit("1", "", "", ""));

/// $4 scope, $5 prompt.
static ADMIT_AND_LOOK_UP: LazyLock<String> = LazyLock::new(|| {
    let found = format!("{}, e.record, 0::bigint AS bytes", entries::COLUMNS);
    looking_up("1", "(SELECT $4::bytea AS scope_key, $5::bytea AS prompt_hash, 1 AS nth)", &found, "")
});

/// $4 scopes, $5 prompts; a row for each, in their order. For one alone it would take longer than [`ADMIT_AND_LOOK_UP`].
static ADMIT_AND_LOOK_UP_ALL: LazyLock<String> = LazyLock::new(|| {
    let wanted =
        "(SELECT * FROM unnest($4::bytea[], $5::bytea[]) WITH ORDINALITY AS u (scope_key, prompt_hash, nth))";
    let bytes = "octet_length(e.answer) + coalesce(octet_length(e.record), 0)";
    let short = |column: &str| format!("CASE WHEN {bytes} <= {LONG} THEN {column} END AS {}", &column[2..]);
    let columns = entries::COLUMNS.replace("e.answer", &short("e.answer"));
    let found = format!("{columns}, {}, ({bytes})::bigint AS bytes", short("e.record"));
    looking_up("cardinality($4::bytea[])", wanted, &found, "ORDER BY w.nth")
});

/// [`admit`] with these `columns` of what is `wanted`. The limit keeps the look-up a query of its own: joined as they are, entries are searched
/// by scope and prompt alone, in all projects, and that for who is refused too.
fn looking_up(asked: &str, wanted: &str, columns: &str, order: &str) -> String {
    let found = format!(
        "CROSS JOIN {wanted} AS w
         LEFT JOIN LATERAL (
             SELECT {columns} FROM entries e
             WHERE w.nth <= t.taken AND NOT p.suspended AND e.project_id = t.project_id
                   AND e.scope_key = w.scope_key AND e.prompt_hash = w.prompt_hash
                   AND (e.expires IS NULL OR e.expires > $1)
             LIMIT 1) AS found ON true"
    );
    admit(asked, ", found.*", &found, order)
}

/// $1 now, $2 skew, $3 hash. So many requests are `asked` for; with `more` columns, of what is `joined`, in this `order`.
fn admit(asked: &str, more: &str, joined: &str, order: &str) -> String {
    format!(
        "WITH admitted AS (
             SELECT p.project_id, k.key_id, k.quota_per_minute::bigint AS own_per_minute, k.quota_burst AS own_burst,
                    coalesce(p.quota_per_minute, {per_minute})::bigint AS per_minute,
                    coalesce(p.quota_burst, {burst}) AS burst
             FROM keys k JOIN projects p ON p.project_id = k.project_id
             WHERE k.hash = $3 AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > $1)),
         key_quota AS (
             SELECT project_id, key_id, step, step * own_burst AS capacity, {asked}::bigint AS asked
             FROM (SELECT *, ({MINUTE} + own_per_minute - 1) / own_per_minute AS step FROM admitted
                   WHERE own_per_minute IS NOT NULL) AS stepped),
         key_taken AS ({key_taken}),
         quota AS (
             SELECT project_id, step, step * burst AS capacity, asked
             FROM (SELECT *, ({MINUTE} + per_minute - 1) / per_minute AS step,
                          coalesce((SELECT taken FROM key_taken), {asked}) AS asked
                   FROM admitted) AS stepped
             WHERE asked > 0),
         taken AS ({taken})
         SELECT {COLUMNS}, {project}, p.providers_version, t.full_at, t.seen, t.taken,
                kt.full_at, kt.seen, kt.taken{more}
         FROM keys k JOIN projects p ON p.project_id = k.project_id
              LEFT JOIN taken t ON true LEFT JOIN key_taken kt ON true
              {joined}
         WHERE k.hash = $3 AND k.revoked IS NULL
         {order}",
        per_minute = by_tier(Quota::per_minute),
        burst = by_tier(Quota::burst),
        key_taken = take_from(KEYS),
        taken = take_from(QUERIES),
        project = projects::COLUMNS,
    )
}

/// [`Store::admit_within_limit`](deja_core::store::Store::admit_within_limit) in one statement.
pub(super) async fn admit_within_limit(
    connections: &Connections,
    hash: &KeyHash,
    now: Timestamp,
) -> Result<Door, StoreError> {
    let params: Params<'_> = &[&now.as_nanos(), &SKEW, &hash.0.as_slice()];
    let row = connections.of_strangers().query_opt(&ADMIT, params).await?;
    let Some(row) = row else { return Ok(Door::Unknown) };
    let admission = admission(&row)?;
    give_back(connections, &row, &admission.key).await?;
    door(&row, admission, now, 0)
}

/// Gives back to a key's own bucket what the limit of its project then refused. If that fails, the requests that were admitted go on.
async fn give_back(connections: &Connections, row: &Row, key: &ApiKey) -> Result<(), StoreError> {
    let taken = |bucket: usize| get(row, bucket + 2).map(Option::<i64>::unwrap_or_default);
    let (Some(quota), refused @ 1..) = (key.quota, taken(OWN)? - taken(TAKEN)?) else { return Ok(()) };
    let (connections, key) = (connections.clone(), (key.project, key.id));
    // A task of its own: whoever hangs up meanwhile loses nothing of the key's.
    let giving_back = Handle::current().spawn(async move {
        if let Err(error) = limits::give_back(&connections, key, quota, refused).await {
            tracing::warn!(project.id = %key.0, key.id = %key.1, refused, error = %error, "requests that the limit of a project refused could not be given back to their key");
        }
    });
    // The next request of the key finds its bucket as it should be.
    let _ = giving_back.await;
    Ok(())
}

/// What the bearer of a key finds that is there, after so many `earlier` requests of the same statement.
fn door(row: &Row, admission: Admission, now: Timestamp, earlier: usize) -> Result<Door, StoreError> {
    if admission.key.has_expired(now) {
        return Ok(Door::Expired);
    }
    let own = admission
        .key
        .quota
        .map(|quota| decision(row, OWN, quota, earlier))
        .transpose()?
        .map(Decision::of_key);
    let decision = match own {
        Some(own) if !own.allowed => own,
        own => {
            let of_project = decision(row, TAKEN, admission.project.quota(), earlier)?;
            own.map_or(of_project, |own| own.or_tighter(of_project))
        }
    };
    Ok(Door::Open(admission, decision))
}

/// A number of the project's tier, as an expression.
fn by_tier(number: fn(Quota) -> u32) -> String {
    let cases = Tier::ALL.map(|tier| format!("WHEN '{}' THEN {}", tier.as_str(), number(tier.quota())));
    format!("CASE p.tier {} END", cases.join(" "))
}

fn admission(row: &Row) -> Result<Admission, StoreError> {
    let (key, project) = (Arc::new(from_row(row)?), Arc::new(projects::from_row(row, WIDTH)?));
    let version: Option<Uuid> = get(row, WIDTH + projects::WIDTH)?;
    let providers = version.map_or(OwnProviders::None, |version| OwnProviders::At(version.into_bytes()));
    Ok(Admission { key, project, providers })
}

fn from_row(row: &Row) -> Result<ApiKey, StoreError> {
    let models: Option<&str> = get(row, 5)?;
    Ok(ApiKey {
        project: ProjectId::from_bytes(id(row, 0)?),
        id: KeyId::from_bytes(id(row, 1)?),
        name: get(row, 2)?,
        shown: get(row, 3)?,
        hash: KeyHash(hash(row, 4)?),
        models: if models.is_some() { Some(json(row, 5)?) } else { None },
        quota: quota(row, 10)?,
        expires: time_or_none(row, 12)?,
        created: time(row, 6)?,
        revoked: time_or_none(row, 7)?,
    })
}

fn usage_from_row(row: &Row) -> Result<KeyUsage, StoreError> {
    Ok(KeyUsage { requests: count(row, 8)?, last_used: time_or_none(row, 9)? })
}
