//! A console over a data directory of its own, and a browser without a screen.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use axum::http::{Request, Response};
use deja_core::admin::Acting;
use deja_core::admin::keys::{self, KeyWish};
use deja_core::admin::projects::{self, NewProject};
use deja_core::analytics::Outcome;
use deja_core::audit::{Actor, AuditFilter, AuditRow, Change};
use deja_core::cache::{Answer, Frame, Met, NewEntry, PromptHash, Scope};
use deja_core::embedding::{EmbedderId, Embedding, Similarity};
use deja_core::id::{EntryId, KeyId, OperatorId, ProjectId, SystemEntropy};
use deja_core::member::Rank;
use deja_core::money::NanoUsd;
use deja_core::operator::{Operator, PlainToken, Role, Session};
use deja_core::project::{Project, Tier};
use deja_core::request_log::{LoggedRequest, MetEntry};
use deja_core::testing::{self, entry, new_entry};
use deja_server::config::{Config, Sources};
use deja_server::routes;
use deja_server::wiring::{Components, wire};
use http_body_util::BodyExt;
use scraper::{Html, Selector};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// A server without a socket.
pub struct World {
    pub wired: Components,
    pub router: Router,
    secure: bool,
    _data: tempfile::TempDir,
}

impl World {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// One that people reach under this URL.
    pub async fn at(public_url: &str) -> Self {
        Self::with(&[("DEJA_PUBLIC_URL", public_url)]).await
    }

