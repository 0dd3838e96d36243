// Rows of several inputs: zip, concat, mix.
#include <algorithm>
#include <numeric>

#include "ridgeline/core/permutation.h"
#include "ridgeline/data/runtime/rows/arrangement.h"

namespace ridgeline::data {
namespace {

class Join : public Rows {
 public:
  Join(std::vector<RowsPtr> inputs, Schema schema, std::int64_t size)
      : Rows(size, std::move(schema)), inputs_(std::move(inputs)) {}

 protected:
  std::vector<RowsPtr> inputs_;
};

class ZipRows : public Join {
 public:
  using Join::Join;
  bool has(RowAddress a) const override {
    if (size() != kUnknown) return Extent::has(a);
    return std::all_of(inputs_.begin(), inputs_.end(), [&](const RowsPtr& input) { return input->has(a); });
  }
  std::int64_t count(std::uint64_t epoch) const override {
    std::int64_t least = -1;
    for (const RowsPtr& input : inputs_) {
      if (input->size() == kForever) continue;
      const std::int64_t rows = input->count(epoch);
      least = least < 0 ? rows : std::min(least, rows);
    }
    return least;
  }
  // The first input's record is the row's.
  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    RowInfo first;
    std::size_t column = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::size_t columns = inputs_[i]->schema().size();
      const RowInfo info =
          inputs_[i]->run(a, targets.empty() ? targets : targets.subspan(column, columns), cells + column, scratch);
      if (i == 0) first = info;
      column += columns;
    }
    return first;
  }
  std::string origin(RowAddress a) const override { return inputs_[0]->origin(a); }
  std::uint64_t records() const override { return inputs_[0]->records(); }
};

// Inputs whose rows share one numbering of records.
class Sequence : public Join {
 public:
  Sequence(std::vector<RowsPtr> inputs, Schema schema, std::int64_t size)
      : Join(std::move(inputs), std::move(schema), size) {
    for (const RowsPtr& input : inputs_) starts_.push_back((starts_.empty() ? 0 : starts_.back()) + input->records());
  }
  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    const auto [input, there] = locate(a);
    RowInfo info = inputs_[input]->run(there, targets, cells, scratch);
    if (input > 0) info.record += starts_[input - 1];
    return info;
  }
  std::string origin(RowAddress a) const override {
    const auto [input, there] = locate(a);
    return inputs_[input]->origin(there);
  }
  std::uint64_t records() const override { return starts_.back(); }

 protected:
  virtual std::pair<std::size_t, RowAddress> locate(RowAddress a) const = 0;

 private:
  std::vector<std::uint64_t> starts_;  // of the input after
};

class ConcatRows : public Sequence {
 public:
  using Sequence::Sequence;
  bool has(RowAddress a) const override {
    if (size() != kUnknown) return Extent::has(a);
    const auto [input, there] = locate(a);
    return inputs_[input]->has(there);
  }
  std::int64_t count(std::uint64_t epoch) const override {
    std::int64_t sum = 0;
    for (const RowsPtr& input : inputs_) sum += input->count(epoch);
    return sum;
  }

 private:
  std::pair<std::size_t, RowAddress> locate(RowAddress a) const override {
    std::size_t input = 0;
    for (; input + 1 < inputs_.size() && !inputs_[input]->has(a); ++input)
      a.position -= static_cast<std::uint64_t>(inputs_[input]->count(a.epoch));
    return {input, a};
  }
};

// Turns come in cycles of 1000 rows, in which each input has as many as its weight says; their order within a cycle is
// random. Row i of an epoch is turn epoch * size + i, so that inputs continue in the next epoch where they stopped.
class MixRows : public Sequence {
 public:
  MixRows(const Node& node, std::vector<RowsPtr> inputs, Schema schema, std::int64_t size, std::uint64_t seed)
      : Sequence(std::move(inputs), std::move(schema), size), key_(order_key(node, seed)) {
    const Reals& weights = arg<Reals>(node.args, "weights");
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    // The largest remainders get what rounding down leaves.
    std::vector<std::pair<double, std::size_t>> remainders;
    std::uint64_t given = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double share = weights[i] / sum * static_cast<double>(kCycle);
      turns_.push_back(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share)));
      given += turns_.back();
      remainders.emplace_back(static_cast<double>(turns_.back()) - share, i);
    }
    std::sort(remainders.begin(), remainders.end());
    for (std::size_t i = 0; given < kCycle; ++i, ++given) ++turns_[remainders[i % remainders.size()].second];
    for (; given > kCycle; --given) --*std::max_element(turns_.begin(), turns_.end());
    for (std::size_t i = 0; i < turns_.size(); ++i) pattern_.insert(pattern_.end(), turns_[i], i);
  }

 private:
  static constexpr std::uint64_t kCycle = 1000;
  struct Cycle {
    std::vector<std::uint16_t> input, before;  // of each turn: whose it is, and how many of them came earlier
  };

  std::pair<std::size_t, RowAddress> locate(RowAddress a) const override {
    const std::uint64_t turn = (size() == kForever ? 0 : a.epoch * static_cast<std::uint64_t>(size())) + a.position;
    const std::uint64_t number = turn / kCycle, within = turn % kCycle;
    const auto cycle = cycles_.get(number, [&] { return make(number); });
    const std::size_t input = cycle->input[within];
    const std::uint64_t row = number * turns_[input] + cycle->before[within];
    const std::int64_t rows = inputs_[input]->size();
    if (rows == kForever) return {input, {0, row}};
    return {input, {row / static_cast<std::uint64_t>(rows), row % static_cast<std::uint64_t>(rows)}};
  }

  std::shared_ptr<const Cycle> make(std::uint64_t number) const {
    const Permutation order(kCycle, key_, number);
    auto cycle = std::make_shared<Cycle>();
    std::vector<std::uint16_t> seen(inputs_.size(), 0);
    for (std::uint64_t i = 0; i < kCycle; ++i) {
      const std::size_t input = pattern_[order.at(i)];
      cycle->input.push_back(static_cast<std::uint16_t>(input));
      cycle->before.push_back(seen[input]++);
    }
    return cycle;
  }

  PhiloxKey key_;
  std::vector<std::uint64_t> turns_;  // of each input in a cycle
  std::vector<std::size_t> pattern_;
  PerEpoch<const Cycle> cycles_;
};

}  // namespace

RowsPtr make_zip_rows(std::vector<RowsPtr> inputs, Schema schema, std::int64_t size) {
  return std::make_shared<ZipRows>(std::move(inputs), std::move(schema), size);
}
RowsPtr make_concat_rows(std::vector<RowsPtr> inputs, Schema schema, std::int64_t size) {
  return std::make_shared<ConcatRows>(std::move(inputs), std::move(schema), size);
}
RowsPtr make_mix_rows(const Node& node, std::vector<RowsPtr> inputs, Schema schema, std::int64_t size,
                      std::uint64_t seed) {
  return std::make_shared<MixRows>(node, std::move(inputs), std::move(schema), size, seed);
}

}  // namespace ridgeline::data
