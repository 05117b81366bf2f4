//! Serves an empty cluster until interrupted: `cargo run --example serve -- KUBECONFIG [ADDRESS]`.

use std::{env, error::Error, fs, io::Write};

use plimsoll_apiserver::{ApiServer, Config, Tls};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let kubeconfig = arguments.next().ok_or("usage: serve KUBECONFIG [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let server = ApiServer::new(Config {
        fault_endpoint: true,
        ..Config::default()
    });
    let serving = server.serve(TcpListener::bind(address).await?, Tls::SelfSigned)?;
    fs::write(&kubeconfig, serving.kubeconfig(None))?;
    writeln!(
        std::io::stdout(),
        "{}: kubectl --kubeconfig {kubeconfig} get all -A",
        serving.url()
    )?;
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
