#include "tests/compile/relu6_blocks.h"

#include <optional>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::testing {
namespace {

class Blocks {
 public:
  explicit Blocks(std::uint64_t seed) : random_(philox_key(seed, "relu6 blocks"), 0, 0) {}

  GraphCase run() {
    const Shape image{2, 4 + below(4), 4 + below(4), channels()};
    Value x = builder_->input("image", {DType::f32, image});
    const std::int64_t blocks = 1 + below(3);
    for (std::int64_t i = 0; i < blocks; ++i) x = block(x);
    const Value weights = builder_->input("weights of the loss", x.type());
    const Value loss = builder_->apply("reduce_sum", {x * weights});
    builder_->returns("loss", loss);
    builder_->returns("y", x);
    Graph graph = builder_->finish();
    const std::vector<ValueId> gradients = differentiate(graph, loss.id(), parameters_);
    builder_.emplace(std::move(graph));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      builder_->returns("gradient " + std::to_string(i), builder_->value(gradients[i]));
    for (const auto& [current, next] : statistics_) builder_->update(builder_->value(current), builder_->value(next));
    GraphCase made{builder_->finish(), {}};
    for (ValueId id : made.graph.arguments) {
      const ValueInfo& info = made.graph.value(id);
      Tensor t(info.type.dtype, info.type.shape);
      const bool factor = info.name.starts_with("gamma");
      for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, factor ? random_.uniform(1, 6) : random_.uniform(-1, 1));
      made.arguments[info.name] = t;
    }
    return made;
  }

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_.integer(0, n - 1)); }
  bool chance() { return below(2) == 0; }
  std::int64_t channels() { return std::vector<std::int64_t>{3, 8, 16, 24}[static_cast<std::size_t>(below(4))]; }
  std::string name(const char* what) { return what + std::to_string(made_++); }

  Value parameter(const char* what, const Shape& shape) {
    const Value v = builder_->param(name(what), {DType::f32, shape});
    parameters_.push_back(v.id());
    return v;
  }

  Value convolution(const Value& x, std::int64_t filters, std::int64_t size, bool by_channel) {
    const std::int64_t in = x.shape()[3], pad = size / 2, groups = by_channel ? in : 1;
    const Value w = parameter("w", {filters, size, size, in / groups});
    return builder_->apply("conv2d", {x, w},
                           {{"pad", std::vector<std::int64_t>{pad, pad, pad, pad}}, {"groups", groups}});
  }

  Value norm(const Value& x) {
    const Shape c{x.shape()[3]};
    const Value gamma = parameter("gamma", c), beta = parameter("beta", c);
    const Value mean = builder_->state(name("mean"), {DType::f32, c});
    const Value variance = builder_->state(name("variance"), {DType::f32, c});
    const auto y = builder_->apply_all("batch_norm_train", std::vector<Value>{x, gamma, beta, mean, variance}, {}, {});
    statistics_.emplace_back(mean.id(), y[3].id());
    statistics_.emplace_back(variance.id(), y[4].id());
    return y[0];
  }

  Value relu6(const Value& x) { return builder_->apply("relu6", {x}); }

  Value block(const Value& x) {
    const std::int64_t in = x.shape()[3], wide = channels();
    Value y = relu6(norm(convolution(x, wide, 1, false)));
    y = relu6(norm(convolution(y, wide, 3, true)));
    y = norm(convolution(y, in, 1, false));
    if (chance()) y = y + x;  // a bottleneck: its relu6, if any, comes after the sum
    if (chance()) y = relu6(y);
    if (chance()) y = y * 0.5 + x;  // another reader of the last op's result
    return y;
  }

  SampleRandom random_;
  std::optional<GraphBuilder> builder_{std::in_place, "relu6_blocks"};
  std::vector<ValueId> parameters_;
  std::vector<std::pair<ValueId, ValueId>> statistics_;
  int made_ = 0;
};

}  // namespace

GraphCase relu6_blocks(std::uint64_t seed) { return Blocks(seed).run(); }

}  // namespace ridgeline::testing
