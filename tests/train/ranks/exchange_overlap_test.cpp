// How much of the gradient exchange is hidden by the backward pass, on eight ranks with a device whose dense layers all
// take the same time and links with a given time per byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/ranks/ranks.h"
#include "tests/comm/ranks.h"

namespace ridgeline::train {
namespace {

constexpr int kRanks = 8, kLayers = 8, kOverlapSteps = 3;
constexpr std::int64_t kRows = 2, kWidth = 64, kNarrow = 8;
// Long compared with the reference kernels of these layers and an exchange in memory.
constexpr double kProductSeconds = 0.02;

// A communicator whose all_reduce takes as long as its bytes need on the links.
class SlowLinks final : public comm::Communicator {
 public:
  SlowLinks(comm::Communicator& ranks, double seconds_per_byte)
      : Communicator(ranks.rank(), ranks.size()), ranks_(ranks), seconds_per_byte_(seconds_per_byte) {}
  void abort(const std::string& why) override { ranks_.abort(why); }
  double seconds() const { return seconds_; }

 protected:
  void do_all_reduce(void* values, std::int64_t count, DType type, comm::Reduction how) override {
    ranks_.all_reduce(values, count, type, how);
    const double taken = seconds_per_byte_ * static_cast<double>(count) * static_cast<double>(size_of(type));
    seconds_ += taken;
    std::this_thread::sleep_for(std::chrono::duration<double>(taken));
  }
  void do_reduce_scatter(const void* values, void* result, std::int64_t count, DType type,
                         comm::Reduction how) override {
    ranks_.reduce_scatter(values, result, count, type, how);
  }
  void do_all_gather(const void* mine, void* all, std::int64_t bytes) override { ranks_.all_gather(mine, all, bytes); }
  void do_broadcast(void* data, std::int64_t bytes, int root) override { ranks_.broadcast(data, bytes, root); }
  void do_all_to_all(const void* parts, void* received, std::int64_t bytes) override {
    ranks_.all_to_all(parts, received, bytes);
  }
  void do_send(const void* data, std::int64_t bytes, int to) override { ranks_.send(data, bytes, to); }
  void do_receive(void* data, std::int64_t bytes, int from) override { ranks_.receive(data, bytes, from); }
  void do_barrier() override { ranks_.barrier(); }
  std::shared_ptr<void> do_allocate(std::int64_t bytes) override { return ranks_.allocate(bytes); }
  std::unique_ptr<Communicator> do_group(const std::vector<int>& ranks, int) override { return ranks_.group(ranks); }

 private:
  comm::Communicator& ranks_;
  double seconds_per_byte_;
  double seconds_ = 0;
};

// The first layer, whose gradient is the last one, has few weights, since no work is left to hide its exchange.
nn::Network layers_of_one_width() {
  return {.name = "wide", .loss = [](nn::ModelContext& context) {
            Value x = context.builder.input("x", {DType::f32, {kRows, kNarrow}});
            for (int i = 0; i < kLayers; ++i) {
              x = nn::dense_layer(
                  context, x, {.name = "fc" + std::to_string(i), .out = kWidth, .activation = nn::Activation::relu});
            }
            return nn::mean(x * x);
          }};
}

struct Measured {
  double seconds = 1e9;  // time of the fastest step
  double exchange = 0;   // time of the links in it
  std::vector<Tensor> values;
};

Measured step_of(bool overlap, double seconds_per_byte) {
  Measured measured;
  comm::expect_ranks(kRanks, [&](comm::Communicator& ranks) {
    const auto links = std::make_shared<SlowLinks>(ranks, seconds_per_byte);
    SessionOptions options{.compute_threads = 1, .device = "simulated"};
    options.simulated.product_seconds = kProductSeconds;
    options.groups[kWorld] = links;
    Session session(options);
    // One bucket per layer: weights and bias.
    std::vector<std::int64_t> ends;
    for (int i = 0; i < kLayers; ++i) ends.push_back(2 * i + 1);
    Model model(
        session, layers_of_one_width(),
        {.distribution = {
             .ranks = kRanks, .rank = ranks.rank(), .overlap = overlap, .split = SplitStrategy::by_indices(ends)}});
    model.prepare_training({.optimizer = optim::Momentum{}, .schedule = optim::Constant{.base = 0.1}});
    Tensor x(DType::f32, {kRows, kNarrow});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, 0.1 * static_cast<double>(i % 7 + ranks.rank()));
    for (int step = 0; step < kOverlapSteps; ++step) {
      model.training().bind("x", x);
      ranks.barrier();
      const double before = links->seconds();
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(model.training().run());
      ranks.barrier();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      if (ranks.rank() != 0 || step == 0) continue;  // the first step creates what later ones keep
      measured.seconds = std::min(measured.seconds, taken.count());
      measured.exchange = links->seconds() - before;
    }
    if (ranks.rank() != 0) return;
    for (const NamedTensor& tensor : model.to_file()) measured.values.push_back(tensor.tensor.clone());
  });
  return measured;
}

// A measurement, for an idle machine.
TEST(ExchangeOverlap, NineTenthsAreHiddenWhereTheLinksKeepUpWithTheBackwardPass) {
  if (std::getenv("RIDGELINE_BUBBLES") == nullptr) GTEST_SKIP() << "takes times: runs with RIDGELINE_BUBBLES=1";
  // The gradient of a layer takes as long as one of the two products in its backward pass.
  const double rate = kProductSeconds / static_cast<double>((kWidth + 1) * kWidth * 4);
  const Measured alone = step_of(true, 0), beside = step_of(true, rate), behind = step_of(false, rate);
  const double left = beside.seconds - alone.seconds;
  fmt::print(
      "8 ranks: {:.0f} ms without links, {:.0f} beside the backward pass, {:.0f} behind it; {:.0f} ms of "
      "exchange, {:.3f} of it hidden\n",
      alone.seconds * 1e3, beside.seconds * 1e3, behind.seconds * 1e3, beside.exchange * 1e3,
      1 - left / beside.exchange);
  EXPECT_GE(behind.seconds - alone.seconds, 0.8 * behind.exchange) << "the links take no time: no yardstick";
  EXPECT_LE(left, 0.1 * beside.exchange);
  ASSERT_EQ(beside.values.size(), behind.values.size());
  for (std::size_t i = 0; i < beside.values.size(); ++i) {
    const Tensor &one = beside.values[i], &other = behind.values[i];
    EXPECT_EQ(std::memcmp(one.raw(), other.raw(), one.byte_size()), 0) << i;
  }
}

}  // namespace
}  // namespace ridgeline::train