    /// One with these settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let usual = [
            ("DEJA_DATA_DIR", data.path().to_str().unwrap()),
            ("DEJA_PRICES_URL", ""),
            ("DEJA_PUBLIC_URL", "http://deja.test"),
            ("DEJA_EMBED_TIMEOUT_MS", "60000"),
        ];
        let env = usual.iter().chain(settings).map(|(name, value)| ((*name).into(), (*value).into()));
        let env: BTreeMap<String, String> = env.collect();
        let secure = env["DEJA_PUBLIC_URL"].starts_with("https");
        let sources = Sources { directory: data.path().into(), env, ..Sources::default() };
        let config = Config::load(&sources).unwrap();
        let wired = wire(&config, TaskTracker::new(), CancellationToken::new(), CancellationToken::new())
            .await
            .unwrap();
        let router = routes::router(wired.app.clone(), wired.console.clone()).unwrap();
        Self { wired, router, secure, _data: data }
    }

    /// One with a project, and the browser of somebody with this role.
    pub async fn with_project(name: &str, role: Role) -> (Self, Project, Browser) {
        let world = Self::new().await;
        let project = world.project(name).await;
        let browser = world.browser_of(role).await;
        (world, project, browser)
    }

    /// One with all there is to look at in one project, and the browser of somebody with this role.
    pub async fn furnished_for(role: Role) -> (Self, (Project, EntryId), Browser) {
        let world = Self::new().await;
        let furnished = world.furnished().await;
        let browser = world.browser_of(role).await;
        (world, furnished, browser)
    }

    /// The rows of a project in the audit log, newest first.
    pub async fn changes(&self, project: ProjectId) -> Vec<AuditRow> {
        self.wired.store.changes(&AuditFilter::of(project), None, NonZeroUsize::MAX).await.unwrap()
    }

    /// A browser that nobody is signed in with.
    pub fn stranger(&self) -> Browser {
        Browser { router: self.router.clone(), cookies: BTreeMap::new() }
    }

    /// A browser of a new operator with this role. A member is editor of all projects that the test makes.
    pub async fn browser_of(&self, role: Role) -> Browser {
        let (operator, browser) = self.operator(role).await;
        if role == Role::Member {
            for project in self.wired.store.projects().await.unwrap() {
                self.rank(&project, operator.id, Rank::Editor).await;
            }
        }
        browser
    }

    /// A browser of a new member of deja with this rank in a project, or with none in any.
    pub async fn member(&self, project: &Project, rank: Option<Rank>) -> Browser {
        let (operator, browser) = self.operator(Role::Member).await;
        if let Some(rank) = rank {
            self.rank(project, operator.id, rank).await;
        }
        browser
    }

    async fn rank(&self, project: &Project, operator: OperatorId, rank: Rank) {
        let change = Change::new(self.wired.admin.clock.now(), Actor::System, "test");
        self.wired.store.set_rank(project.id, operator, rank, &change).await.unwrap();
    }

    /// A new operator with this role and no rank in any project, signed in.
    pub async fn operator(&self, role: Role) -> (Operator, Browser) {
        let now = self.wired.admin.clock.now();
        let email =
            format!("{}-{}@example.com", role.as_str(), self.wired.store.operators().await.unwrap().len());
        let operator = Operator {
            id: OperatorId::generate(now, &SystemEntropy).unwrap(),
            email: email.parse().unwrap(),
            ..testing::operator(1, role, now)
        };
        let change = Change::new(now, Actor::System, "test");
        self.wired.store.create_operator(&operator, &change).await.unwrap();
        let token = PlainToken::generate(&SystemEntropy).unwrap();
        let session = Session {
            token: token.hash(),
            operator: operator.id,
            created: now,
            last_seen: now,
            expires: now.plus(Duration::from_hours(1)),
            user_agent: "test".into(),
        };
        let begun = self.wired.store.create_session(&session, &operator.password, false, &change).await;
        assert!(begun.unwrap());
        let mut browser = self.stranger();
        let name = if self.secure { "__Host-deja_session" } else { "deja_session" };
        browser.cookies.insert(name.into(), token.reveal().into());
        (operator, browser)
    }

    /// For use cases, as the command line would call them.
    pub fn acting(&self) -> Acting<'_> {
        self.wired.admin.acting(Actor::Cli)
    }

    /// A project, with all members of deja as editors.
    pub async fn project(&self, name: &str) -> Project {
        let new = NewProject { name: name.into(), tier: Tier::Free, per_minute: None, burst: None };
        let project = projects::create(&self.acting(), new).await.unwrap();
        for operator in self.wired.store.operators().await.unwrap() {
            if operator.role == Role::Member {
                self.rank(&project, operator.id, Rank::Editor).await;
            }
        }
        project
    }

    pub async fn reload(&self, slug: &str) -> Project {
        self.wired.store.project(slug).await.unwrap().unwrap()
    }

    /// An entry of a project's cache.
    pub async fn entry(
        &self,
        project: &Project,
        prompt: &str,
        answer: &str,
        context: Option<&str>,
    ) -> EntryId {
        let embedded = self.wired.embedder.embed(prompt).await.unwrap();
        let vector = embedded.vector().map(|vector| (self.wired.embedder.id().clone(), vector.clone()));
        self.put(project, "gpt-4o-mini", [prompt, answer], context, vector).await
    }

    /// An entry that is not found by meaning, which takes less time.
    pub async fn entry_without_vector(
        &self,
        project: &Project,
        model: &str,
        prompt: &str,
        context: Option<&str>,
    ) -> EntryId {
        self.put(project, model, [prompt, "An answer."], context, None).await
    }

    async fn put(
        &self,
        project: &Project,
        model: &str,
        [prompt, answer]: [&str; 2],
        context: Option<&str>,
        vector: Option<(EmbedderId, Embedding)>,
    ) -> EntryId {
        let frame = Frame::query(Some(model), context);
        self.put_in(project, frame, model, [prompt, answer], None, vector).await
    }

    /// An entry of a wire format.
    pub async fn recorded(&self, project: &Project, frame: Frame, prompt: &str) -> EntryId {
        let record = Some("{}".into());
        self.put_in(project, frame, "m", [prompt, "An answer."], record, None).await
    }

    /// One that is found by meaning.
    pub async fn question(&self, project: &Project, frame: Frame, prompt: &str) -> EntryId {
        let embedded = self.wired.embedder.embed(prompt).await.unwrap();
        let vector = embedded.vector().map(|vector| (self.wired.embedder.id().clone(), vector.clone()));
        self.put_in(project, frame, "m", [prompt, "An answer."], Some("{}".into()), vector).await
    }

    async fn put_in(
        &self,
        project: &Project,
        frame: Frame,
        model: &str,
        [prompt, answer]: [&str; 2],
        record: Option<Bytes>,
        vector: Option<(EmbedderId, Embedding)>,
    ) -> EntryId {
        let now = self.wired.admin.clock.now();
        let id = EntryId::generate(now, &SystemEntropy).unwrap();
        let mut entry = entry(id, prompt, now);
        entry.model = model.into();
        entry.answer =
            Answer { text: answer.into(), input_tokens: 7, output_tokens: 9, record, ..entry.answer };
        let vectors = vector.into_iter().collect();
        let new = NewEntry { vectors, ..new_entry(Scope::new(project.id, frame), entry) };
        self.wired.store.insert(new).await.unwrap();
        id
    }

    /// The log says that the entry answered these prompts.
    pub async fn answered(&self, project: &Project, entry: EntryId, prompts: &[&str]) {
        let logged = prompts.iter().enumerate().map(|(number, prompt)| LoggedRequest {
            request: Some(format!("request-{number}")),
            ..self.logged(project, entry, prompt)
        });
        self.wired.store.log_requests(&logged.collect::<Vec<_>>()).await.unwrap();
    }

    /// A request that the entry answered by meaning.
    pub fn logged(&self, project: &Project, entry: EntryId, prompt: &str) -> LoggedRequest {
        LoggedRequest {
            key: KeyId::from_bytes([0; 16]),
            model: "gpt-4o-mini".into(),
            asked: Some(PromptHash::of(prompt)),
            text: (project.settings.request_texts_days > 0).then(|| prompt.to_owned()),
            outcome: Outcome::SemanticHit,
            met: Some(MetEntry {
                entry,
                similarity: Similarity::from_cosine(0.9),
                met: Met::Served,
                reason: None,
            }),
            latency: Some(Duration::from_millis(3)),
            saved: NanoUsd::from_nanos(1_500_000_000),
            ..testing::logged(project.id, self.wired.admin.clock.now())
        }
    }

    /// All there is to look at in one project.
    pub async fn furnished(&self) -> (Project, EntryId) {
        let project = self.project("Furnished").await;
        keys::create(&self.acting(), "furnished", key("first")).await.unwrap();
        let entry = self.entry(&project, "What is the capital of France?", "Paris.", None).await;
        self.entry(&project, "How do I reset my password?", "Like this.", Some("Be brief.")).await;
        (project, entry)
    }
}

