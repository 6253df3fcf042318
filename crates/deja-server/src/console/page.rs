//! What stands around every page, and what every handler works with.

use std::sync::Arc;

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, SET_COOKIE};
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Response};
use deja_core::admin::{Acting, AdminError, Seen};
use deja_core::clock::Timestamp;
use deja_core::engine::SendBuffer;
use deja_core::member::Rank;
use deja_core::operator::{Operator, Role};
use deja_core::project::Project;
use deja_core::store::{PAGE_BYTES, Store};
use futures::{Stream, StreamExt as _};

use super::Console;
use super::assets::{self, Addresses};
use super::error::ConsoleError;
use super::flash::{self, Flash};
use super::form::Problem;
use super::session::{self, Cookies, Who};
use crate::format::{self, Moment};

/// What a handler gives back.
pub(super) type Answer = Result<Response, ConsoleError>;

/// What stands around a page.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) who: Option<Person>,
    pub(super) project: Option<Tab>,
    pub(super) flash: Option<Flash>,
    pub(super) assets: &'static Addresses,
    /// What is wrong with a field of the form on the page.
    problem: Option<Problem>,
    here: &'static str,
}

/// Who is signed in, as shown.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) email: String,
    pub(super) role: Role,
}

/// The project that a page is about.
#[derive(Clone)]
pub(super) struct Tab {
    pub(super) slug: String,
    pub(super) name: String,
    /// Whether its requests are refused.
    pub(super) suspended: bool,
    /// What who is signed in may do in it.
    rank: Rank,
}

impl Person {
    fn of(operator: &Operator) -> Self {
        Self { email: operator.email.to_string(), role: operator.role }
    }
}

impl Tab {
    fn of(project: &Project, rank: Rank) -> Self {
        Self {
            slug: project.slug.to_string(),
            name: project.name.clone(),
            suspended: project.suspended,
            rank,
        }
    }
}

/// The pages of a project: path below the project's, name, and the rank that they are for.
const TABS: [(&str, &str, Rank); 10] = [
    ("", "Overview", Rank::Viewer),
    ("/keys", "API Keys", Rank::Viewer),
    ("/analytics", "Analytics", Rank::Viewer),
    ("/quality", "Quality", Rank::Viewer),
    ("/requests", "Requests", Rank::Viewer),
    ("/cache", "Cache", Rank::Editor),
    ("/playground", "Playground", Rank::Editor),
    ("/providers", "Providers", Rank::Editor),
    ("/members", "Members", Rank::Editor),
    ("/settings", "Settings", Rank::Editor),
];

impl Frame {
    /// The frame of a page for strangers.
    pub(super) fn door(title: &str) -> Self {
        Self {
            title: title.into(),
            who: None,
            project: None,
            flash: None,
            assets: assets::addresses(),
            problem: None,
            here: "",
        }
    }

    /// The frame of a page without a title for whoever sent this request, with what they see of the project of the path.
    pub(super) async fn around(console: &Console, cookies: &Cookies, path: &str) -> Self {
        let door = Self::door("");
        let Ok(Some(Who { operator, .. })) = session::find(console, cookies).await else { return door };
        let slug = path.strip_prefix("/p/").and_then(|rest| rest.split('/').next());
        let seen = match slug {
            Some(slug) => console.admin.acting_for(&operator).seen(slug).await.ok(),
            None => None,
        };
        let project = seen.map(|seen| Tab::of(&seen.project, seen.rank));
        Self { who: Some(Person::of(&operator)), project, ..door }
    }

    /// With a message.
    #[must_use]
    pub(super) fn saying(self, flash: Option<Flash>) -> Self {
        Self { flash: flash.filter(|flash| !flash.text.is_empty()), ..self }
    }

    /// With a complaint about the form on the page.
    #[must_use]
    pub(super) fn complaining(self, problem: Option<&str>) -> Self {
        match problem {
            Some(text) => self.saying(Some(Flash::bad(text))),
            None => self,
        }
    }

    /// With a complaint about a field of the page, which is said at the field too.
    #[must_use]
    pub(super) fn complaining_at(self, problem: Option<Problem>) -> Self {
        let text = problem.as_ref().map(|problem| problem.text.clone());
        Self { problem, ..self.complaining(text.as_deref()) }
    }

    /// Says in the title what a form did: screen readers read the title of a new page first.
    pub(super) fn begin_title(&mut self, result: &str) {
        self.title = format!("{result} · {}", self.title);
    }

    /// What is wrong with a field.
    pub(super) fn problem_at(&self, field: &str) -> Option<&str> {
        self.problem.as_ref().filter(|problem| problem.field == field).map(|problem| problem.text.as_str())
    }

