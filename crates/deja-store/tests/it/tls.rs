//! TLS to PostgreSQL: what each `sslmode` takes and refuses. The server of the tests has no TLS, so one stands
//! in front of it that does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deja_core::testing::change;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::postgres::{Database, settings, try_store};
use crate::support::project;

/// The first message of a client that would like TLS (protocol-message-formats, SSLRequest).
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A certificate for `name`, and the file with the root that signed it.
struct Identity {
    tls: TlsAcceptor,
    root: PathBuf,
}

impl Identity {
    fn of(name: &str, folder: &Path) -> Self {
        let root_key = KeyPair::generate().unwrap();
        let mut root = CertificateParams::new(Vec::new()).unwrap();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let file = folder.join(format!("{name}.pem"));
        std::fs::write(&file, root.self_signed(&root_key).unwrap().pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &Issuer::new(root, root_key)).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
        Self { tls: TlsAcceptor::from(Arc::new(config)), root: file }
    }
}

/// PostgreSQL with TLS, or one that says it has none.
struct Front {
    address: SocketAddr,
    encrypted: Arc<AtomicUsize>,
    plain: Arc<AtomicUsize>,
    _accepting: JoinSet<()>,
}

impl Front {
    async fn to(server: &str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (encrypted, plain) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (server, counts) = (server.to_owned(), (Arc::clone(&encrypted), Arc::clone(&plain)));
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut carried = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (server, tls, counts) = (server.clone(), tls.clone(), counts.clone());
                carried.spawn(async move {
                    // A client that refuses the certificate is what some cases are about.
                    let _ended = carry(client, &server, tls, &counts.0, &counts.1).await;
                });
            }
        });
        Self { address, encrypted, plain, _accepting: accepting }
    }

    /// Connections with TLS and without.
    fn seen(&self) -> (bool, bool) {
        let any = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
        (any(&self.encrypted), any(&self.plain))
    }
}

async fn carry(
    mut client: TcpStream,
    server: &str,
    tls: Option<TlsAcceptor>,
    encrypted: &AtomicUsize,
    plain: &AtomicUsize,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let mut first = [0; 8];
    client.read_exact(&mut first).await?;
    if first == SSL_REQUEST {
        if let Some(tls) = tls {
            client.write_all(b"S").await?;
            let mut client = tls.accept(client).await?;
            encrypted.fetch_add(1, Ordering::Relaxed);
            copy_bidirectional(&mut client, &mut server).await?;
            return Ok(());
        }
        client.write_all(b"N").await?;
        if client.peek(&mut first).await? == 0 {
            return Ok(());
        }
    } else {
        server.write_all(&first).await?;
    }
    plain.fetch_add(1, Ordering::Relaxed);
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mode_takes_what_it_says_and_nothing_else() {
    let database = Database::create().await;
    let (_, rest) = database.url.split_once('@').unwrap();
    let (server, name) = rest.split_once('/').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let here = Identity::of("localhost", folder.path());
    let elsewhere = Identity::of("db.example.com", folder.path());
    let root = |identity: &Identity| format!("sslrootcert={}", identity.root.display());
    // What the server shows, the mode, and what comes of it: connected with TLS, without, or refused.
    let (with_tls, without) = (Some("tls"), Some("plain"));
    let cases = [
        (Some(&here), String::new(), with_tls),
        (Some(&here), "sslmode=prefer".into(), with_tls),
        (Some(&here), "sslmode=disable".into(), without),
        (Some(&here), "sslmode=require".into(), with_tls),
        (Some(&elsewhere), "sslmode=require".into(), with_tls),
        (Some(&here), format!("sslmode=verify-full&{}", root(&here)), with_tls),
        (Some(&here), format!("sslmode=verify-ca&{}", root(&here)), with_tls),
        (Some(&here), format!("sslmode=require&{}", root(&here)), with_tls),
        (Some(&here), format!("sslmode=verify-full&{}", root(&here).replace('/', "%2F")), with_tls),
        // Another root, no root but the public ones, another name.
        (Some(&here), format!("sslmode=verify-full&{}", root(&elsewhere)), None),
        (Some(&here), format!("sslmode=require&{}", root(&elsewhere)), None),
        (Some(&here), "sslmode=verify-full".into(), None),
        (Some(&elsewhere), format!("sslmode=verify-full&{}", root(&elsewhere)), None),
        // A server without TLS.
        (None, "sslmode=prefer".into(), without),
        (None, "sslmode=require".into(), None),
        (None, format!("sslmode=verify-full&{}", root(&here)), None),
    ];
    for (number, (identity, mode, expected)) in (1..).zip(cases) {
        let front = Front::to(server, identity.map(|identity| identity.tls.clone())).await;
        let url = format!("postgres://deja@localhost:{}/{name}?{mode}", front.address.port());
        let shown = identity.map(|identity| &identity.root);
        match (try_store(settings(&url)).await, expected) {
            (Ok(store), Some(expected)) => {
                store.create_project(&project(number), &change()).await.unwrap();
                store.close().await.unwrap();
                assert_eq!(front.seen(), (expected == "tls", expected == "plain"), "{shown:?} {mode}");
            }
            (Err(error), None) => {
                assert!(!front.seen().1, "{shown:?} {mode}: nothing went without TLS");
                let error = error.to_string().to_lowercase();
                assert!(error.contains("tls") || error.contains("certificate"), "{mode}: {error}");
            }
            (Ok(_), None) => panic!("{shown:?} {mode}: it connected"),
            (Err(error), _) => panic!("{shown:?} {mode}: {error}"),
        }
    }
}
