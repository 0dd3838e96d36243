#include "ridgeline/data/runtime/rows/arrangement.h"

#include <algorithm>

#include "ridgeline/core/permutation.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/ir/node_names.h"

namespace ridgeline::data {
namespace {

// Arrangements with an unknown number of rows ask their input.
class Looking : public Arrangement {
 public:
  Looking(const Extent& input, std::int64_t size) : Arrangement(size), input_(input) {}
  bool has(RowAddress address) const override { return size() == kUnknown ? look(address) : Extent::has(address); }
  std::int64_t count(std::uint64_t epoch) const override {
    return size() == kUnknown ? look_count(epoch) : Extent::count(epoch);
  }

 protected:
  virtual bool look(RowAddress address) const { return input_.has(Arrangement::below(address)); }
  virtual std::int64_t look_count(std::uint64_t epoch) const = 0;
  const Extent& input_;
};

class Take : public Looking {
 public:
  Take(const Node& node, const Extent& input, std::int64_t size)
      : Looking(input, size), most_(integer(node, "count")) {}
  RowAddress below(RowAddress address, Memo&) const override { return address; }

 private:
  bool look(RowAddress a) const override {
    return (most_ < 0 || a.position < static_cast<std::uint64_t>(most_)) && input_.has(a);
  }
  std::int64_t look_count(std::uint64_t epoch) const override {
    if (most_ > 0 && input_.has({epoch, static_cast<std::uint64_t>(most_) - 1})) return most_;
    return input_.count(epoch);
  }
  std::int64_t most_;
};

class Skip : public Looking {
 public:
  Skip(const Extent& input, std::int64_t size, std::int64_t count)
      : Looking(input, size), skipped_(static_cast<std::uint64_t>(count)) {}
  RowAddress below(RowAddress a, Memo&) const override { return {a.epoch, a.position + skipped_}; }

 private:
  std::int64_t look_count(std::uint64_t epoch) const override {
    return std::max<std::int64_t>(0, input_.count(epoch) - static_cast<std::int64_t>(skipped_));
  }
  std::uint64_t skipped_;
};

class Shard : public Looking {
 public:
  Shard(const Node& node, const Extent& input, std::int64_t size)
      : Looking(input, size),
        parts_(static_cast<std::uint64_t>(integer(node, "count"))),
        index_(static_cast<std::uint64_t>(integer(node, "index"))) {}
  RowAddress below(RowAddress a, Memo&) const override { return {a.epoch, a.position * parts_ + index_}; }

 private:
  std::int64_t look_count(std::uint64_t epoch) const override {
    const auto rows = static_cast<std::uint64_t>(input_.count(epoch));
    return rows > index_ ? static_cast<std::int64_t>((rows - index_ - 1) / parts_ + 1) : 0;
  }
  std::uint64_t parts_, index_;
};

class Repeat : public Looking {
 public:
  Repeat(const Node& node, const Extent& input, std::int64_t size)
      : Looking(input, size), passes_(integer(node, "count")) {}

  // An endless repeat has one epoch above it; a repeat of endless rows never reaches its second pass.
  RowAddress below(RowAddress a, Memo& memo) const override {
    if (input_.size() == kForever) return {first_pass(a.epoch), a.position};
    if (input_.size() == kUnknown) return walk(a, ends_.get(a.epoch, memo, make_ends));
    const auto rows = static_cast<std::uint64_t>(input_.size());
    return {first_pass(a.epoch) + a.position / rows, a.position % rows};
  }

 private:
  std::uint64_t first_pass(std::uint64_t epoch) const {
    return passes_ == kForever ? 0 : epoch * static_cast<std::uint64_t>(passes_);
  }
  // Passes of different lengths: where each one ends, as far as they have been counted. It is
  // expensive to find out what is in a pass, so it is asked once.
  struct Ends {
    mutable std::mutex mutex;
    mutable std::vector<std::uint64_t> ends;
  };
  static std::shared_ptr<const Ends> make_ends() { return std::make_shared<const Ends>(); }

