//! Models trained by stochastic gradients: linear ones and perceptrons of several layers.
