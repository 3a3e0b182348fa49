//! Over TCP, with the `zeromq` crate's subscriber as the outside judge, and with a front end that takes nothing.

use tokio::net::TcpStream;
use zeromq::{Socket, SocketRecv, SubSocket};

use super::*;

async fn publisher() -> (Publisher, UnboundedReceiver<Subscription>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (publisher, subscriptions) = Publisher::on_tcp(listener);
    (publisher, subscriptions, address)
}

async fn begin(subscriptions: &mut UnboundedReceiver<Subscription>) -> Arc<Subscriber> {
    let Some(Subscription::Begin { subscriber, topic }) = subscriptions.recv().await else { panic!("no subscription") };
    subscriber.subscribe(topic);
    subscriber
}

fn frames(topic: &str, body: impl Into<Bytes>) -> ZmqMessage {
    let mut frames = ZmqMessage::from(topic);
    frames.push_back(body.into());
    frames
}

#[tokio::test]
async fn a_subscriber_gets_what_it_asked_for_and_nothing_else() {
    let (publisher, mut subscriptions, address) = publisher().await;
    let mut socket = SubSocket::new();
    socket.connect(&format!("tcp://{address}")).await.unwrap();
    socket.subscribe("b").await.unwrap();
    let subscriber = begin(&mut subscriptions).await;
    subscriber.send(&frames("b", "welcome"));
    publisher.publish(&frames("a", "not this"), Weight::Droppable);
    let long = vec![5u8; 3_000_000];
    publisher.publish(&frames("bc", long.clone()), Weight::Droppable);
    assert_eq!(socket.recv().await.unwrap().into_vec(), frames("b", "welcome").into_vec());
    assert_eq!(socket.recv().await.unwrap().into_vec(), frames("bc", long).into_vec());
    socket.unsubscribe("b").await.unwrap();
    let Some(Subscription::End { subscriber, topic }) = subscriptions.recv().await else { panic!("no end") };
    subscriber.unsubscribe(&topic);
    assert!(!subscriber.wants(b"bc"));
}

#[tokio::test]
async fn who_takes_nothing_loses_messages_and_the_others_none() {
    let (publisher, mut subscriptions, address) = publisher().await;
    let mut stopped = TcpStream::connect(&address).await.unwrap();
    let (mut reader, mut writer) = stopped.split();
    zmtp::greet(&mut reader, &mut writer).await.unwrap();
    writer.write_all(b"\x00\x01\x01").await.unwrap();
    let slow = begin(&mut subscriptions).await;
    let mut socket = SubSocket::new();
    socket.connect(&format!("tcp://{address}")).await.unwrap();
    socket.subscribe("").await.unwrap();
    begin(&mut subscriptions).await;

    let body = Bytes::from(vec![1u8; 8 << 20]);
    for number in 0..40 {
        publisher.publish(&frames(&number.to_string(), body.clone()), Weight::Droppable);
        let message = socket.recv().await.unwrap();
        assert_eq!(message.get(0).unwrap(), number.to_string().as_bytes());
    }
    assert!(slow.queue.lock().losing && slow.queue.lock().bytes <= WAITING);
    let waiting = slow.queue.lock().messages.len();
    publisher.publish(&frames("idle", "small"), Weight::Needed);
    assert_eq!(slow.queue.lock().messages.len(), waiting + 1, "what a front end needs is kept");

    // The slow one is waited for once.
    publisher.taken(Duration::from_millis(1)).await;
    assert!(slow.behind.load(Ordering::Relaxed));
    publisher.taken(Duration::from_secs(3600)).await;
    // When it reads again, it gets all that was kept, and is waited for again.
    let mut got = vec![0u8; 1 << 20];
    while slow.behind.load(Ordering::Relaxed) {
        stopped.readable().await.unwrap();
        let _ = stopped.try_read(&mut got);
        tokio::task::yield_now().await;
    }
    // And once it is gone, it is forgotten.
    drop(stopped);
    while publisher.subscribers.lock().len() > 1 {
        publisher.publish(&frames("x", "y"), Weight::Droppable);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn who_does_not_speak_zmtp_is_let_go() {
    use tokio::io::AsyncReadExt;
    let (publisher, _subscriptions, address) = publisher().await;
    for nonsense in
        [&b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything that there is, and more\r\n\r\n"[..], &[0xff; 80]]
    {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(nonsense).await.unwrap();
        let mut all = Vec::new();
        // Our greeting, and then the end (or a reset, because not all was read).
        let _ = stream.read_to_end(&mut all).await;
        assert!(all.len() <= 64 && publisher.subscribers.lock().is_empty());
    }
}
