// The order of samplers. Those that draw with replacement compute each position independently; the others keep a table
// for the latest epochs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ridgeline/core/math.h"
#include "ridgeline/core/permutation.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/runtime/rows/arrangement.h"

namespace ridgeline::data {
namespace {

using Table = std::vector<std::uint64_t>;

class WithReplacement : public Arrangement {
 public:
  WithReplacement(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed)
      : Arrangement(size), key_(order_key(node, seed)), last_(input.size() - 1) {}
  RowAddress below(RowAddress a, Memo&) const override {
    SampleRandom random(key_, a.epoch, a.position);
    return {a.epoch, static_cast<std::uint64_t>(random.integer(0, last_))};
  }

 private:
  PhiloxKey key_;
  std::int64_t last_;
};

class WithoutReplacement : public Arrangement {
 public:
  WithoutReplacement(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed)
      : Arrangement(size), key_(order_key(node, seed)), rows_(static_cast<std::uint64_t>(input.size())) {}
  RowAddress below(RowAddress a, Memo& memo) const override {
    const Permutation& permutation =
        permutations_.get(a.epoch, memo, [&] { return std::make_shared<const Permutation>(rows_, key_, a.epoch); });
    return {a.epoch, permutation.at(a.position)};
  }

 private:
  PhiloxKey key_;
  std::uint64_t rows_;
  PerEpoch<const Permutation> permutations_;
};

class Subset : public Arrangement {
 public:
  Subset(const Node& node, std::int64_t size, std::uint64_t seed)
      : Arrangement(size),
        indices_(arg<Integers>(node.args, "indices")),
        random_(node.op == node_name::kSubsetRandomSampler) {
    if (random_) key_ = order_key(node, seed);
  }
  RowAddress below(RowAddress a, Memo&) const override {
    std::uint64_t position = a.position;
    if (random_) {
      position = permutations_
                     .get(a.epoch, [&] { return std::make_shared<const Permutation>(indices_.size(), key_, a.epoch); })
                     ->at(position);
    }
    return {a.epoch, static_cast<std::uint64_t>(indices_[position])};
  }

 private:
  Integers indices_;
  bool random_;
  PhiloxKey key_;
  PerEpoch<const Permutation> permutations_;
};

class WeightedWithReplacement : public Arrangement {
 public:
  WeightedWithReplacement(const Node& node, std::int64_t size, std::uint64_t seed)
      : Arrangement(size), key_(order_key(node, seed)), sums_(arg<Reals>(node.args, "weights")) {
    std::partial_sum(sums_.begin(), sums_.end(), sums_.begin());
  }
  // The row in whose interval of the summed weights a uniform number falls.
  RowAddress below(RowAddress a, Memo&) const override {
    SampleRandom random(key_, a.epoch, a.position);
    const double x = random.uniform() * sums_.back();
    auto found = std::upper_bound(sums_.begin(), sums_.end(), x);
    if (found == sums_.end()) found = std::lower_bound(sums_.begin(), sums_.end(), sums_.back());  // x rounded up
    return {a.epoch, static_cast<std::uint64_t>(found - sums_.begin())};
  }

 private:
  PhiloxKey key_;
  Reals sums_;
};

// Rows in the order of -log(u) / weight, which draws without replacement in proportion to the weights (Efraimidis and
// Spirakis, "Weighted random sampling with a reservoir", 2006).
class WeightedWithoutReplacement : public Arrangement {
 public:
  WeightedWithoutReplacement(const Node& node, std::int64_t size, std::uint64_t seed)
      : Arrangement(size), key_(order_key(node, seed)), weights_(arg<Reals>(node.args, "weights")) {}
  RowAddress below(RowAddress a, Memo&) const override {
    return {a.epoch, (*tables_.get(a.epoch, [&] { return make(a.epoch); }))[a.position]};
  }

 private:
  std::shared_ptr<const Table> make(std::uint64_t epoch) const {
    std::vector<std::pair<double, std::uint64_t>> keys;
    for (std::uint64_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] <= 0) continue;
      SampleRandom random(key_, epoch, i);
      keys.emplace_back(-portable_log(1 - random.uniform()) / weights_[i], i);
    }
    std::sort(keys.begin(), keys.end());
    auto table = std::make_shared<Table>();
    for (const auto& [key, row] : keys) table->push_back(row);
    return table;
  }
  PhiloxKey key_;
  Reals weights_;
  PerEpoch<const Table> tables_;
};