    /// For the field to begin with, unless another one is wrong: that gets the focus.
    pub(super) fn begins(&self) -> &'static str {
        if self.problem.is_none() { " autofocus" } else { "" }
    }

    /// Attributes of a field that is explained by the element `hint`, if there is one: where it is wrong they say so, and it
    /// gets the focus.
    pub(super) fn described(&self, field: &str, hint: &str) -> String {
        match (self.problem_at(field), hint) {
            (Some(_), "") => format!(r#" aria-invalid="true" autofocus aria-describedby="{field}-problem""#),
            (Some(_), hint) => {
                format!(r#" aria-invalid="true" autofocus aria-describedby="{field}-problem {hint}""#)
            }
            (None, "") => String::new(),
            (None, hint) => format!(r#" aria-describedby="{hint}""#),
        }
    }

    /// Marks the place in the navigation.
    pub(super) fn current(&self, name: &str) -> &'static str {
        if self.here == name { r#" aria-current="page""# } else { "" }
    }

    /// The pages of the project that who is signed in may open.
    pub(super) fn tabs(&self) -> Vec<(&'static str, &'static str)> {
        let tabs = TABS.into_iter().filter(|(.., least)| self.has(*least));
        tabs.map(|(place, name, _)| (place, name)).collect()
    }

    /// Whether who is signed in has this rank in the project, or a higher one.
    fn has(&self, least: Rank) -> bool {
        self.project.as_ref().is_some_and(|project| project.rank >= least)
    }

    /// Whether they may change what the page is about, and read texts.
    pub(super) fn is_editor(&self) -> bool {
        self.has(Rank::Editor)
    }

    /// Whether they own the project.
    pub(super) fn is_project_owner(&self) -> bool {
        self.has(Rank::Owner)
    }

    pub(super) fn is_owner(&self) -> bool {
        self.who.as_ref().is_some_and(|who| who.role == Role::Owner)
    }
}

/// A request of somebody who is signed in.
pub(super) struct Visit {
    pub(super) console: Arc<Console>,
    pub(super) who: Who,
    /// The project of the address, as they see it.
    seen: Option<Seen>,
    pub(super) flash: Option<Flash>,
}

impl FromRequestParts<Arc<Console>> for Visit {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Arc<Console>) -> Result<Self, ConsoleError> {
        let who = Who::from_request_parts(parts, console).await?;
        let place = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |uri| &uri.0).path();
        let flash = flash::read(console, &Cookies::of(&parts.headers), Some(&who.session.token), place);
        let seen = parts.extensions.get::<Option<Seen>>().cloned().flatten();
        Ok(Self { console: console.clone(), who, seen, flash })
    }
}

impl Visit {
    /// The frame of a page that is about no project.
    pub(super) fn frame(&self, title: &str, here: &'static str) -> Frame {
        let who = Some(Person::of(&self.who.operator));
        Frame { who, here, ..Frame::door(title) }.saying(self.flash.clone())
    }

    /// The frame of a page of a project.
    pub(super) fn frame_in(&self, project: &Project, title: &str, here: &'static str) -> Frame {
        let rank = self.seen.as_ref().map_or(Rank::Viewer, |seen| seen.rank);
        Frame {
            project: Some(Tab::of(project, rank)),
            ..self.frame(&format!("{title} · {}", project.name), here)
        }
    }

    /// The page. Clears the message that was shown on it.
    pub(super) fn page(&self, template: &impl Template) -> Response {
        let mut response = written(template, |page| {
            let mut buffer = SendBuffer::of(self.console.app.by_operators(), self.who.operator.id);
            buffer.grow(page.len())?;
            Ok(buffer.hold(page))
        });
        if self.flash.is_some() {
            response.headers_mut().append(SET_COOKIE, flash::clear(&self.console));
        }
        response
    }

