#include "ridgeline/data/runtime/batches.h"

#include <algorithm>
#include <type_traits>

#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/runtime/rows/arrangement.h"

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

// A batch is due when its bucket is full; at the end of an epoch the buckets give what they have, from the shortest on.
// A row that cannot be made has length 0; its error is met where the batch is filled.
class BucketBatches : public Batches {
 public:
  BucketBatches(const Node& node, RowsPtr rows, std::int64_t count, int places)
      : Batches(count),
        rows_(std::move(rows)),
        boundaries_(arg<Integers>(node.args, "boundaries")),
        sizes_(arg<Integers>(node.args, "sizes")),
        drop_(arg<bool>(node.args, "drop_remainder")),
        column_(static_cast<std::size_t>(find_column(rows_->schema(), arg<std::string>(node.args, "column")) -
                                         rows_->schema().data())),
        places_(places) {}

  bool has(RowAddress batch) const override {
    return use(batch.epoch, [&](Epoch& index) { return find(index, batch); });
  }
  std::int64_t count(std::uint64_t e) const override {
    return use(e, [&](Epoch& index) {
      find(index, {e, ~std::uint64_t{0}});
      return static_cast<std::int64_t>(index.batches.size());
    });
  }
  void rows_of(RowAddress batch, std::vector<RowAddress>& rows) const override {
    rows.clear();
    use(batch.epoch, [&](Epoch& index) {
      for (const std::uint64_t position : found(index, batch).rows) rows.push_back({batch.epoch, position});
    });
  }
  std::int64_t capacity_of(RowAddress batch) const override {
    return use(batch.epoch, [&](Epoch& index) { return sizes_[found(index, batch).bucket]; });
  }
  std::int64_t capacity() const override { return *std::max_element(sizes_.begin(), sizes_.end()); }

 private:
  struct Batch {
    std::size_t bucket;
    std::vector<std::uint64_t> rows;
  };
  struct Epoch {
    Epoch(int places, std::size_t buckets) : scratch(places), open(buckets) {}
    std::mutex mutex;
    Scratch scratch;
    std::vector<Batch> batches;
    std::vector<std::vector<std::uint64_t>> open;
    std::uint64_t next = 0;
    bool ended = false;
  };
  template <class F>
  std::invoke_result_t<F, Epoch&> use(std::uint64_t e, F&& f) const {
    const auto index = epochs_.get(e, [&] { return std::make_shared<Epoch>(places_, sizes_.size()); });
    const std::lock_guard lock(index->mutex);
    return f(*index);
  }
  const Batch& found(Epoch& index, RowAddress batch) const {
    RIDGELINE_CHECK(find(index, batch), "a batch beyond the end of the buckets");
    return index.batches[batch.position];
  }

  std::int64_t length(Epoch& e, RowAddress row) const {
    std::vector<Cell> cells(rows_->schema().size());
    try {
      e.scratch.begin();
      rows_->run(row, {}, cells.data(), e.scratch);
    } catch (const Error&) {
      return 0;
    }
    const Cell& cell = cells[column_];
    return cell.dtype == DType::bytes ? static_cast<std::int64_t>(cell.bytes) : cell.dims[0];
  }

  bool find(Epoch& e, RowAddress batch) const {
    while (e.batches.size() <= batch.position && !e.ended) {
      const RowAddress row{batch.epoch, e.next};
      if (!rows_->has(row)) {
        e.ended = true;
        for (std::size_t b = 0; b < e.open.size(); ++b) {
          if (!drop_ && !e.open[b].empty()) e.batches.push_back({b, std::move(e.open[b])});
          e.open[b].clear();
        }
        break;
      }
      const std::int64_t rows = length(e, row);
      const auto bucket = static_cast<std::size_t>(std::upper_bound(boundaries_.begin(), boundaries_.end(), rows) -
                                                   boundaries_.begin());
      e.open[bucket].push_back(e.next++);
      if (static_cast<std::int64_t>(e.open[bucket].size()) < sizes_[bucket]) continue;
      e.batches.push_back({bucket, std::move(e.open[bucket])});
      e.open[bucket].clear();
    }
    return batch.position < e.batches.size();
  }

  RowsPtr rows_;
  Integers boundaries_, sizes_;
  bool drop_;
  std::size_t column_;
  int places_;
  PerEpoch<Epoch> epochs_;
};

}  // namespace

std::unique_ptr<const Batches> make_batches(const Node& node, RowsPtr rows, std::int64_t count, int places) {
  if (node.op == node_name::kBucket) return std::make_unique<BucketBatches>(node, std::move(rows), count, places);
  return std::make_unique<FixedBatches>(node, std::move(rows), count);
}

}  // namespace ridgeline::data
