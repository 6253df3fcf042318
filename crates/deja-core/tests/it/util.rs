//! An engine over fakes, and a caller.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use deja_core::analytics::{Outcome, Totals, UsageEvent, hour_of};
use deja_core::api_key::{ApiKey, PlainKey};
use deja_core::cache::{Frame, LabelSource, Labelled, Met, Readings, Scope};
use deja_core::clock::Clock;
use deja_core::embedding::{EmbedError, Embedded, Embedder, EmbedderId, Embedding, Threshold};
use deja_core::engine::{
    CallLimits, Ended, Engine, Listener, Opinion, Parts, Query, QueryError, RecordLimits, Reply, Said, Source,
};
use deja_core::id::{EntryId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::pricing::{PriceBook, PriceSource, PriceTable};
use deja_core::project::{Guard, Project, ProjectSettings, Tier};
use deja_core::provider::{
    Completion, Endpoint, FailureClass, Finish, Forward, Forwarded, Keyless, Length, Provider, ProviderError,
    Providers, Route, TokenCount, TokenCounter, TokenUsage,
};
use deja_core::request_log::{LogFilter, LoggedRequest};
use deja_core::store::{
    Admission, Entries, Keys, LogOrder, NewLabel, OwnProviders, Projects, RequestLog, StoreError, Usage,
};
use deja_core::testing::{self, ManualClock, SeededEntropy, change, project};
use deja_wire::Wire;
use futures::StreamExt;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::store::OddStore;

/// Two prices: `cheap` at 1 and 2 USD per million tokens, `dear` at ten times that.
const PRICES: &str = r#"{
    "cheap": {"mode": "chat", "litellm_provider": "fake", "input_cost_per_token": 0.000001, "output_cost_per_token": 0.000002,
        "cache_read_input_token_cost": 0.0000001},
    "dear": {"mode": "chat", "litellm_provider": "fake", "input_cost_per_token": 0.00001, "output_cost_per_token": 0.00002}
}"#;

/// Longer than anything here takes on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Small enough to go beyond.
const RECORDS: RecordLimits = RecordLimits { each: 64 * 1024, all: 1024 * 1024 };

/// How long an answer is read that nobody waits for.
pub const HANGUP_TIMEOUT: Duration = Duration::from_mins(2);

const DIMENSION: usize = 256;

/// Prompts that agree up to a `|` are paraphrases (similarity about 0.99), all others have little in common.
pub struct FakeEmbedder {
    id: EmbedderId,
    pub calls: AtomicUsize,
    /// Embedding waits for a permit of this.
    pub gate: Mutex<Option<Arc<Semaphore>>>,
    pub fail: Mutex<Option<EmbedError>>,
}

fn direction(text: &str) -> impl Iterator<Item = f32> {
    let mut state = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// The vector the fake gives a prompt.
pub fn vector(prompt: &str) -> Embedding {
    let base = direction(prompt.split('|').next().unwrap_or_default());
    let own = direction(prompt);
    let values: Vec<f32> = base.zip(own).take(DIMENSION).map(|(base, own)| base + 0.1 * own).collect();
    Embedding::new(values).unwrap()
}

#[async_trait]
impl Embedder for FakeEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn window(&self) -> u32 {
        512
    }

    async fn embed(&self, text: &str) -> Result<Embedded, EmbedError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            drop(gate.acquire().await.unwrap());
        }
        if let Some(error) = self.fail.lock().unwrap().clone() {
            return Err(error);
        }
        if text.starts_with("long") {
            return Ok(Embedded::TooLong { tokens: 999, window: 512 });
        }
        Ok(Embedded::Vector { embedding: vector(text), tokens: 5 })
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Completion, ProviderError>> + Send>>;
type Script = Arc<dyn Fn(String) -> Answer + Send + Sync>;

