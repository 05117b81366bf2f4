use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use plimsoll_model::{Pod, decode_pod};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::{ServiceBuilder, ServiceExt};

use super::*;
use crate::scripted::pod;
use crate::{ApiClient, BindReply, Clock, FencedBody, NotSent, SystemClock, TermToken, fenced};

/// More than the operating systems of both sides take in before anybody reads.
const LONG: usize = 1 << 25;

fn token() -> Arc<TermToken> {
    TermToken::new(1, SystemClock.now(), Duration::from_mins(2), Duration::from_mins(1))
}

fn a_pod() -> Pod {
    decode_pod(pod("a", 9).to_string().as_bytes()).unwrap()
}

/// A client of the server that listens there.
async fn server_and_client() -> (TcpListener, ApiClient) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connector = HttpConnector::new().map_response(FencedStream::new as fn(_) -> _);
    let connection: HyperClient<_, FencedBody<kube::client::Body>> =
        HyperClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .map_request(move |mut request: Request<kube::client::Body>| {
            *request.uri_mut() = format!("http://{address}{}", request.uri()).parse().unwrap();
            request
        })
        .service(fenced(connection));
    let client = ApiClient::new(kube::Client::new(service, "default"), Arc::new(SystemClock));
    (listener, client)
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains(end) {
        assert_ne!(
            stream.read_buf(&mut received).await.unwrap(),
            0,
            "it ended before {end}"
        );
    }
    String::from_utf8(received).unwrap()
}

#[tokio::test]
async fn what_the_connection_took_in_time_and_still_holds_does_not_get_out_once_the_term_is_over() {
    let (listener, client) = server_and_client().await;
    let token = token();
    let (pod, node) = (a_pod(), "n".repeat(LONG));
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // The connection has the whole request and could get only some of it out.
        stream.readable().await.unwrap();
        token.cancel();
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await;
        received.len()
    };
    let (reply, received) = tokio::join!(biased; client.bind(&token, &pod, &node), server);
    assert_eq!(reply, BindReply::NotSent(NotSent::TermOver));
    assert!(received < LONG, "all of it was sent");
    assert!(token.is_decided(SystemClock.now()));
}

#[tokio::test]
async fn the_end_of_a_term_does_not_touch_what_was_sent_before() {
    let (listener, client) = server_and_client().await;
    let token = token();
    let pod = a_pod();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        for answer in ["HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}"; 2] {
            read_until(&mut stream, "Node").await;
            token.renewed(SystemClock.now());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        // The connection is used again, and the second answer comes after the end.
        read_until(&mut stream, "Node").await;
        token.cancel();
        stream
            .write_all(b"HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\n{}")
            .await
            .unwrap();
    };
    let client = async {
        assert_eq!(client.bind(&token, &pod, "n1").await, BindReply::Created);
        assert_eq!(client.bind(&token, &pod, "n1").await, BindReply::Created);
        client.bind(&token, &pod, "n1").await
    };
    let (reply, ()) = tokio::join!(biased; client, server);
    assert!(matches!(reply, BindReply::Conflict { .. }), "{reply:?}");
}

/// A request that says that it has no body would be sent without a look at the fence.
#[tokio::test]
async fn a_write_without_a_body_is_stopped_at_the_fence_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let token = token();
    let request = || {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.method_mut() = Method::DELETE;
        *request.uri_mut() = format!("http://{address}/pods/a").parse().unwrap();
        let fence = Fence::new(Arc::clone(&token), Arc::new(SystemClock));
        request.extensions_mut().insert(fence);
        request
    };
    let connector = HttpConnector::new().map_response(FencedStream::new as fn(_) -> _);
    let connection: HyperClient<_, FencedBody<Full<Bytes>>> =
        HyperClient::builder(TokioExecutor::new()).build(connector);
    let service = fenced(connection);

    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let received = read_until(&mut stream, "0\r\n\r\n").await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
        token.cancel();
        let mut late = Vec::new();
        let _ = stream.read_to_end(&mut late).await;
        (received, late)
    };
    let client = async {
        let first = service.clone().oneshot(request()).await.unwrap();
        assert!(first.status().is_success());
        token.cancelled().await;
        assert!(service.clone().oneshot(request()).await.is_err());
    };
    let ((), (received, late)) = tokio::join!(biased; client, server);
    assert!(received.starts_with("DELETE /pods/a"), "{received}");
    assert_eq!(late, b"", "not even the head");
}
