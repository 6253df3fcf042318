//! Databases of PostgreSQL that deja cannot be run on: the start is refused, and says what to do.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::postgres::{Database, settings, try_store};

async fn refusal(url: &str) -> String {
    try_store(settings(url)).await.err().unwrap().to_string()
}

/// What is not UTF-8 there cannot be stored, and is searched for wrongly.
#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let database = Database::create().await;
    let name = format!("latin_{}", std::process::id());
    let client = database.client().await;
    let create =
        format!("CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    client.batch_execute(&create).await.unwrap();
    let (base, _) = database.url.rsplit_once('/').unwrap();
    let refused = refusal(&format!("{base}/{name}")).await;
    assert!(refused.contains("LATIN1") && refused.contains("ENCODING 'UTF8'"), "{refused}");
    client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
}

#[tokio::test]
async fn an_old_pgvector_is_refused() {
    let database = Database::create().await;
    let client = database.client().await;
    let older = "CREATE EXTENSION IF NOT EXISTS vector; SET allow_system_table_mods = on;
                 UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'";
    client.batch_execute(older).await.unwrap();
    let refused = refusal(&database.url).await;
    assert!(refused.contains("pgvector is 0.7.4") && refused.contains("ALTER EXTENSION"), "{refused}");
}

#[tokio::test]
async fn a_role_without_rights_is_told_which_it_needs() {
    let database = Database::create().await;
    let (client, role) = (database.client().await, format!("plain_{}", std::process::id()));
    client.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    let (_, server) = database.url.split_once('@').unwrap();
    let refused = refusal(&format!("postgres://{role}@{server}")).await;
    assert!(refused.contains("permission denied") && refused.contains("owner of the database"), "{refused}");
    client.batch_execute(&format!("DROP ROLE {role}")).await.unwrap();
}

#[tokio::test]
async fn a_search_path_without_a_schema_is_told_of() {
    let database = Database::create().await;
    let refused = refusal(&format!("{}?options=-csearch_path%3Dmissing", database.url)).await;
    assert!(refused.contains("no schema") && refused.contains("search_path of deja's role"), "{refused}");
}

/// Locks and settings of a session would be those of whoever gets it next.
#[tokio::test]
async fn a_pooler_that_shares_sessions_is_refused() {
    let database = Database::create().await;
    let (before, rest) = database.url.split_once('@').unwrap();
    let (server, name) = rest.split_once('/').unwrap();
    let (pooler, _pooling) = pooler(server.to_owned()).await;
    let refused = refusal(&format!("{before}@{pooler}/{name}?sslmode=disable")).await;
    assert!(refused.contains("pool by session"), "{refused}");
}

/// Gives all its clients one session of `server`, each until it has its answer. What a client sends at once ends with the
/// mark that the server answers with its own.
async fn pooler(server: String) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (asks, mut asked) = mpsc::channel::<(Vec<u8>, mpsc::Sender<Vec<u8>>)>(8);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut session = TcpStream::connect(server).await.unwrap();
        let mut greeting = None;
        while let Some((sent, answers)) = asked.recv().await {
            // A client begins with its length; the first byte of everything else is a letter.
            let answer = match &greeting {
                Some(greeting) if sent[0] == 0 => Vec::clone(greeting),
                _ => {
                    session.write_all(&sent).await.unwrap();
                    answer(&mut session).await
                }
            };
            greeting.get_or_insert_with(|| answer.clone());
            let _ = answers.send(answer).await;
        }
    });
    tasks.spawn(async move {
        let mut clients = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let asks = asks.clone();
            clients.spawn(async move {
                let (answers, mut answered) = mpsc::channel(1);
                let mut sent = vec![0; 65_536];
                while let Ok(length @ 1..) = client.read(&mut sent).await {
                    // It says goodbye.
                    if sent[0] == b'X' {
                        return;
                    }
                    asks.send((sent[..length].to_vec(), answers.clone())).await.unwrap();
                    let answer = answered.recv().await.unwrap();
                    client.write_all(&answer).await.unwrap();
                }
            });
        }
    });
    (address, tasks)
}

/// What a session says until it is ready for the next query.
async fn answer(session: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    loop {
        let mut head = [0; 5];
        session.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize - 4];
        session.read_exact(&mut body).await.unwrap();
        answer.extend([&head[..], &body].concat());
        if head[0] == b'Z' {
            return answer;
        }
    }
}