/// Answers by a script, and keeps what it was asked.
pub struct FakeProvider {
    pub calls: Mutex<Vec<String>>,
    script: Mutex<Script>,
    /// What a call that is passed on gives.
    pub passing: Mutex<Passing>,
    /// Each call waits for a permit of this and uses it up.
    pub gate: Mutex<Option<Arc<Semaphore>>>,
}

impl FakeProvider {
    /// One that repeats what it is asked.
    pub fn new() -> Arc<Self> {
        let script: Script =
            Arc::new(|prompt| Box::pin(async move { Ok(complete(&format!("re: {prompt}"))) }));
        let passing = Mutex::new(counted(Arc::default()));
        Arc::new(Self {
            calls: Mutex::default(),
            script: Mutex::new(script),
            passing,
            gate: Mutex::default(),
        })
    }

    /// What happens from now on with every call.
    pub fn script<F>(&self, script: impl Fn(String) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<Completion, ProviderError>> + Send + 'static,
    {
        *self.script.lock().unwrap() = Arc::new(move |prompt| Box::pin(script(prompt)));
    }

    /// Answers that run into the limit of the model.
    pub fn truncates(&self) {
        self.script(|prompt| async move { Ok(Completion { finish: Finish::Length, ..complete(&prompt) }) });
    }

    /// Holds calls back until permits come.
    pub fn hold(&self) -> Arc<Semaphore> {
        hold(&self.gate)
    }

    pub fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

/// Has those who pass `gate` wait for permits.
pub fn hold(gate: &Mutex<Option<Arc<Semaphore>>>) -> Arc<Semaphore> {
    let permits = Arc::new(Semaphore::new(0));
    *gate.lock().unwrap() = Some(permits.clone());
    permits
}

/// A complete answer: 100 tokens in, 10 out.
pub fn complete(text: &str) -> Completion {
    let usage = TokenUsage { input_total: 100, output_total: 10, ..TokenUsage::default() };
    Completion {
        text: text.into(),
        besides: String::new(),
        finish: Finish::Stop,
        choices: 1,
        model: None,
        usage: Some(usage),
    }
}

/// A failure of this kind.
pub fn failure(class: FailureClass) -> ProviderError {
    ProviderError::new("fake", class, "no")
}

#[async_trait]
impl Provider for FakeProvider {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn base_url(&self) -> &'static str {
        "https://fake.example/v1"
    }

    async fn ask(
        &self,
        _: &str,
        _: Option<&str>,
        prompt: &str,
        _: Length,
    ) -> Result<Completion, ProviderError> {
        self.calls.lock().unwrap().push(prompt.to_owned());
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let script = self.script.lock().unwrap().clone();
        script(prompt.to_owned()).await
    }

    fn serves(&self, endpoint: Endpoint) -> bool {
        matches!(endpoint.wire(), Wire::Chat | Wire::Gemini)
    }

    /// The head is held back by the same permits as a call; the body is what the script gives.
    async fn forward(&self, request: Forward) -> Result<Forwarded, ProviderError> {
        self.calls.lock().unwrap().push(request.model.clone());
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let script = self.passing.lock().unwrap().clone();
        script(request)
    }
}

/// What a call that is passed on gives.
pub type Passing = Arc<dyn Fn(Forward) -> Result<Forwarded, ProviderError> + Send + Sync>;

/// A plain chat completion that says how many calls came before.
fn counted(calls: Arc<AtomicUsize>) -> Passing {
    Arc::new(move |request| {
        let said = format!("answer {}", calls.fetch_add(1, Ordering::SeqCst));
        Ok(plain(200, &chat_completion(&request.model, &said, "stop")))
    })
}

/// The body of a chat completion: 7 tokens in, 3 out.
pub fn chat_completion(model: &str, said: &str, finish: &str) -> String {
    let message = serde_json::json!({"role": "assistant", "content": said});
    let choice = serde_json::json!({"index": 0, "finish_reason": finish, "message": message});
    let usage = serde_json::json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10});
    serde_json::json!({"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage})
        .to_string()
}

/// An answer of JSON.
pub fn plain(status: u16, body: &str) -> Forwarded {
    let body = bytes::Bytes::from(body.to_owned());
    passed(status, "application/json", futures::stream::once(async { Ok(body) }).boxed())
}

/// An answer whose body is this stream.
pub fn passed(
    status: u16,
    kind: &'static str,
    body: futures::stream::BoxStream<'static, Result<bytes::Bytes, ProviderError>>,
) -> Forwarded {
    let headers = [("content-type".parse().unwrap(), kind.parse().unwrap())];
    Forwarded { status, error: None, headers: headers.into_iter().collect(), asked_usage: false, body }
}

/// One provider for all models: that of an admission which names a state of the project's own, and the one that is there now.
pub struct FakeProviders {
    admitted: Arc<FakeProvider>,
    pub now: Mutex<Arc<FakeProvider>>,
}

#[async_trait]
impl Providers for FakeProviders {
    async fn route(&self, caller: &Admission, model: &str, _: Option<Endpoint>) -> Result<Route, StoreError> {
        Ok(match model {
            unsupported if unsupported.starts_with("unsupported") => Route::Unsupported,
            "bare" => Route::NoCredentials(Keyless::BuiltIn("fake")),
            _ if caller.providers == OwnProviders::Unknown => Route::To(self.now.lock().unwrap().clone()),
            _ => Route::To(self.admitted.clone()),
        })
    }
}

/// A token a word, and two around each call; an estimate for all models but `dear`. Keeps what it counted.
#[derive(Default)]
pub struct Words {
    pub counted: Mutex<Vec<String>>,
}

impl TokenCounter for Words {
    fn text(&self, model: &str, text: &str) -> TokenCount {
        self.counted.lock().unwrap().push(text.to_owned());
        TokenCount { tokens: text.split_whitespace().count() as u64, estimated: model != "dear" }
    }

    fn input(&self, _: &str, messages: &[TokenCount]) -> TokenCount {
        let text: u64 = messages.iter().map(|message| message.tokens).sum();
        TokenCount { tokens: text + 2, estimated: true }
    }
}

/// The engine and all it works with.
#[derive(Clone)]
pub struct Bench {
    pub engine: Engine,
    pub store: Arc<OddStore>,
    pub embedder: Arc<FakeEmbedder>,
    pub provider: Arc<FakeProvider>,
    pub providers: Arc<FakeProviders>,
    pub clock: Arc<ManualClock>,
    pub tokens: Arc<Words>,
    pub heard: Arc<Heard>,
    pub tasks: TaskTracker,
    pub cut: CancellationToken,
    pub caller: Admission,
}

/// What the engine's listener was told.
#[derive(Default)]
pub struct Heard(
    pub Mutex<Vec<Outcome>>,
    pub Mutex<Vec<(LabelSource, Met, bool, Labelled)>>,
    /// How long it took until each answer began.
    pub Mutex<Vec<Option<Duration>>>,
    /// How long each call of a provider took.
    pub Mutex<Vec<Duration>>,
    /// What projects' models said, and what that cost.
    pub Mutex<Vec<(Said, NanoUsd)>>,
);

impl Listener for Heard {
    fn ended(&self, _: &Admission, _: &UsageEvent<'_>, ended: Ended<'_>) {
        if let Ended::Answered(reply) = ended {
            self.2.lock().unwrap().push(reply.trace.began);
        }
        self.0.lock().unwrap().push(ended.outcome());
    }

    fn judged(&self, opinion: &Opinion) {
        self.4.lock().unwrap().push((opinion.said, opinion.cost));
    }

    fn called(&self, took: Duration) {
        self.3.lock().unwrap().push(took);
    }

    fn labelled(&self, label: &NewLabel<'_>, came_of_it: Labelled) {
        self.1.lock().unwrap().push((label.source, label.met, label.answers, came_of_it));
    }
}

impl Bench {
    pub async fn new() -> Self {
        Self::with(unguarded(), 100).await
    }

    /// With so many calls to providers at a time.
    pub async fn with(settings: ProjectSettings, calls: usize) -> Self {
        Self::of(settings, CallLimits { all: calls, each: calls }, PATIENCE).await
    }

    pub async fn of(settings: ProjectSettings, calls: CallLimits, query_timeout: Duration) -> Self {
        let store = Arc::new(OddStore::default());
        let embedder = Arc::new(FakeEmbedder {
            id: EmbedderId::new("fake"),
            calls: AtomicUsize::new(0),
            gate: Mutex::default(),
            fail: Mutex::default(),
        });
        let provider = FakeProvider::new();
        let providers =
            Arc::new(FakeProviders { admitted: provider.clone(), now: Mutex::new(provider.clone()) });
        let clock = Arc::new(ManualClock::default());
        let (tokens, heard) = (Arc::<Words>::default(), Arc::<Heard>::default());
        let cut = CancellationToken::new();
        let source = PriceSource { name: "test".into(), revision: None, fetched_at: None };
        let parts = Parts {
            store: store.clone(),
            embedder: embedder.clone(),
            readings: readings(),
            providers: providers.clone(),
            prices: Arc::new(PriceBook::new(PriceTable::parse(PRICES.as_bytes()).unwrap(), source)),
            tokens: tokens.clone(),
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(1)),
            listener: heard.clone(),
            query_timeout,
            calls,
            records: RECORDS,
            hangup_timeout: HANGUP_TIMEOUT,
            cut: cut.clone(),
        };
        let tasks = TaskTracker::new();
        let engine = Engine::new(parts, tasks.clone());
        let caller = admission(&store, &clock, settings, 1).await;
        Self { engine, store, embedder, provider, providers, clock, tokens, heard, tasks, cut, caller }
    }

    /// Somebody says that the entry answered `asked` wrongly, and nothing of rewordings: a pair is forbidden.
    pub async fn found_wrong(&self, entry: EntryId, asked: &str) {
        assert_eq!(self.label_wrong(entry, asked).await, Some(Labelled::Forbidden));
    }

    /// The same, whatever comes of it.
    pub async fn label_wrong(&self, entry: EntryId, asked: &str) -> Option<Labelled> {
        self.engine.label(self.caller.project.id, testing::wrong(entry, asked), &change()).await.unwrap()
    }

    /// Another process with the same store.
    pub fn replica(&self, seed: u64) -> Self {
        self.replica_that_records(seed, RECORDS)
    }

    /// The same, with other limits for answers that it records.
    pub fn replica_that_records(&self, seed: u64, records: RecordLimits) -> Self {
        self.store.shared.store(true, Ordering::SeqCst);
        let parts = Parts {
            store: self.store.clone(),
            embedder: self.embedder.clone(),
            readings: readings(),
            providers: self.providers.clone(),
            prices: Arc::new(PriceBook::compiled_in()),
            tokens: self.tokens.clone(),
            clock: self.clock.clone(),
            entropy: Arc::new(SeededEntropy::new(seed)),
            listener: self.heard.clone(),
            query_timeout: PATIENCE,
            calls: CallLimits { all: 100, each: 100 },
            records,
            hangup_timeout: HANGUP_TIMEOUT,
            cut: CancellationToken::new(),
        };
        Self { engine: Engine::new(parts, self.tasks.clone()), ..self.clone() }
    }

    /// Another project's caller.
    pub async fn another_project(&self) -> Admission {
        admission(&self.store, &self.clock, unguarded(), 2).await
    }

    pub async fn try_ask(&self, query: Query) -> Result<Reply, QueryError> {
        tokio::time::timeout(PATIENCE, self.engine.query(&self.caller, query))
            .await
            .expect("the engine hangs")
    }

    pub async fn ask(&self, prompt: &str) -> Reply {
        self.try_ask(query(prompt)).await.unwrap()
    }

    /// Asks in a task of its own.
    pub fn begin(&self, query: Query) -> JoinHandle<Result<Reply, QueryError>> {
        let bench = self.clone();
        self.tasks.spawn(async move { bench.try_ask(query).await })
    }

    /// Begins a query whose call is held back, and waits until it is made.
    pub async fn lead(&self, query: Query) -> (Arc<Semaphore>, JoinHandle<Result<Reply, QueryError>>) {
        let (gate, before) = (self.provider.hold(), self.provider.count());
        let leader = self.begin(query);
        self.until("the call", |bench| bench.provider.count() > before).await;
        (gate, leader)
    }

    /// A change of the project's own provider: who is admitted from now on asks this one.
    pub fn move_provider(&self) -> Arc<FakeProvider> {
        let moved = FakeProvider::new();
        *self.providers.now.lock().unwrap() = moved.clone();
        moved
    }

    /// Waits until `happened`.
    pub async fn until(&self, what: &str, happened: impl Fn(&Self) -> bool) {
        let began = std::time::Instant::now();
        while !happened(self) {
            assert!(began.elapsed() < PATIENCE, "it does not happen: {what}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What was counted of the caller's project and written.
    pub async fn totals(&self) -> Totals {
        let hour = hour_of(self.clock.now());
        let all = self.store.totals(hour - 1, hour + 1).await.unwrap();
        all.get(&self.caller.project.id).copied().unwrap_or_default()
    }

    /// What is logged so far, oldest first.
    pub async fn logged(&self) -> Vec<LoggedRequest> {
        self.engine.flush_counts().await.unwrap();
        let (project, all) = (self.caller.project.id, LogFilter::default());
        let rows = self.store.logged(project, &all, LogOrder::NEWEST, None, NonZeroUsize::MAX).await.unwrap();
        rows.into_iter().rev().map(|row| row.logged).collect()
    }

    pub async fn entries(&self) -> u64 {
        self.store.count(self.caller.project.id).await.unwrap()
    }
}

/// Gives tasks that were begun time to get to where they wait.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn admission(
    store: &OddStore,
    clock: &ManualClock,
    settings: ProjectSettings,
    number: u8,
) -> Admission {
    let entropy = SeededEntropy::new(u64::from(number));
    let key = PlainKey::generate(&entropy).unwrap();
    let (id, slug) = (ProjectId::from_bytes([number; 16]), format!("project-{number}"));
    let project = Project { tier: Tier::Pro, settings, ..project(id, &slug, clock.now()) };
    store.create_project(&project, &change()).await.unwrap();
    let api_key = ApiKey {
        shown: key.shown(),
        hash: key.hash(),
        ..testing::key(u32::from(number), project.id, clock.now())
    };
    store.create_key(&api_key, &change()).await.unwrap();
    store.key_by_hash(&key.hash()).await.unwrap().unwrap()
}

/// A reader for whom "insure" makes it another question.
fn readings() -> Arc<Readings> {
    Arc::new(Readings::new(|one: &str, other: &str| {
        Some(if one.contains("insure") == other.contains("insure") { 5.0 } else { -5.0 })
    }))
}

/// Settings under which the fake's paraphrases answer each other: they differ by a number, which the guard refuses.
pub fn unguarded() -> ProjectSettings {
    ProjectSettings { guard: Guard::Off, ..ProjectSettings::default() }
}

/// A query for model `cheap` with defaults.
pub fn query(prompt: &str) -> Query {
    Query {
        prompt: prompt.into(),
        model: "cheap".into(),
        threshold: Threshold::DEFAULT,
        context: None,
        request: None,
        wire: None,
        room: None,
    }
}

/// The scope of such queries.
pub fn scope(project: ProjectId) -> Scope {
    Scope::new(project, Frame::query(Some("cheap"), None))
}

/// Whether this is a miss that was stored.
pub fn is_miss(reply: &Reply) -> bool {
    reply.source == Source::Provider(Ok(()))
}
