#include "tests/compile/random_graph.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/ir/builder.h"
#include "tests/compile/random_sequences.h"

namespace ridgeline::testing {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, bool exact)
      : random_(philox_key(seed, exact ? "exact" : "rounded"), 0, 0), exact_(exact) {
    builder_.emplace("random");
  }

  RandomStep run() {
    add_arguments();
    const int ops = 3 + below(8);
    for (int i = 0; i < ops; ++i) add_op();
    differentiate_some();
    add_calls();
    return_some();
    update_some();
    RandomStep step;
    step.exact = exact_;
    step.train = builder_->finish();
    step.forward = forward_of(step.train);
    for (ValueId id : step.train.arguments) {
      const ValueInfo& info = step.train.value(id);
      step.arguments[info.name] = draw(info);
    }
    return step;
  }

 private:
  struct Planned {
    ValueId current, next;
  };
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_.integer(0, n - 1)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
  Value pick_of(std::initializer_list<Value> from) { return pick(std::vector<Value>(from)); }

  void add_arguments() {
    const std::int64_t n = 1 + below(3);
    const std::int64_t channels = pick(std::vector<std::int64_t>{1, 3, 8, 16, 20});
    const Shape image{n, 4 + below(5), 4 + below(5), channels};
    values_.push_back(builder_->input("image", {DType::f32, image}));
    if (chance(50)) values_.push_back(builder_->input("image2", {DType::f32, image}));
    step_ = builder_->state("step", {DType::i64, {}});
    scalar_ = chance(50) ? builder_->state("scalar", {DType::f32, {}}) : builder_->input("scalar", {DType::f32, {}});
    if (chance(30)) values_.push_back(stored("perturbation", image));
  }

  // A parameter or a state.
  Value stored(const std::string& name, const Shape& shape) {
    const Value v =
        chance(60) ? builder_->param(name, {DType::f32, shape}) : builder_->state(name, {DType::f32, shape});
    stored_.push_back(v);
    return v;
  }

  Value weight(const Shape& shape) {
    std::vector<Value> known;
    for (const Value& v : stored_) {
      if (v.shape() == shape) known.push_back(v);
    }
    const auto source = [&] {
      if (!known.empty() && chance(40)) return pick(known);
      known.push_back(stored("w" + std::to_string(stored_.size()), shape));
      return known.back();
    };
    const Value w = source();
    switch (below(9)) {
      case 0: return builder_->apply("scale", {w}, {{"factor", 0.5}});
      case 1: return (w + source()) * 0.5;
      case 2: return w * scalar_;
      case 3: return builder_->apply("relu", {w});
      case 4: return w - source();
      case 5: return builder_->apply("floor", {w});  // quantises values
      case 6:
        return builder_->apply("reshape", {builder_->apply("scale", {w}, {{"factor", 2.0}})}, {{"shape", dims(shape)}});
      default: return w;
    }
  }

  static std::vector<std::int64_t> dims(const Shape& shape) {
    std::vector<std::int64_t> d;
    for (int i = 0; i < shape.rank(); ++i) d.push_back(shape[i]);
    return d;
  }

  Value any(int rank) {
    std::vector<Value> of_rank;
    for (const Value& v : values_) {
      if (v.shape().rank() == rank) of_rank.push_back(v);
    }
    return of_rank.empty() ? Value()
                           : of_rank[of_rank.size() - 1 -
                                     static_cast<std::size_t>(below(std::min<std::int64_t>(3, std::ssize(of_rank))))];
  }

  // Limits magnitudes and, for exact values, the number of bits.
  Value tamed(const Value& v) {
    const Value limited =
        builder_->apply("minimum", {builder_->apply("maximum", {v, builder_->constant(-4)}), builder_->constant(4)});
    return exact_ ? builder_->apply("floor", {limited}) : limited;
  }

  void add_op() {
    const Value x = any(4);
    switch (below(17)) {
      case 0:
      case 1:
      case 2: add_convolution(x); break;
      case 3:
      case 4: add_dense(); break;
      case 5: add_pool(x); break;
      case 6: add_channelwise(x); break;
      case 7: add_window(x); break;
      case 8: add_shape(x); break;
      case 9: sequences().add_classes(any(2)); break;
      case 10: add_reduction(pick(values_)); break;
      case 11:
        values_.push_back(builder_->apply("dropout", {x, step_},
                                          {{"keep_prob", 0.5}, {"key", 77 + static_cast<std::int64_t>(below(3))}}));
        break;
      case 12: sequences().add_product(x); break;
      case 13: sequences().add_parts(x); break;
      case 14: sequences().add_rows(x); break;
      default: add_pointwise(pick(values_)); break;
    }
  }

  void add_convolution(const Value& x) {
    const std::int64_t channels = x.shape()[3];
    const std::int64_t size = pick(std::vector<std::int64_t>{1, 3, 3, 5});
    const std::int64_t pad = below(size / 2 + 1);
    if (std::min(x.shape()[1], x.shape()[2]) + 2 * pad < size) return;
    const std::int64_t groups = channels % 2 == 0 && chance(20) ? 2 : 1;
    const std::int64_t filters = pick(std::vector<std::int64_t>{2, 10, 16, 32});
    const Value w = weight({filters, size, size, channels / groups});
    const std::int64_t stride = 1 + below(2);
    const Attributes attributes{{"stride", std::vector<std::int64_t>{stride, stride}},
                                {"pad", std::vector<std::int64_t>{pad, pad, pad, pad}},
                                {"groups", groups}};
    const Value y = chance(50) ? builder_->apply("conv2d", {x, w, weight({filters})}, attributes)
                               : builder_->apply("conv2d", {x, w}, attributes);
    layers_.push_back(y);
    values_.push_back(tamed(chance(50) ? builder_->apply("relu", {y}) : y));
  }

  void add_dense() {
    Value x = any(2);
    if (!x.defined() || chance(40)) {
      const Value image = any(4);
      x = chance(50) ? builder_->apply("flatten", {image}, {{"order", std::string(chance(50) ? "chw" : "hwc")}})
                     : builder_->apply("reshape", {image},
                                       {{"shape", std::vector<std::int64_t>{
                                                      image.shape()[0], image.shape().elements() / image.shape()[0]}}});
      values_.push_back(x);
    }
    const std::int64_t units = pick(std::vector<std::int64_t>{1, 5, 16, 33});
    const Value w = weight({units, x.shape()[1]});
    const Value y = chance(50) ? builder_->apply("dense", {x, w, weight({units})}) : builder_->apply("dense", {x, w});
    layers_.push_back(y);
    values_.push_back(tamed(y));
  }

  void add_pool(const Value& x) {
    if (x.shape()[1] < 2 || x.shape()[2] < 2) return;
    const std::vector<std::int64_t> two{2, 2};
    const std::vector<std::int64_t> stride{1 + below(2), 1 + below(2)};
    const Attributes attributes{{"kernel", two}, {"stride", stride}};
    values_.push_back(tamed(builder_->apply(chance(50) ? "max_pool" : "avg_pool", {x}, attributes)));
  }

  // Windows over pixels that reach beyond the edge, and over channels.
  void add_window(const Value& x) {
    if (!exact_ && chance(50)) {
      values_.push_back(builder_->apply("lrn", {x}, {{"size", std::int64_t{3}}, {"alpha", 0.5}, {"bias", 2.0}}));
      return;
    }
    if (x.shape()[1] < 2 || x.shape()[2] < 2) return;
    const std::vector<std::int64_t> three{3, 3}, stride{2, 2}, pad{1, 1, 1, 1};
    values_.push_back(tamed(builder_->apply("max_pool", {x}, {{"kernel", three}, {"stride", stride}, {"pad", pad}})));
  }

  // Moves elements; also views of inputs.
  void add_shape(const Value& x) {
    const Shape& s = x.shape();
    const std::int64_t n = s[0], h = s[1], w = s[2], c = s[3];
    switch (below(4)) {
      case 0:
        values_.push_back(builder_->apply("transpose", {x}, {{"permutation", std::vector<std::int64_t>{0, 2, 1, 3}}}));
        break;
      case 1:
        if (h < 2) return;
        values_.push_back(builder_->apply("strided_slice", {x},
                                          {{"start", std::vector<std::int64_t>{0, 1, 0, 0}},
                                           {"stride", std::vector<std::int64_t>{1, 1, 2, 1}},
                                           {"size", std::vector<std::int64_t>{n, h - 1, (w + 1) / 2, c}}}));
        break;
      case 2:
        values_.push_back(builder_->apply(
            "pad", {x},
            {{"low", std::vector<std::int64_t>{0, 1, 0, 0}}, {"high", std::vector<std::int64_t>{0, 0, 1, 0}}}));
        break;
      default: {
        const Value from = chance(50) ? values_.front() : x;  // an input, or the last image
        values_.push_back(builder_->apply("reshape", {from}, {{"shape", dims(from.shape())}}));
      }
    }
  }

  // A reduction over some axes that is broadcast back.
  void add_reduction(const Value& v) {
    if (v.shape().rank() < 2) return;
    const bool largest = chance(50);
    std::vector<std::int64_t> axes{v.shape().rank() - 1};
    if (chance(50)) axes.insert(axes.begin(), v.shape().rank() - 2);
    const Value r = builder_->apply(largest ? "reduce_max" : "reduce_sum", {v}, {{"axes", axes}, {"keep_dims", true}});
    values_.push_back(tamed(v - r));
  }

  RandomSequences sequences() {
    return {.builder = *builder_,
            .below = [this](std::int64_t n) { return below(n); },
            .weight = [this](const Shape& shape) { return weight(shape); },
            .tamed = [this](const Value& v) { return tamed(v); },
            .scalar = scalar_,
            .exact = exact_,
            .values = values_,
            .layers = layers_,
            .sums = sums_};
  }

  // After differentiation, which does not support calls.
  void add_calls() {
    for (int k = 0; chance(35) && k < 2; ++k) {
      const Value v = pick(values_);
      GraphBuilder inner("halved");
      inner.returns("y", inner.input("a", v.type()) * 0.5);
      const Graph halved = inner.finish();
      GraphBuilder outer("turned");
      const Value a = outer.input("a", v.type()), b = outer.input("b", v.type());
      const Value half = outer.call("halved", halved, std::vector<Value>{a}, {}).front();
      outer.returns("y", outer.apply("relu", {half}) - b);
      const std::string name = "turned" + std::to_string(k);
      values_.push_back(builder_->call(name, outer.finish(), std::vector<Value>{v, v}, {}).front());
    }
  }

  void add_channelwise(const Value& x) {
    const std::int64_t channels = x.shape()[3];
    const bool one_a_channel = x.shape().elements() == channels;
    if (exact_ || one_a_channel || chance(40)) {
      values_.push_back(tamed(x * weight({channels}) + weight({channels})));
      return;
    }
    const Value mean = builder_->state("mean" + std::to_string(forced_updates_.size()), {DType::f32, {channels}});
    const Value variance =
        builder_->state("variance" + std::to_string(forced_updates_.size()), {DType::f32, {channels}});
    const std::vector<Value> y = builder_->apply_all(
        "batch_norm_train", std::vector<Value>{x, weight({channels}), weight({channels}), mean, variance}, {}, {});
    // As in the blocks of a residual network, which fusion merges.
    Value result = y[0];
    if (chance(40)) result = chance(50) ? result + x : x + result;
    if (chance(60)) result = builder_->apply("relu", {result});
    values_.push_back(result);
    forced_updates_.push_back({mean.id(), y[3].id()});
    forced_updates_.push_back({variance.id(), y[4].id()});
  }

  void add_pointwise(const Value& v) {
    std::vector<Value> same;
    for (const Value& other : values_) {
      if (other.shape() == v.shape()) same.push_back(other);
    }
    const Value other = pick(same);
    switch (below(exact_ ? 8 : 11)) {
      case 0: values_.push_back(builder_->apply("relu", {v})); break;
      case 1: values_.push_back(v + other); break;
      case 2: values_.push_back(v - other * 2); break;
      case 3: values_.push_back(builder_->apply("maximum", {v, other})); break;
      case 4: values_.push_back(tamed(v * other)); break;
      case 5: values_.push_back(builder_->apply("abs", {v})); break;
      case 6: values_.push_back(tamed(v * scalar_)); break;
      case 7: sums_.push_back(builder_->apply(v.shape().rank() > 0 ? "reduce_sum" : "neg", {v * other})); break;
      case 8:
        values_.push_back(builder_->apply("exp", {builder_->apply("minimum", {v, builder_->constant(1)})}));
        break;
      case 9: values_.push_back(v / (builder_->apply("abs", {other}) + 1)); break;
      default: values_.push_back(builder_->apply("sqrt", {builder_->apply("abs", {v}) + 0.5})); break;
    }
  }

  // Gradients of a sum over the output of one layer, with respect to all stored values.
  void differentiate_some() {
    Value loss;
    if (!layers_.empty() && chance(60)) {
      loss = builder_->apply("reduce_sum", {pick(layers_)});
      sums_.push_back(loss);
    }
    Graph graph = builder_->finish();
    std::vector<ValueId> gradients;
    if (loss.defined()) {
      std::vector<ValueId> targets;
      for (const Value& v : stored_) targets.push_back(v.id());
      gradients = differentiate(graph, loss.id(), targets);
    }
    builder_.emplace(std::move(graph));
    for (std::vector<Value>* values : {&values_, &layers_, &sums_, &stored_}) {
      for (Value& v : *values) v = builder_->value(v.id());
    }
    for (Value* v : {&step_, &scalar_}) *v = builder_->value(v->id());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i] != kNoValue) gradients_.push_back({stored_[i].id(), gradients[i]});
    }
  }

  // Ops before, gradients, sums, arguments.
  void return_some() {
    int count = 0;
    const auto maybe = [&](ValueId id, int percent) {
      if (chance(percent)) builder_->returns("r" + std::to_string(count++), builder_->value(id));
    };
    for (const Value& v : values_) maybe(v.id(), 25);
    for (const Value& v : layers_) maybe(v.id(), 25);
    for (const Value& v : sums_) maybe(v.id(), 80);
    for (const Value& v : stored_) maybe(v.id(), 20);
    for (const auto& [target, gradient] : gradients_) maybe(gradient, 30);
    maybe(step_.id(), 20);
    maybe(values_.back().id(), 100);
  }

  void update_some() {
    std::vector<Planned> updates;
    for (const auto& [current, next] : forced_updates_) updates.push_back({current, next});
    const Value rate = exact_ ? builder_->constant(0.5) : builder_->constant(0.01);
    std::vector<ValueId> order;
    for (const Value& v : stored_) order.push_back(v.id());
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
    for (ValueId id : order) {
      if (chance(25)) continue;
      const Value current = builder_->value(id);
      std::vector<ValueId> alike;
      for (const Value& v : stored_) {
        if (v.id() != id && v.type() == current.type()) alike.push_back(v.id());
      }
      std::vector<ValueId> gradient;
      for (const auto& [target, g] : gradients_) {
        if (target == id) gradient.push_back(g);
      }
      switch (below(8)) {
        case 0: updates.push_back({id, id}); break;
        case 1:
          if (!alike.empty()) updates.push_back({id, pick(alike)});  // exchange, rotate, copy
          break;
        case 2:
          if (!updates.empty()) {  // the same next version as another one
            const ValueId next = updates.back().next;
            if (builder_->graph().value(next).type == current.type()) updates.push_back({id, next});
          }
          break;
        case 3: updates.push_back({id, tamed(current * 2 - 1).id()}); break;
        case 4:
          if (!alike.empty()) updates.push_back({id, tamed(current + builder_->value(pick(alike))).id()});
          break;
        default:
          if (gradient.empty()) {
            updates.push_back({id, tamed(current + 1).id()});
          } else if (chance(30)) {
            updates.push_back({id, tamed(current - builder_->value(gradient[0]) * rate).id()});
          } else {
            by_update_op_.push_back({id, gradient[0]});
          }
      }
    }
    for (const auto& [id, gradient] : by_update_op_) add_update_op(id, builder_->value(gradient), rate, updates);
    updates.push_back({step_.id(), (builder_->value(step_.id()) + 1).id()});
    for (std::size_t i = updates.size(); i > 1; --i) {
      std::swap(updates[i - 1], updates[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
    for (const auto& [current, next] : updates) {
      builder_->update(builder_->value(current), builder_->value(next));
      if (chance(15)) builder_->returns("next" + std::to_string(current), builder_->value(next));
    }
  }

  // An update op with its own slots; sometimes a second one that continues from the results of the first.
  void add_update_op(ValueId id, const Value& gradient, const Value& rate, std::vector<Planned>& updates) {
    struct Rule {
      const char* op;
      std::vector<const char*> slots;
      std::vector<Value> scalars;
      Attributes attributes;
    };
    const Attributes means{{"rho", 0.9}, {"epsilon", 0.01}};
    const std::vector<Rule> rules = {
        {"sgd", {}, {rate}, {}},
        {"sgd_momentum", {"momentum"}, {rate}, {{"momentum", 0.9}, {"nesterov", chance(50)}}},
        {"adam", {"mean", "mean_square"}, {rate, rate, rate}, {{"beta1", 0.9}, {"beta2", 0.9}, {"epsilon", 0.01}}},
        {"rmsprop", {"mean_square"}, {rate}, means},
        {"rmsprop_momentum",
         {"mean_square", "momentum"},
         {rate},
         {{"rho", 0.9}, {"epsilon", 0.01}, {"momentum", 0.9}}}};
    const Rule& rule = exact_ ? rules.front() : pick(rules);
    const Value current = builder_->value(id);
    std::vector<Value> read{current};
    for (const char* slot : rule.slots) {
      read.push_back(builder_->state(builder_->graph().value(id).name + "/" + slot, current.type()));
    }
    std::vector<Value> next;
    for (int i = 0; i == 0 || (i == 1 && chance(25)); ++i) {
      std::vector<Value> operands = i == 0 ? read : next;
      operands.push_back(gradient);
      operands.insert(operands.end(), rule.scalars.begin(), rule.scalars.end());
      next = builder_->apply_all(rule.op, operands, rule.attributes, {});
    }
    for (std::size_t i = 0; i < next.size(); ++i) updates.push_back({read[i].id(), next[i].id()});
  }

  Graph forward_of(const Graph& train) {
    Graph graph = train;
    graph.updates.clear();
    std::vector<Return> kept;
    for (const Return& r : graph.returns) {
      if (chance(50)) kept.push_back(r);
    }
    if (kept.empty()) kept.push_back(graph.returns.back());
    graph.returns = kept;
    remove_dead_nodes(graph);
    return graph;
  }

  Tensor draw(const ValueInfo& info) {
    Tensor t(info.type.dtype, info.type.shape);
    const bool positive = info.name.starts_with("variance") || info.name.ends_with("/mean_square");
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      if (info.type.dtype == DType::i64)
        t.set(i, 3);
      else if (info.type.dtype == DType::i32)
        t.set(i, static_cast<double>(below(2)));
      else if (exact_)
        t.set(i, static_cast<double>(below(5)) - 2);
      else
        t.set(i, positive ? 0.5 + random_.uniform() : random_.normal() * 0.5);
    }
    return t;
  }

  SampleRandom random_;
  bool exact_;
  std::optional<GraphBuilder> builder_;  // replaced by one that continues with gradients
  std::vector<Value> values_;
  std::vector<Value> layers_;  // of convolutions and dense layers, before they are limited
  std::vector<Value> sums_;
  std::vector<Value> stored_;
  Value step_, scalar_;
  std::vector<std::pair<ValueId, ValueId>> gradients_, forced_updates_, by_update_op_;
};

}  // namespace

bool holds_exactly(const Graph& graph, const Arguments& arguments) {
  for (const Tensor& t : evaluate(graph, arguments)) {
    if (!t.defined() || !is_floating(t.dtype())) continue;
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const double scaled = t.at(i) * 64;
      if (scaled != std::floor(scaled) || std::abs(scaled) > (1 << 18)) return false;
    }
  }
  return true;
}

RandomStep random_step(std::uint64_t seed) {
  if (seed % 3 != 0) {
    RandomStep step = Generator(seed, true).run();
    if (holds_exactly(step.train, step.arguments)) return step;
  }
  return Generator(seed, false).run();
}

}  // namespace ridgeline::testing
