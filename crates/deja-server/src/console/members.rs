//! The members of a project: who may do what in it.

use askama::Template;
use deja_core::admin::{AdminError, members};
use deja_core::member::{Member, Rank};
use serde::Deserialize;

use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Problem, Query};
use super::page::{Answer, Confirm, Frame, Visit};

#[derive(Template)]
#[template(path = "members.html")]
struct MembersPage {
    frame: Frame,
    slug: String,
    members: Vec<Row>,
    ranks: [Rank; 3],
    /// What was typed for a new one, and the rank that was chosen.
    email: String,
    chosen: Rank,
}

struct Row {
    email: String,
    rank: Rank,
    is_self: bool,
}

impl Row {
    /// What can be done, as the form sends it and as the button says it.
    fn actions(&self) -> Vec<(&'static str, &'static str)> {
        let all = [
            (Some(Rank::Viewer), "viewer", "Make viewer"),
            (Some(Rank::Editor), "editor", "Make editor"),
            (Some(Rank::Owner), "owner", "Make owner"),
            (None, "remove", "Remove"),
        ];
        let others = all.into_iter().filter(|(rank, ..)| *rank != Some(self.rank));
        others.map(|(_, value, label)| (value, label)).collect()
    }
}

/// `GET /console/p/{slug}/members`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>) -> Answer {
    let page = page(&visit, &slug, String::new(), Rank::Viewer, None).await?;
    Ok(visit.page(&page))
}

async fn page(
    visit: &Visit,
    slug: &str,
    email: String,
    chosen: Rank,
    problem: Option<Problem>,
) -> Result<MembersPage, ConsoleError> {
    let frame = visit.frame_in(&visit.project()?, "Members", "Members");
    let members = members::list(&visit.acting(), slug).await?;
    let row = |member: Member| Row {
        is_self: member.operator == visit.who.operator.id,
        email: member.email.to_string(),
        rank: member.rank,
    };
    Ok(MembersPage {
        frame: frame.complaining_at(problem),
        slug: slug.to_owned(),
        members: members.into_iter().map(row).collect(),
        ranks: Rank::ALL,
        email,
        chosen,
    })
}

/// Somebody with this rank.
const fn one(rank: Rank) -> &'static str {
    match rank {
        Rank::Viewer => "a viewer",
        Rank::Editor => "an editor",
        Rank::Owner => "an owner",
    }
}

/// What is to become of a member.
#[derive(Deserialize)]
pub(super) struct Wish {
    email: String,
    /// A rank, or `remove`.
    r#do: String,
    /// Whether it is the form that adds one: it changes no rank, which may be one's own.
    #[serde(default)]
    new: bool,
}

#[derive(Deserialize)]
pub(super) struct Own {
    r#do: String,
}

/// `GET /console/p/{slug}/members/own`: who gives up their own rank cannot take it back.
pub(super) async fn confirm_own(visit: Visit, Path(slug): Path<String>, Query(own): Query<Own>) -> Answer {
    let project = visit.project()?;
    let then = match own.r#do.parse::<Rank>() {
        Ok(rank) => format!("You become {} of {}.", one(rank), project.name),
        Err(_) => format!("You leave {}.", project.name),
    };
    let text = format!(
        "{then} Only another owner of the project, or an owner of deja, can make you its owner again."
    );
    let frame = visit.frame_in(&project, "Your own rank", "Members");
    let page = Confirm::new(frame, text, "Give up my rank", format!("/console/p/{slug}/members"));
    let email = visit.who.operator.email.as_str();
    Ok(visit.page(&page.with("email", email).with("do", own.r#do)))
}

async fn is_member(visit: &Visit, slug: &str, email: &str) -> Result<bool, ConsoleError> {
    let email = email.trim().to_lowercase();
    Ok(members::list(&visit.acting(), slug).await?.iter().any(|member| member.email.as_str() == email))
}

/// `POST /console/p/{slug}/members`, and `/own` below it.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(form): Form<Wish>) -> Answer {
    let by = visit.acting();
    let (done, good) = match (form.r#do.as_str(), form.r#do.parse::<Rank>()) {
        ("remove", _) => {
            let good = format!("{} is no member of this project any more.", form.email.trim());
            (members::remove(&by, &slug, &form.email).await, good)
        }
        (_, Ok(rank)) if form.new && is_member(&visit, &slug, &form.email).await? => {
            let email = form.email.trim();
            let problem =
                format!("{email} is a member already, so nothing was changed: change the rank in the list.");
            let problem = Problem::of("email", problem);
            let page = page(&visit, &slug, form.email.clone(), rank, Some(problem)).await?;
            return Ok(visit.again(&page));
        }
        (_, Ok(rank)) => {
            let done = members::set(&by, &slug, &form.email, rank).await;
            (done.map(drop), format!("{} is {} here from the next request on.", form.email.trim(), one(rank)))
        }
        (_, Err(_)) => return Err(ConsoleError::bad_field()),
    };
    match done {
        Ok(()) => {
            // Who took their own rank may not come back here.
            let is_self = form.email.trim().to_lowercase() == visit.who.operator.email.as_str();
            let place =
                if is_self { "/console/projects".into() } else { format!("/console/p/{slug}/members") };
            visit.to(&place, &Flash::good(good))
        }
        Err(AdminError::Invalid(problem) | AdminError::NotFound(problem)) => {
            let chosen = form.r#do.parse().unwrap_or(Rank::Viewer);
            let page = page(&visit, &slug, form.email, chosen, Some(Problem::of("email", problem))).await?;
            Ok(visit.again(&page))
        }
        Err(error) => Err(error.into()),
    }
}
