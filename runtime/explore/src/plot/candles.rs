//! Candlestick charts: opening, highest, lowest and closing price of each period.

use onrush_expr::diagnostics::{place, plan_error};
use onrush_wire::Diagnostic;
use onrush_wire::plot::{Candles, Layer, LayerRequest};

use super::axis_values::{Values, each_of};
use super::{Source, grouped, needed};

/// Candles that can be told apart.
const CANDLES: usize = 500;

impl Source<'_> {
    pub(super) fn candles(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x_expr = needed(layer.x.as_ref(), layer.mark, "x")?;
        let open_expr = needed(layer.y.as_ref(), layer.mark, "open")?;
        let mut prices = vec![open_expr];
        for (at, what) in ["high", "low", "close"].into_iter().enumerate() {
            prices.push(needed(layer.more_y.get(at), layer.mark, what)?);
        }
        let rows = self.rows(std::iter::once(x_expr).chain(prices.iter().copied()).map(Some))?;
        let x = Values::of(&rows, 0, x_expr)?;
        let number = |index: usize, what: &str| {
            let expr = prices[index - 1];
            Values::of(&rows, index, expr)?.number(&format!("the {what} of a candlestick chart"), expr)
        };
        let (open, high) = (number(1, "opening price")?, number(2, "high price")?);
        let (low, close) = (number(3, "low price")?, number(4, "closing price")?);
        let columns = [Some(&x), Some(&open), Some(&high), Some(&low), Some(&close)];
        let (mut candles, mut left_out, mut count) = (Vec::new(), 0, 0);
        each_of(&rows, columns, self.task, |candle| {
            if candle.iter().any(|value| !value.is_finite()) {
                left_out += 1;
            } else {
                count += 1;
                if count <= CANDLES {
                    candles.push(candle);
                }
            }
        })?;
        if count > CANDLES {
            let message = format!("{} candles cannot be told apart, the most are {CANDLES}", grouped(count));
            return Err(place(plan_error("plot-size", message), x_expr.span.as_ref(), None, "too many values").help(
                "filter the frame, or combine rows: `f.group_by_dynamic(\"time\", \"1w\")` with the first, max, min \
                 and last price",
            ));
        }
        self.left_out(left_out, "row", "no value");
        candles.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let list = |n: usize| candles.iter().map(|candle| candle[n]).collect::<Vec<f64>>();
        let mut y = close.axis();
        y.label = "price".to_string();
        let (at, open, high, low, close) = (list(0), list(1), list(2), list(3), list(4));
        Ok(Layer::Candles(Candles { x: x.axis(), y, at, open, high, low, close }))
    }
}
