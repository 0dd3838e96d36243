#include "tests/compile/random_sequences.h"

#include <string>

namespace ridgeline::testing {
namespace {

using Extents = std::vector<std::int64_t>;

Value labels_of(GraphBuilder& builder, std::int64_t rows) {
  const std::string name = "labels" + std::to_string(rows);
  const ValueId known = builder.graph().find_argument(name);
  return known != kNoValue ? builder.value(known) : builder.input(name, {DType::i32, Shape{rows}});
}

}  // namespace

void RandomSequences::add_product(const Value& x) {
  const Shape s = x.shape();
  const std::int64_t c = s[3];
  const Value rows = builder.apply("reshape", {x}, {{"shape", Extents{s[0], s[1] * s[2], c}}});
  const std::int64_t units = Extents{1, 6, 24}[static_cast<std::size_t>(below(3))];
  Value y;
  switch (below(3)) {
    case 0: y = builder.apply("matmul", {rows, weight({c, units})}); break;
    case 1: y = builder.apply("matmul", {rows, weight({units, c})}, {{"transpose_b", true}}); break;
    default: y = builder.apply("matmul", {rows, rows}, {{chance(50) ? "transpose_a" : "transpose_b", true}});
  }
  layers.push_back(y);
  values.push_back(tamed(y));
  if (exact || !chance(40)) return;
  values.push_back(builder.apply("softmax", {values.back()}, {{"axis", below(3) - 1}}));
  layers.push_back(values.back() * values.back());
}

void RandomSequences::add_parts(const Value& x) {
  const std::int64_t channels = x.shape()[3];
  if (channels < 2 || chance(50)) {
    values.push_back(builder.apply("concat", {x, x * scalar}, {{"axis", std::int64_t{3}}}));
    layers.push_back(values.back());
    return;
  }
  const Extents sizes{channels - channels / 2, channels / 2};
  const std::vector<Value> parts =
      builder.apply_all("split", std::vector<Value>{x}, {{"axis", std::int64_t{-1}}, {"sizes", sizes}}, {});
  values.insert(values.end(), parts.begin(), parts.end());
  layers.push_back(parts[static_cast<std::size_t>(below(2))]);
}

void RandomSequences::add_classes(const Value& x) {
  if (exact || !x.defined() || x.shape()[1] < 2) return;
  if (chance(50)) {
    values.push_back(builder.apply("softmax", {x}));
    return;
  }
  const Value labels = labels_of(builder, x.shape()[0]);
  const std::vector<Value> loss =
      builder.apply_all("softmax_cross_entropy", std::vector<Value>{x, labels}, {{"label_smoothing", 0.1}}, {});
  values.push_back(loss[1]);
  sums.push_back(builder.apply("reduce_mean", {loss[0]}));
}

void RandomSequences::add_rows(const Value& x) {
  const std::int64_t rows = x.shape()[0], channels = x.shape()[3];
  if (!exact && chance(60)) {
    const bool groups = chance(50);
    const Attributes attributes =
        groups ? Attributes{{"groups", std::int64_t{channels % 2 == 0 ? 2 : 1}}} : Attributes{};
    const Value y = builder
                        .apply_all(groups ? "group_norm" : "layer_norm",
                                   std::vector<Value>{x, weight({channels}), weight({channels})}, attributes, {})
                        .front();
    values.push_back(tamed(y));
    layers.push_back(values.back());
    return;
  }
  values.push_back(builder.apply("gather", {weight({3, 7}), labels_of(builder, rows)}));
  layers.push_back(values.back());
}

}  // namespace ridgeline::testing
