//! Streams one after the other, computed several at a time.

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::common::exec_datafusion_err;
use tokio::sync::oneshot;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use onrush_parallel::Cores;
use onrush_parallel::inside::{collect, streams_in_order};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]))
}

fn batch(value: i64) -> RecordBatch {
    let values: Int64Array = vec![value].into();
    RecordBatch::try_new(schema(), vec![Arc::new(values)]).unwrap()
}

/// Streams that give one row each when they are told to, or fail.
type Gates = (Vec<oneshot::Sender<()>>, SendableRecordBatchStream);

fn gated(fails: &[bool], limited: bool) -> Gates {
    let (senders, receivers): (Vec<_>, Vec<_>) = fails.iter().map(|_| oneshot::channel()).unzip();
    let receivers: Vec<_> = receivers.into_iter().map(|receiver| std::sync::Mutex::new(Some(receiver))).collect();
    let fails = fails.to_vec();
    let open = move |number: usize| -> Result<SendableRecordBatchStream> {
        let gate = receivers[number].lock().unwrap().take().unwrap();
        let fails = fails[number];
        let row = stream::once(async move {
            gate.await.unwrap();
            if fails { Err(exec_datafusion_err!("stream {number}")) } else { Ok(batch(number as i64)) }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), row)))
    };
    let count = senders.len();
    (senders, streams_in_order(schema(), count, Cores::new(3), limited, open))
}

/// All orders of the numbers below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    match count {
        0 => vec![Vec::new()],
        _ => orders(count - 1)
            .into_iter()
            .flat_map(|order| {
                (0..count).map(move |place| {
                    let mut order = order.clone();
                    order.insert(place, count - 1);
                    order
                })
            })
            .collect(),
    }
}

async fn opened(senders: Vec<oneshot::Sender<()>>, order: &[usize]) {
    let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
    for number in order {
        let _ = senders[*number].take().unwrap().send(());
        tokio::task::yield_now().await;
    }
}

fn values(batches: &[RecordBatch]) -> Vec<i64> {
    batches.iter().map(|batch| batch.column(0).as_primitive::<Int64Type>().value(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn rows_come_in_order_whichever_partition_ends_first() {
    for order in orders(5) {
        let (senders, rows) = gated(&[false; 5], false);
        let rows = tokio::spawn(collect(rows));
        opened(senders, &order).await;
        assert_eq!(values(&rows.await.unwrap().unwrap()), [0, 1, 2, 3, 4], "{order:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_error_of_the_earliest_partition_is_shown() {
    for order in orders(4) {
        let (senders, mut rows) = gated(&[false, true, false, true], false);
        let opening = tokio::spawn(async move { opened(senders, &order).await });
        assert_eq!(values(&[rows.next().await.unwrap().unwrap()]), [0]);
        let error = rows.next().await.unwrap().unwrap_err().to_string();
        assert!(error.contains("stream 1"), "{error}");
        assert!(rows.next().await.is_none());
        opening.await.unwrap();
    }
}

/// A gather that is dropped ends the partitions that are under way: their gates are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn partitions_end_with_the_gather() {
    let (senders, mut rows) = gated(&[false; 3], true);
    let mut senders = senders.into_iter();
    senders.next().unwrap().send(()).unwrap();
    assert_eq!(values(&[rows.next().await.unwrap().unwrap()]), [0]);
    drop(rows);
    for mut gate in senders {
        gate.closed().await;
    }
}
