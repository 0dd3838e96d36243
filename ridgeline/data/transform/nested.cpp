#include "ridgeline/data/transform/nested.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ridgeline/data/sample/batch_step.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"

namespace ridgeline::data {

Transform Compose(std::vector<Transform> operations) { return {"compose", {}, "", std::move(operations)}; }
Transform RandomApply(std::vector<Transform> operations, double p) {
  return {"random_apply", {{"p", p}}, "", std::move(operations)};
}
Transform RandomChoice(std::vector<Transform> operations, std::vector<double> weights) {
  return {"random_choice", {{"weights", std::move(weights)}}, "", std::move(operations)};
}
Transform RandomOrder(std::vector<Transform> operations) { return {"random_order", {}, "", std::move(operations)}; }

namespace {

// Which of its operations a transform runs, for samples and for whole batches alike. Immutable: any thread.
class NestedPlan {
 public:
  enum class Kind { compose, apply, choice, order };
  NestedPlan(const Transform& transform, Kind kind);
  // Positions among the operations, in the order of running. compose draws nothing; random_apply a double (all of them
  // if it is below p); random_choice a double (the first whose share of the weights ends above it); random_order an
  // integer for each but one, from the last place down (Fisher-Yates).
  std::vector<std::size_t> draw(SampleRandom& random) const;

 private:
  Kind kind_;
  std::size_t count_;
  double p_ = 1;
  std::vector<double> ends_;  // of the choices' shares, rising to 1
};

NestedPlan::NestedPlan(const Transform& t, Kind kind) : kind_(kind), count_(t.operations.size()) {
  if (kind == Kind::apply) p_ = arg<double>(t.args, "p");
  if (kind != Kind::choice) return;
  std::vector<double> weights = arg<Reals>(t.args, "weights");
  if (weights.empty()) weights.assign(count_, 1.0);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const double weight : weights) ends_.push_back((sum += weight) / all);
}

std::vector<std::size_t> NestedPlan::draw(SampleRandom& random) const {
  if (kind_ == Kind::choice) {
    const double at = random.uniform();
    std::size_t chosen = 0;
    while (chosen + 1 < count_ && !(at < ends_[chosen])) ++chosen;
    return {chosen};
  }
  if (kind_ == Kind::apply && !(random.uniform() < p_)) return {};
  std::vector<std::size_t> all(count_);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (kind_ == Kind::order) {
    for (std::size_t last = count_; last-- > 1;)
      std::swap(all[last], all[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(last)))]);
  }
  return all;
}

using Kind = NestedPlan::Kind;

class Nested : public Step {
 public:
  Nested(const Transform& t, std::uint64_t seed, Kind kind) : key_(philox_key(seed, t.name)), plan_(t, kind) {
    for (const Transform& operation : t.operations) steps_.push_back({operation.op, make_step(operation, seed)});
  }

  void run(Frame& frame, Scratch& scratch) const override {
    SampleRandom random = frame.random(key_);
    const std::vector<std::size_t> chosen = plan_.draw(random);
    // Only the last one that makes the value anew may write it into the batch.
    const auto last =
        std::find_if(chosen.rbegin(), chosen.rend(), [&](std::size_t i) { return steps_[i].step->writes(); });
    const auto writer = static_cast<std::size_t>(chosen.rend() - last);  // its place in `chosen`, from 1; 0: none
    std::uint8_t* slot = std::exchange(frame.slot, nullptr);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto& [op, step] = steps_[chosen[k]];
      frame.slot = k + 1 == writer ? slot : nullptr;
      try {
        step->run(frame, scratch);
      } catch (const Error& e) {
        throw Error(std::string(e.what()) + " (in " + op + ")", e.kind());
      }
    }
    frame.slot = slot;
  }
  bool writes() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const Named& n) { return n.step->writes(); });
  }

 private:
  struct Named {
    std::string op;
    std::unique_ptr<Step> step;
  };
  PhiloxKey key_;
  NestedPlan plan_;
  std::vector<Named> steps_;
};

