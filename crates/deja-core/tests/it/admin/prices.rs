//! Own prices of projects.

use deja_core::admin::{AdminError, prices};
use deja_core::audit::Actor;
use deja_core::pricing::{PicoUsdPerToken, PriceOrigin};

use super::{project, world};

#[tokio::test]
async fn a_projects_own_price_is_shown_and_taken_away() {
    let (_, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let show = async || {
        let found = prices::show(&by, "gpt-4o-mini", Some(&slug)).await.unwrap().priced;
        let price =
            [found.price.rates.input, found.price.rates.output].map(PicoUsdPerToken::dollars_per_million);
        (found.origin, price)
    };
    assert_eq!(show().await, (PriceOrigin::Table, [0.15, 0.6]));
    let set = async |input| prices::set(&by, &slug, "gpt-4o-mini", input, 2.0).await;
    set(1.5).await.unwrap();
    assert_eq!(show().await, (PriceOrigin::Override, [1.5, 2.0]));
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1001.0] {
        let refused = set(bad).await;
        assert!(
            matches!(&refused, Err(AdminError::Setting { name, .. }) if name == "input"),
            "{bad}: {refused:?}"
        );
    }
    prices::unset(&by, &slug, "gpt-4o-mini").await.unwrap();
    assert!(matches!(prices::unset(&by, &slug, "gpt-4o-mini").await, Err(AdminError::NotFound(_))));
    assert!(matches!(prices::show(&by, "gpt-4o-foo", None).await, Err(AdminError::NotFound(_))));
}
