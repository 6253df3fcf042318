//! The price list in force, with where it came from, and the search that puts a project's own prices first.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::{ModelPrice, PriceTable, PriceTableError};
use crate::clock::Timestamp;
use crate::project::ProjectSettings;

/// Where a price table came from, for the console and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceSource {
    /// `compiled-in`, `last-known-good`, or the URL it was fetched from, without secrets: all editors see it.
    pub name: String,
    /// What the source calls this version: a date or an ETag.
    pub revision: Option<String>,
    /// When it was fetched, or last found unchanged; `None` for the table compiled in.
    pub fetched_at: Option<Timestamp>,
}

impl PriceSource {
    /// How old the table is at `now`; `None` for the table compiled in.
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        self.fetched_at.map(|fetched| now.since(fetched))
    }
}

/// A price table and where it came from.
#[derive(Clone, Debug)]
pub struct PriceList {
    /// The prices.
    pub table: Arc<PriceTable>,
    /// Where they came from.
    pub source: PriceSource,
}

impl PriceList {
    /// How old the prices are at `now`: since they were fetched or, in the table compiled in, since they were gathered.
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        self.source.age(now).or_else(|| self.table.as_of().map(|gathered| now.since(gathered)))
    }
}

/// Holds the price list in force. Replacing it takes effect on the very next call; who holds the old one keeps it.
#[derive(Debug)]
pub struct PriceBook(RwLock<Arc<PriceList>>);

impl PriceBook {
    /// A book that starts with the table compiled in.
    pub fn compiled_in() -> Self {
        let table = PriceTable::compiled_in();
        let revision = table.revision().map(Into::into);
        Self::new(table, PriceSource { name: "compiled-in".into(), revision, fetched_at: None })
    }

    /// A book that starts with `table`.
    pub fn new(table: PriceTable, source: PriceSource) -> Self {
        Self(RwLock::new(Arc::new(PriceList { table: Arc::new(table), source })))
    }

    /// The list in force.
    pub fn current(&self) -> Arc<PriceList> {
        self.0.read().clone()
    }

    /// Puts `table` in force, unless [`PriceTable::check_replacement`] objects: then the old one stays.
    pub fn replace(&self, table: PriceTable, source: PriceSource) -> Result<(), PriceTableError> {
        let mut list = self.0.write();
        list.table.check_replacement(&table)?;
        *list = Arc::new(PriceList { table: Arc::new(table), source });
        Ok(())
    }

    /// Puts `table` in force, however few models it has.
    pub fn put(&self, table: PriceTable, source: PriceSource) {
        let mut list = self.0.write();
        *list = Arc::new(PriceList { table: Arc::new(table), source });
    }

    /// Notes that the source still has the same table at `now`.
    pub fn confirm(&self, now: Timestamp) {
        let mut list = self.0.write();
        let source = PriceSource { fetched_at: Some(now), ..list.source.clone() };
        *list = Arc::new(PriceList { table: list.table.clone(), source });
    }
}

/// Where a price comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceOrigin {
    /// The project's own.
    Override,
    /// The price table's.
    Table,
}

impl PriceOrigin {
    /// The name in listings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Table => "table",
        }
    }
}

/// A price, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priced {
    /// The price.
    pub price: ModelPrice,
    /// Where the price comes from.
    pub origin: PriceOrigin,
    /// The model id that it was found under.
    pub key: String,
}

/// The price of a call to `provider` that asked for `requested` and was answered by `served`; `None` if it is
/// not known. For each id, the asked one first, the project's own price wins over the table. A project's own
/// price holds for exactly that model id, or for `provider/model`.
pub fn price_for(
    settings: &ProjectSettings,
    list: &PriceList,
    provider: &str,
    served: Option<&str>,
    requested: &str,
) -> Option<Priced> {
    [Some(requested), served].into_iter().flatten().find_map(|model| {
        own_price(settings, provider, model).or_else(|| {
            let (price, key) = list.table.find_model(provider, model)?;
            Some(Priced { price: price.clone(), origin: PriceOrigin::Table, key: key.to_owned() })
        })
    })
}

fn own_price(settings: &ProjectSettings, provider: &str, model: &str) -> Option<Priced> {
    if settings.prices.is_empty() {
        return None;
    }
    let with_provider = format!("{provider}/{model}");
    let (key, price) = settings
        .prices
        .get_key_value(model)
        .or_else(|| settings.prices.get_key_value(with_provider.as_str()))?;
    Some(Priced { price: price.clone(), origin: PriceOrigin::Override, key: key.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::PicoUsdPerToken;

    fn priced(price: u64) -> ModelPrice {
        ModelPrice::flat(PicoUsdPerToken(price), PicoUsdPerToken::default())
    }

    #[test]
    fn a_projects_own_price_wins() {
        let list = PriceBook::compiled_in().current();
        let mut settings = ProjectSettings::default();
        let find =
            |settings: &ProjectSettings, asked| price_for(settings, &list, "openai", Some("gpt-4o"), asked);
        assert_eq!(find(&settings, "gpt-4o-mini").unwrap().origin, PriceOrigin::Table);
        settings.prices.insert("gpt-4o-mini".into(), priced(7));
        settings.prices.insert("openai/alias".into(), priced(8));
        settings.prices.insert("gpt-4o".into(), priced(9));
        for (asked, price) in [("gpt-4o-mini", 7), ("alias", 8), ("unknown", 9)] {
            let found = find(&settings, asked).unwrap();
            assert_eq!((found.origin, found.price), (PriceOrigin::Override, priced(price)), "{asked}");
        }
        // The asked model's price in the table comes before the served model's own price.
        assert_eq!(find(&settings, "gpt-5").unwrap().key, "gpt-5");
        assert_eq!(price_for(&settings, &list, "openai", None, "unknown"), None);
    }

    #[test]
    fn a_table_that_loses_models_does_not_take_over() {
        let book = PriceBook::compiled_in();
        let source =
            PriceSource { name: "test".into(), revision: None, fetched_at: Some(Timestamp::from_secs(60)) };
        let one = r#"{"m":{"mode":"chat","input_cost_per_token":0,"output_cost_per_token":0}}"#;
        assert!(book.replace(PriceTable::parse(one.as_bytes()).unwrap(), source.clone()).is_err());
        assert_eq!(book.current().source.name, "compiled-in");
        assert_eq!(book.current().source.age(Timestamp::from_secs(99)), None);
        let day = Duration::from_hours(24);
        let gathered = book.current().table.as_of().unwrap();
        assert_eq!(book.current().age(gathered.plus(day)), Some(day), "prices compiled in grow old too");
        book.replace(PriceTable::compiled_in(), source).unwrap();
        assert_eq!(book.current().source.age(Timestamp::from_secs(99)), Some(Duration::from_secs(39)));
        assert_eq!(book.current().age(Timestamp::from_secs(99)), Some(Duration::from_secs(39)));
        book.confirm(Timestamp::from_secs(90));
        assert_eq!(book.current().source.age(Timestamp::from_secs(99)), Some(Duration::from_secs(9)));
    }
}
