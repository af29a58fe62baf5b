// ForwardPass: one batch through an encoder's layers.
#pragma once

#include "model/encoder.h"
#include "model/encoder_weights.h"

namespace tollgate {

// Made on the stack for one call; borrows everything.
class ForwardPass {
  public:
    ForwardPass(const Encoder& encoder, const TokenBatch& batch, EncoderWorkspace& work,
                TileLane& lane);

    // Embeddings and all layers, every row: rows() holds the last hidden states.
    void run_all();
    // The same, but of the last layer only each sequence's first row: first_rows() holds them.
    void run_first_rows();

    kernels::ConstMatrix rows() const;
    kernels::Matrix first_rows();
    // first_rows() through the pooler (BERT: tanh, DistilBERT: ReLU); as they are without one.
    void apply_pooler();
    void classify(std::span<float> out);
    void mean_rows(std::span<float> out) const;

  private:
    template <class F>
    void by_rows(std::size_t rows, std::size_t cols, F f);
    void embed();
    void embed_row(std::size_t token, std::size_t position);
    void layer(const LayerWeights& weights);
    void last_layer(const LayerWeights& weights);
    void attend(std::size_t query_rows_each, const kernels::ConstMatrix& q,
                const kernels::Matrix& out);
    void feed_forward(const LayerWeights& weights, const kernels::Matrix& x);
    void normalise(const kernels::Matrix& x, const kernels::ConstMatrix& residual,
                   const NormWeights& norm);
    void aim(const kernels::ConstMatrix& x);
    void prepare(const kernels::ConstMatrix& x);
    void multiply(const kernels::ConstMatrix& x, const LinearWeights& w, const kernels::Matrix& y,
                  kernels::Activation activation);

    const Encoder::Weights& weights_;
    const kernels::KernelTable& table_;
    const TokenBatch& batch_;
    EncoderWorkspace& work_;
    TileLane& lane_;
    std::size_t tokens_;
    std::size_t hidden_;
    kernels::QuantizedRows quantized_;
    kernels::FloatMode mode_;
};

}  // namespace tollgate