  RowAddress walk(RowAddress a, const Ends& known) const {
    while (true) {
      std::uint64_t pass = 0, begin = 0;
      bool counted = false;
      {
        const std::lock_guard lock(known.mutex);
        const auto end = std::upper_bound(known.ends.begin(), known.ends.end(), a.position);
        pass = static_cast<std::uint64_t>(end - known.ends.begin());
        begin = pass == 0 ? 0 : *(end - 1);
        counted = end != known.ends.end();
        if (!counted && passes_ == kForever && pass >= 3 && begin == (pass == 3 ? 0 : *(end - 4)))
          throw Error("[repeat] its input has no rows: it would repeat for ever");
      }
      if (passes_ != kForever && pass >= static_cast<std::uint64_t>(passes_))
        return {first_pass(a.epoch) + static_cast<std::uint64_t>(passes_) - 1, ~std::uint64_t{0}};
      const RowAddress there{first_pass(a.epoch) + pass, a.position - begin};
      if (counted || input_.has(there)) return there;
      const auto rows = static_cast<std::uint64_t>(input_.count(there.epoch));
      const std::lock_guard lock(known.mutex);
      if (known.ends.size() == pass) known.ends.push_back(begin + rows);  // another thread may have been here
    }
  }
  std::int64_t look_count(std::uint64_t epoch) const override {
    const std::shared_ptr<const Ends> known = ends_.get(epoch, make_ends);
    walk({epoch, ~std::uint64_t{0}}, *known);
    const std::lock_guard lock(known->mutex);
    return static_cast<std::int64_t>(known->ends.back());
  }
  PerEpoch<const Ends> ends_;
  std::int64_t passes_;
};

class Shuffle : public Looking {
 public:
  Shuffle(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed)
      : Looking(input, size), key_(order_key(node, seed)) {}

  RowAddress below(RowAddress a, Memo& memo) const override {
    const Permutation& permutation = permutations_.get(a.epoch, memo, [&] {
      return std::make_shared<const Permutation>(static_cast<std::uint64_t>(input_.count(a.epoch)), key_, a.epoch);
    });
    return {a.epoch, permutation.at(a.position)};
  }

 private:
  bool look(RowAddress a) const override { return a.position < static_cast<std::uint64_t>(input_.count(a.epoch)); }
  std::int64_t look_count(std::uint64_t epoch) const override { return input_.count(epoch); }
  PhiloxKey key_;
  PerEpoch<const Permutation> permutations_;
};

// What a shuffle buffer of that many rows delivers, computed without any rows: the buffer holds positions.
class BufferShuffle : public Looking {
 public:
  BufferShuffle(const Node& node, const Extent& input, std::int64_t size, std::uint64_t seed)
      : Looking(input, size), key_(order_key(node, seed)), buffer_(static_cast<std::size_t>(integer(node, "buffer"))) {}

  RowAddress below(RowAddress a, Memo&) const override {
    const auto run = runs_.get(a.epoch, [&] { return std::make_shared<Run>(key_, a.epoch); });
    {
      const std::lock_guard lock(run->mutex);
      if (a.position >= run->first) return {a.epoch, draw_until(*run, a)};
    }
    Run again(key_, a.epoch);  // a replay of a row that is no longer kept
    return {a.epoch, draw_until(again, a)};
  }

 private:
  struct Run {
    Run(PhiloxKey key, std::uint64_t epoch) : random(key, epoch, 0) {}
    std::mutex mutex;
    SampleRandom random;
    std::vector<std::uint64_t> buffer, out;  // `out`: what was drawn from position `first` on
    std::uint64_t first = 0, next = 0;
  };
  static constexpr std::size_t kKept = 1u << 20;

