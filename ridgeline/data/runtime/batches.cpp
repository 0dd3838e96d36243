#include "ridgeline/data/runtime/batches.h"

#include <algorithm>
#include <utility>

#include "ridgeline/core/ends_run_error.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/runtime/rows/arrangement.h"
#include "ridgeline/data/runtime/rows/row_scan.h"

namespace ridgeline::data {
namespace {

class FixedBatches : public Batches {
 public:
  FixedBatches(const Node& node, RowsPtr rows, std::int64_t count)
      : Batches(count),
        rows_(std::move(rows)),
        size_(static_cast<std::uint64_t>(arg<std::int64_t>(node.args, "size"))),
        drop_(arg<bool>(node.args, "drop_remainder")) {}

  bool has(RowAddress batch) const override {
    if (size() != kUnknown) return Extent::has(batch);
    return rows_->has({batch.epoch, batch.position * size_ + (drop_ ? size_ - 1 : 0)});
  }
  std::int64_t count(std::uint64_t epoch) const override {
    if (size() != kUnknown) return Extent::count(epoch);
    const auto rows = static_cast<std::uint64_t>(rows_->count(epoch));
    return static_cast<std::int64_t>((rows + (drop_ ? 0 : size_ - 1)) / size_);
  }
  void rows_of(RowAddress batch, std::vector<RowAddress>& rows) const override {
    rows.clear();
    for (std::uint64_t i = 0; i < size_; ++i) {
      const RowAddress row{batch.epoch, batch.position * size_ + i};
      if (!rows_->has(row)) break;
      rows.push_back(row);
    }
  }
  std::int64_t capacity_of(RowAddress) const override { return capacity(); }
  std::int64_t capacity() const override { return static_cast<std::int64_t>(size_); }

 private:
  RowsPtr rows_;
  std::uint64_t size_;
  bool drop_;
};

struct BucketRule {
  Integers boundaries, sizes;
  bool drop = false;
  std::size_t column = 0;
};

// A batch is due when its bucket is full; at the end of an epoch the buckets are emptied, from the shortest on. A row
// that cannot be made has length 0; its error is raised where the batch is filled.
class FullBuckets : public RowScan<std::int64_t> {
 public:
  struct Batch {
    std::size_t bucket;
    std::vector<std::uint64_t> rows;
  };
  FullBuckets(RowsPtr rows, std::uint64_t epoch, int places, const BucketRule& rule, bool ahead)
      : RowScan(std::move(rows), epoch, places, false, ahead), rule_(rule), open_(rule.sizes.size()) {}

  bool has(std::uint64_t batch) {
    return after([&] { return batch < batches_.size(); }, [&] { return batch < batches_.size(); });
  }
  std::int64_t count() {
    return after([] { return false; }, [&] { return static_cast<std::int64_t>(batches_.size()); });
  }
  Batch at(std::uint64_t batch) {
    return after([&] { return batch < batches_.size(); },
                 [&] {
                   RIDGELINE_CHECK(batch < batches_.size(), "a batch beyond the end of the buckets");
                   return batches_[batch];
                 });
  }

 private:
  std::int64_t look(RowAddress row, Scratch& scratch) const override {
    scratch.cells.resize(rows().schema().size());
    try {
      rows().run(row, {}, scratch.cells.data(), scratch);
    } catch (const EndsRunError&) {
      throw;  // which rows make a batch must not depend on the network
    } catch (const Error&) {
      return 0;
    }
    const Cell& cell = scratch.cells[rule_.column];
    return cell.dtype == DType::bytes ? static_cast<std::int64_t>(cell.bytes) : cell.dims[0];
  }
  void take(std::uint64_t position, std::int64_t length) override {
    const Integers& boundaries = rule_.boundaries;
    const auto bucket =
        static_cast<std::size_t>(std::upper_bound(boundaries.begin(), boundaries.end(), length) - boundaries.begin());
    open_[bucket].push_back(position);
    if (static_cast<std::int64_t>(open_[bucket].size()) < rule_.sizes[bucket]) return;
    batches_.push_back({bucket, std::exchange(open_[bucket], {})});
  }
  void end() override {
    for (std::size_t b = 0; b < open_.size(); ++b) {
      if (!rule_.drop && !open_[b].empty()) batches_.push_back({b, std::exchange(open_[b], {})});
    }
  }

  const BucketRule& rule_;
  std::vector<Batch> batches_;
  std::vector<std::vector<std::uint64_t>> open_;
};

class BucketBatches : public Batches {
 public:
  BucketBatches(const Node& node, RowsPtr rows, std::int64_t count, int places, bool ahead)
      : Batches(count),
        rows_(std::move(rows)),
        rule_{arg<Integers>(node.args, "boundaries"), arg<Integers>(node.args, "sizes"),
              arg<bool>(node.args, "drop_remainder"),
              static_cast<std::size_t>(find_column(rows_->schema(), arg<std::string>(node.args, "column")) -
                                       rows_->schema().data())},
        places_(places),
        ahead_(ahead) {}

  bool has(RowAddress batch) const override { return full(batch.epoch)->has(batch.position); }
  std::int64_t count(std::uint64_t e) const override { return full(e)->count(); }
  bool help() const override {
    const auto recent = epochs_.recent();
    return std::any_of(recent.begin(), recent.end(), [](const auto& scan) { return scan->help(); });
  }
  void rows_of(RowAddress batch, std::vector<RowAddress>& rows) const override {
    rows.clear();
    for (const std::uint64_t position : full(batch.epoch)->at(batch.position).rows)
      rows.push_back({batch.epoch, position});
  }
  std::int64_t capacity_of(RowAddress batch) const override {
    return rule_.sizes[full(batch.epoch)->at(batch.position).bucket];
  }
  std::int64_t capacity() const override { return *std::max_element(rule_.sizes.begin(), rule_.sizes.end()); }

 private:
  std::shared_ptr<FullBuckets> full(std::uint64_t e) const {
    return epochs_.get(e, [&] { return std::make_shared<FullBuckets>(rows_, e, places_, rule_, ahead_); });
  }

  RowsPtr rows_;
  BucketRule rule_;
  int places_;
  bool ahead_;
  PerEpoch<FullBuckets> epochs_;
};

}  // namespace

std::unique_ptr<const Batches> make_batches(const Node& node, RowsPtr rows, std::int64_t count, int places,
                                            bool ahead) {
  if (node.op == node_name::kBucket)
    return std::make_unique<BucketBatches>(node, std::move(rows), count, places, ahead);
  return std::make_unique<FixedBatches>(node, std::move(rows), count);
}

}  // namespace ridgeline::data
