// ridgeline/data/runtime/rows/arrangement.h
//
// Order nodes as arithmetic: which row of the input is row `position` of epoch `epoch`. Used for rows and, above batch,
// for batches. Immutable except for small caches: any thread may ask.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ridgeline/data/runtime/rows/rows.h"

namespace ridgeline::data {

class Arrangement : public Extent {
 public:
  using Extent::Extent;
  // The row of the input; the address must exist. `memo` belongs to the calling thread and to this node.
  virtual RowAddress below(RowAddress address, Memo& memo) const = 0;
  RowAddress below(RowAddress address) const {
    Memo memo;
    return below(address, memo);
  }
};

// `input` must outlive it. `size` as ir/analysis says. `label_of` gives the class of a row of the input (pk_sampler).
std::unique_ptr<Arrangement> make_arrangement(const Node& node, const Extent& input, std::int64_t size,
                                              std::uint64_t seed,
                                              const std::function<std::int64_t(std::uint64_t)>& label_of = nullptr);
// What make_arrangement calls for samplers (runtime/rows/samplers.cpp).
std::unique_ptr<Arrangement> make_sampler(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed,
                                          const std::function<std::int64_t(std::uint64_t)>& label_of);

// An argument of the node that is an integer.
inline std::int64_t integer(const Node& node, const char* name) { return arg<std::int64_t>(node.args, name); }
// The key of an order node's draws: its own seed, or the run's, and its name.
PhiloxKey order_key(const Node& node, std::uint64_t seed);

// A value for each epoch that is expensive to compute. The latest few are kept, since at the end of an epoch the next
// one is already in use.
template <class T>
class PerEpoch {
 public:
  // `make()` returns a std::shared_ptr<T> and runs under the lock: once per epoch.
  template <class Make>
  std::shared_ptr<T> get(std::uint64_t epoch, Make make) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [e, value] : recent_) {
      if (e == epoch) return value;
    }
    if (recent_.size() == kRecent) recent_.erase(recent_.begin());
    recent_.emplace_back(epoch, make());
    return recent_.back().second;
  }
  // The same, without the lock if `memo` has the value.
  template <class Make>
  const T& get(std::uint64_t epoch, Memo& memo, Make make) const {
    if (!memo.value || memo.epoch != epoch) {
      memo.value = get(epoch, make);
      memo.epoch = epoch;
    }
    return *static_cast<const T*>(memo.value.get());
  }
  std::vector<std::shared_ptr<T>> recent() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> values;
    for (const auto& [e, value] : recent_) values.push_back(value);
    return values;
  }

 private:
  static constexpr std::size_t kRecent = 4;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::uint64_t, std::shared_ptr<T>>> recent_;
};

}  // namespace ridgeline::data