    /// A file, of which the next piece is read when the browser has taken the last one. There are as many at once as there is room
    /// for their pieces.
    pub(super) fn file<E: std::error::Error + Send + Sync + 'static>(
        &self,
        pieces: impl Stream<Item = Result<Vec<u8>, E>> + Send + 'static,
    ) -> Result<Body, ConsoleError> {
        let mut room = self.console.app.by_operators().of(self.who.operator.id);
        if !room.try_take(PAGE_BYTES) {
            return Err(ConsoleError::Overloaded);
        }
        Ok(Body::from_stream(pieces.inspect(move |_| {
            let _until_it_is_sent = &room;
        })))
    }

    /// The same page again, after a form that could not be done.
    pub(super) fn again(&self, template: &impl Template) -> Response {
        refused(self.page(template))
    }

    /// Goes to another page and says something there.
    pub(super) fn to(&self, place: &str, flash: &Flash) -> Answer {
        flash::redirect(&self.console, Some(&self.who.session.token), place, flash)
    }

    /// Goes to another page with good news, or with what went wrong.
    pub(super) fn done<T>(&self, place: &str, done: Result<T, AdminError>, good: &str) -> Answer {
        match done {
            Ok(_) => self.to(place, &Flash::good(good)),
            Err(
                error @ (AdminError::Failed(_)
                | AdminError::Unavailable(_)
                | AdminError::OwnersOnly
                | AdminError::RankTooLow(_)),
            ) => Err(error.into()),
            Err(error) => self.to(place, &Flash::bad(format::sentence(&error.to_string()))),
        }
    }

    /// The project of the address, for its editors and owners.
    pub(super) fn project(&self) -> Result<Project, ConsoleError> {
        Ok(self.seen()?.clone().least(Rank::Editor)?)
    }

    /// The project of the address, for its viewers too: what is shown of it heeds [`Seen::texts`].
    pub(super) fn seen(&self) -> Result<&Seen, ConsoleError> {
        self.seen.as_ref().ok_or(ConsoleError::NotFound)
    }

    /// For the use cases of [`deja_core::admin`], on behalf of this person.
    pub(super) fn acting(&self) -> Acting<'_> {
        self.console.admin.acting_for(&self.who.operator)
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.console.admin.store
    }

    pub(super) fn is_owner(&self) -> bool {
        self.who.operator.role == Role::Owner
    }

    pub(super) fn now(&self) -> Timestamp {
        self.console.now()
    }

    pub(super) fn moment(&self, at: Timestamp) -> Moment {
        Moment::of(at, self.now())
    }

    /// When a key or a token was used last, behind "was".
    pub(super) fn used(&self, last: Option<Timestamp>) -> String {
        last.map_or("never used".into(), |at| format!("last used {}", self.moment(at).relative))
    }
}

/// Inside, where the navigation leads on.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: &'a Frame,
    text: &'a str,
}

#[derive(Template)]
#[template(path = "error_at_door.html")]
struct ErrorAtDoor<'a> {
    frame: &'a Frame,
    text: &'a str,
    onward: (&'static str, &'static str),
}

/// A page that says what went wrong and where to go on.
pub(super) fn error(frame: &Frame, text: &str, onward: (&'static str, &'static str)) -> Response {
    if frame.who.is_some() {
        html(&ErrorPage { frame, text })
    } else {
        html(&ErrorAtDoor { frame, text, onward })
    }
}

/// A template as an answer.
pub(super) fn html(template: &impl Template) -> Response {
    written(template, |page| Ok(page.into()))
}

/// A template as an answer, whose bytes `held` makes of its text.
fn written(template: &impl Template, held: impl FnOnce(String) -> Result<Bytes, ConsoleError>) -> Response {
    match template.render() {
        Ok(page) => held(page).map(Html).into_response(),
        Err(error) => {
            tracing::error!(error.code = "template", "a page could not be written: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written.").into_response()
        }
    }
}

/// The same page again, after a form that could not be done.
pub(super) fn again(template: &impl Template) -> Response {
    refused(html(template))
}

fn refused(mut page: Response) -> Response {
    *page.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    page
}

/// The type of files that spreadsheets open.
pub(super) const CSV: &str = "text/csv; charset=utf-8";

/// A file to keep.
pub(super) fn download(kind: &str, name: &str, content: impl Into<Body>) -> Response {
    let name = format!("attachment; filename=\"{name}\"");
    ([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, &name)], content.into()).into_response()
}

/// A page that asks before something is done that cannot be undone.
#[derive(Template)]
#[template(path = "confirm.html")]
pub(super) struct Confirm {
    frame: Frame,
    text: String,
    submit: &'static str,
    back: String,
    /// Where the form is sent, if not to the page's own address.
    action: Option<String>,
    /// What the form says besides, by the names of its fields.
    fields: Vec<(&'static str, String)>,
    /// What has to be typed, if anything.
    typed: Option<String>,
}

impl Confirm {
    pub(super) fn new(
        frame: Frame,
        text: impl Into<String>,
        submit: &'static str,
        back: impl Into<String>,
    ) -> Self {
        let mut frame = frame;
        // The heading is the title without the project's name.
        let project = frame.project.as_ref().map(|tab| format!(" · {}", tab.name)).unwrap_or_default();
        frame.title.truncate(frame.title.strip_suffix(&project).unwrap_or(&frame.title).len());
        let (text, back) = (text.into(), back.into());
        Self { frame, text, submit, back, action: None, fields: Vec::new(), typed: None }
    }

    /// Says `value` in the form besides.
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Sends the form to this address.
    #[must_use]
    pub(super) fn to(self, action: impl Into<String>) -> Self {
        Self { action: Some(action.into()), ..self }
    }

    /// Asks to type `word` besides.
    #[must_use]
    pub(super) fn typing(self, word: impl Into<String>) -> Self {
        Self { typed: Some(word.into()), ..self }
    }
}