class NestedBatch : public BatchStep {
 public:
  NestedBatch(const Transform& t, const Schema& schema, std::uint64_t seed, Kind kind)
      : key_(philox_key(seed, t.name)), plan_(t, kind) {
    for (const Transform& operation : t.operations) steps_.push_back(make_batch_step(operation, schema, seed));
  }
  void run(std::vector<Tensor>& columns, std::int64_t samples, std::uint64_t epoch,
           std::uint64_t index) const override {
    SampleRandom random(key_, epoch, index);
    for (const std::size_t i : plan_.draw(random)) steps_[i]->run(columns, samples, epoch, index);
  }

 private:
  PhiloxKey key_;
  NestedPlan plan_;
  std::vector<std::unique_ptr<BatchStep>> steps_;
};

// ---- rules

Schema common_schema(const Transform& t, const Schema& a, const Schema& b) {
  if (std::optional<Schema> common = common_columns(a, b)) return *std::move(common);
  throw Error(fmt::format("[{}] gives different columns with its operations and without or by another one: {} and {}",
                          t.op, to_string(a), to_string(b)));
}

Schema after(const Transform& operation, Schema schema, const Columns& columns) {
  return transform_entry(operation.op).schema(operation, std::move(schema), columns);
}

Schema random_apply_schema(const Transform& t, const Schema& schema, const Columns& columns) {
  return common_schema(t, schema, after_all(t, schema, columns));
}

Schema random_choice_schema(const Transform& t, const Schema& schema, const Columns& columns) {
  Schema result = after(t.operations[0], schema, columns);
  for (const Transform& operation : t.operations) result = common_schema(t, result, after(operation, schema, columns));
  return result;
}

// Any of them may be first or last, so none may change what the others were checked against.
Schema random_order_schema(const Transform& t, Schema schema, const Columns& columns) {
  for (const Transform& operation : t.operations) {
    const Schema result = after(operation, schema, columns);
    if (result != schema) {
      throw Error(fmt::format("[{}] {} makes {} of {}: operations in random order must keep the columns", t.op,
                              operation.op, to_string(result), to_string(schema)));
    }
  }
  return schema;
}

void check_random_choice(const Transform& t) {
  const Reals& weights = arg<Reals>(t.args, "weights");
  if (!weights.empty() && weights.size() != t.operations.size()) {
    throw Error(fmt::format("[{}] has {} weights for {} operations", t.op, weights.size(), t.operations.size()));
  }
  double sum = 0;
  for (const double w : weights) {
    if (w < 0) throw Error(fmt::format("[{}] weight {} is negative", t.op, w));
    sum += w;
  }
  if (!weights.empty() && !(sum > 0 && std::isfinite(sum)))
    throw Error(fmt::format("[{}] the sum of the weights is {}, it must be positive", t.op, sum));
}

TransformEntry nested(const char* op, const char* doc, std::vector<ArgSpec> args, Kind kind,
                      std::function<void(const Transform&)> check, SchemaRule schema) {
  return {.op = op,
          .doc = doc,
          .args = std::move(args),
          .random = kind != Kind::compose,
          .nests = true,
          .sequence = kind == Kind::compose,
          .check = std::move(check),
          .schema = std::move(schema),
          .step = [kind](const Transform& t, std::uint64_t seed) { return std::make_unique<Nested>(t, seed, kind); },
          .batch_step = [kind](const Transform& t, const Schema& columns,
                               std::uint64_t seed) { return std::make_unique<NestedBatch>(t, columns, seed, kind); }};
}

}  // namespace

std::vector<TransformEntry> nested_transforms() {
  return {
      nested("compose", "applies its operations one after the other", {}, Kind::compose, {}, after_all),
      nested("random_apply", "applies all of its operations, with the given probability, or none", {p_arg()},
             Kind::apply, check_probability, random_apply_schema),
      nested("random_choice", "applies one of its operations, drawn at random",
             {{.name = "weights",
               .type = ArgType::reals,
               .doc = "one weight per operation, any sum; empty: all equal",
               .fallback = Reals{}}},
             Kind::choice, check_random_choice, random_choice_schema),
      nested("random_order", "applies all of its operations in random order", {}, Kind::order, {}, random_order_schema),
  };
}

}  // namespace ridgeline::data