  std::uint64_t draw_until(Run& run, RowAddress a) const {
    while (run.first + run.out.size() <= a.position) {
      while (run.buffer.size() < buffer_ && input_.has({a.epoch, run.next})) run.buffer.push_back(run.next++);
      RIDGELINE_CHECK(!run.buffer.empty(), "a row beyond the end of the shuffle buffer");
      const auto last = static_cast<std::int64_t>(run.buffer.size()) - 1;
      std::uint64_t& drawn = run.buffer[static_cast<std::size_t>(run.random.integer(0, last))];
      run.out.push_back(drawn);
      drawn = run.buffer.back();
      run.buffer.pop_back();
      if (run.out.size() < kKept) continue;
      run.out.erase(run.out.begin(), run.out.begin() + kKept / 2);
      run.first += kKept / 2;
    }
    return run.out[a.position - run.first];
  }

  bool look(RowAddress a) const override { return input_.has(a); }  // as many rows as come in
  std::int64_t look_count(std::uint64_t epoch) const override { return input_.count(epoch); }
  PhiloxKey key_;
  std::size_t buffer_;
  PerEpoch<Run> runs_;
};

class ArrangedRows : public Rows {
 public:
  ArrangedRows(RowsPtr input, std::unique_ptr<Arrangement> arrangement, int place)
      : Rows(arrangement->size(), input->schema()),
        input_(std::move(input)),
        arrangement_(std::move(arrangement)),
        place_(static_cast<std::size_t>(place)) {}
  bool has(RowAddress a) const override { return arrangement_->has(a); }
  std::int64_t count(std::uint64_t epoch) const override { return arrangement_->count(epoch); }
  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    return input_->run(arrangement_->below(a, scratch.at(place_).memo), targets, cells, scratch);
  }
  void prefetch(RowAddress a, Scratch& scratch) const override {
    input_->prefetch(arrangement_->below(a, scratch.at(place_).memo), scratch);
  }
  std::string origin(RowAddress a) const override { return input_->origin(arrangement_->below(a)); }
  std::uint64_t records() const override { return input_->records(); }

 private:
  RowsPtr input_;
  std::unique_ptr<Arrangement> arrangement_;
  std::size_t place_;
};

}  // namespace

bool Extent::has(RowAddress address) const {
  RIDGELINE_CHECK(size_ != kUnknown, "an extent that cannot be told does not look");
  return size_ == kForever || address.position < static_cast<std::uint64_t>(size_);
}

std::int64_t Extent::count(std::uint64_t) const {
  RIDGELINE_CHECK(size_ >= 0, "rows without end cannot be counted");
  return size_;
}

PhiloxKey order_key(const Node& node, std::uint64_t seed) {
  const std::int64_t own = integer(node, "seed");
  return philox_key(own < 0 ? seed : static_cast<std::uint64_t>(own), node.name);
}

std::unique_ptr<Arrangement> make_arrangement(const Node& node, const Extent& input, std::int64_t size,
                                              std::uint64_t seed,
                                              const std::function<std::int64_t(std::uint64_t)>& label_of) {
  if (node.op == node_name::kTake) return std::make_unique<Take>(node, input, size);
  if (node.op == node_name::kSkip) return std::make_unique<Skip>(input, size, integer(node, "count"));
  if (node.op == node_name::kSequentialSampler) return std::make_unique<Skip>(input, size, integer(node, "start"));
  if (node.op == node_name::kShard) return std::make_unique<Shard>(node, input, size);
  if (node.op == node_name::kRepeat) return std::make_unique<Repeat>(node, input, size);
  if (node.op == node_name::kShuffle) {
    if (integer(node, "buffer") > 0) return std::make_unique<BufferShuffle>(node, input, size, seed);
    return std::make_unique<Shuffle>(node, input, size, seed);
  }
  return make_sampler(node, input, size, seed, label_of);
}

RowsPtr make_arranged_rows(RowsPtr input, std::unique_ptr<Arrangement> arrangement, int place) {
  return std::make_shared<ArrangedRows>(std::move(input), std::move(arrangement), place);
}

}  // namespace ridgeline::data