/// A key that may ask for everything.
pub fn key(name: &str) -> KeyWish {
    KeyWish { name: name.into(), ..KeyWish::default() }
}

/// A browser: cookies, forms, and pages as parsed HTML.
#[derive(Clone)]
pub struct Browser {
    pub router: Router,
    pub cookies: BTreeMap<String, String>,
}

impl Browser {
    pub async fn get(&mut self, path: &str) -> Page {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Sends a form from a page of the console.
    pub async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Page {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = Request::post(path)
            .header("sec-fetch-site", "same-origin")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    /// Sends a form and opens the page that it leads to.
    pub async fn submit(&mut self, path: &str, form: &[(&str, &str)]) -> Page {
        let answer = self.post(path, form).await;
        assert_eq!(answer.status, 303, "{path} {form:?}: {}", answer.text());
        self.get(answer.location()).await
    }

    pub async fn send(&mut self, request: Request<Body>) -> Page {
        Page::of(self.answer(request).await).await
    }

    /// The answer to a request, of whose body nothing is taken yet.
    pub async fn answer(&mut self, mut request: Request<Body>) -> Response<Body> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request.headers_mut().insert(COOKIE, cookies.join("; ").parse().unwrap());
        }
        request.headers_mut().insert("host", "deja.test".parse().unwrap());
        let response = self.router.clone().oneshot(request).await.unwrap();
        for cookie in response.headers().get_all(SET_COOKIE) {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            // Browsers drop what is longer, without a word.
            if name.len() + value.len() > 4096 {
                continue;
            }
            if rest.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.into(), value.into());
            }
        }
        response
    }
}

/// An answer.
pub struct Page {
    pub status: u16,
    pub headers: axum::http::HeaderMap,
    pub body: String,
}

impl Page {
    async fn of(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// The texts of the elements that match, one line each.
    pub fn all(&self, selector: &str) -> Vec<String> {
        let selector = Selector::parse(selector).unwrap();
        let html = Html::parse_document(&self.body);
        let text = |element: scraper::ElementRef<'_>| {
            element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        html.select(&selector).map(text).collect()
    }

    /// The text of the one element that matches.
    #[track_caller]
    pub fn one(&self, selector: &str) -> String {
        let all = self.all(selector);
        assert_eq!(all.len(), 1, "{selector}: {all:?} in {}", self.body);
        all.into_iter().next().unwrap()
    }

    /// An attribute of the elements that match.
    pub fn attributes(&self, selector: &str, name: &str) -> Vec<String> {
        let html = Html::parse_document(&self.body);
        let selector = Selector::parse(selector).unwrap();
        html.select(&selector).filter_map(|element| element.attr(name).map(str::to_owned)).collect()
    }

    /// All that a reader sees.
    pub fn text(&self) -> String {
        self.all("body").join(" ")
    }

    #[track_caller]
    pub fn location(&self) -> &str {
        self.headers
            .get(LOCATION)
            .unwrap_or_else(|| panic!("{} {}", self.status, self.body))
            .to_str()
            .unwrap()
    }
}