// Each class once in random order, `per_class` rows of it in a row.
class PerClass : public Arrangement {
 public:
  PerClass(const Node& node, const Extent& input, std::uint64_t seed,
           const std::function<std::int64_t(std::uint64_t)>& label_of)
      : Arrangement(kUnknown),
        key_(order_key(node, seed)),
        per_class_(static_cast<std::size_t>(integer(node, "per_class"))),
        shuffle_(arg<bool>(node.args, "shuffle")),
        replacement_(arg<bool>(node.args, "replacement")) {
    if (!label_of) throw Error("[pk_sampler] reads the labels of a source: put it right above one");
    std::map<std::int64_t, Table> classes;
    for (std::uint64_t row = 0; row < static_cast<std::uint64_t>(input.size()); ++row)
      classes[label_of(row)].push_back(row);
    for (auto& [label, rows] : classes) {
      if (!replacement_ && rows.size() < per_class_)
        throw Error(fmt::format("[pk_sampler] class {} has {} rows, per_class is {}: allow replacement", label,
                                rows.size(), per_class_));
      rows_.push_back(std::move(rows));
    }
    const std::int64_t most = integer(node, "classes");
    if (most > static_cast<std::int64_t>(rows_.size()))
      throw Error(fmt::format("[pk_sampler] classes is {}, the source has {}", most, rows_.size()));
    classes_ = most < 0 ? rows_.size() : static_cast<std::size_t>(most);
  }

  bool has(RowAddress a) const override { return a.position < classes_ * per_class_; }
  std::int64_t count(std::uint64_t) const override { return static_cast<std::int64_t>(classes_ * per_class_); }
  RowAddress below(RowAddress a, Memo& memo) const override {
    const std::uint64_t turn = a.position / per_class_, of_class = a.position % per_class_;
    if (!shuffle_) return {a.epoch, rows_[turn][of_class % rows_[turn].size()]};
    const Order& order = orders_.get(a.epoch, memo, [&] { return order_of(a.epoch); });
    const Table& rows = rows_[order.classes.at(turn)];
    if (!replacement_) return {a.epoch, rows[order.within[turn].at(of_class)]};
    const std::uint64_t draw = (turn + 1) << 32;  // apart from the permutation's own counters
    SampleRandom random(key_, a.epoch, draw + of_class);
    return {a.epoch, rows[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(rows.size()) - 1))]};
  }

 private:
  struct Order {
    Permutation classes;
    std::vector<Permutation> within;  // of each turn's class; none with replacement
  };
  std::shared_ptr<const Order> order_of(std::uint64_t epoch) const {
    auto order = std::make_shared<Order>(Order{Permutation(rows_.size(), key_, epoch), {}});
    const PhiloxKey key = philox_key(hash64("class", key_.k0), std::to_string(key_.k1));
    for (std::uint64_t turn = 0; turn < classes_ && !replacement_; ++turn) {
      const std::uint64_t of = order->classes.at(turn);
      order->within.emplace_back(rows_[of].size(), key, epoch * rows_.size() + of);
    }
    return order;
  }

  PhiloxKey key_;
  std::size_t per_class_, classes_ = 0;
  bool shuffle_, replacement_;
  std::vector<Table> rows_;  // of each class, by label
  PerEpoch<const Order> orders_;
};

class Distributed : public Arrangement {
 public:
  Distributed(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed)
      : Arrangement(size),
        rows_(static_cast<std::uint64_t>(input.size())),
        shards_(static_cast<std::uint64_t>(integer(node, "num_shards"))),
        index_(static_cast<std::uint64_t>(integer(node, "index"))),
        offset_(static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer(node, "offset")))),
        first_(!arg<bool>(node.args, "even") && index_ < offset_ ? 1 : 0),
        shuffle_(arg<bool>(node.args, "shuffle")),
        key_(order_key(node, seed)) {}

  RowAddress below(RowAddress a, Memo&) const override {
    // Modulo the rows, so that the padded end and an offset's beginning wrap around.
    const std::uint64_t position = (shards_ * (a.position + first_) + index_ + rows_ * shards_ - offset_) % rows_;
    if (!shuffle_) return {a.epoch, position};
    const auto order = orders_.get(a.epoch, [&] { return std::make_shared<const Permutation>(rows_, key_, a.epoch); });
    return {a.epoch, order->at(position)};
  }

 private:
  std::uint64_t rows_, shards_, index_, offset_, first_;
  bool shuffle_;
  PhiloxKey key_;
  PerEpoch<const Permutation> orders_;
};

}  // namespace

std::unique_ptr<Arrangement> make_sampler(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed,
                                          const std::function<std::int64_t(std::uint64_t)>& label_of) {
  if (node.op == node_name::kRandomSampler) {
    if (arg<bool>(node.args, "replacement")) return std::make_unique<WithReplacement>(node, input, size, seed);
    return std::make_unique<WithoutReplacement>(node, input, size, seed);
  }
  if (node.op == node_name::kSubsetSampler || node.op == node_name::kSubsetRandomSampler)
    return std::make_unique<Subset>(node, size, seed);
  if (node.op == node_name::kWeightedSampler) {
    if (arg<bool>(node.args, "replacement")) return std::make_unique<WeightedWithReplacement>(node, size, seed);
    return std::make_unique<WeightedWithoutReplacement>(node, size, seed);
  }
  if (node.op == node_name::kPkSampler) return std::make_unique<PerClass>(node, input, seed, label_of);
  if (node.op == node_name::kDistributedSampler) return std::make_unique<Distributed>(node, input, size, seed);
  throw InternalError("no arrangement for order node " + node.op);
}

}  // namespace ridgeline::data
