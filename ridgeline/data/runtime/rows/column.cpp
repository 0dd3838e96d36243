#include <algorithm>

#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/runtime/rows/rows.h"

namespace ridgeline::data {
namespace {

// project and rename: each column is one of the input's.
class ColumnRows : public Rows {
 public:
  ColumnRows(const Node& node, RowsPtr input, Schema schema, int place)
      : Rows(input->size(), std::move(schema)), input_(std::move(input)), place_(static_cast<std::size_t>(place)) {
    for (std::size_t i = 0; i < this->schema().size(); ++i) {
      from_.push_back(i);  // rename keeps the order
      if (node.op == node_name::kProject) {
        const Column* column = find_column(input_->schema(), this->schema()[i].name);
        from_.back() = static_cast<std::size_t>(column - input_->schema().data());
      }
    }
  }
  bool has(RowAddress a) const override { return input_->has(a); }
  std::int64_t count(std::uint64_t epoch) const override { return input_->count(epoch); }

  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    Workspace& work = scratch.at(place_);
    const std::size_t columns = input_->schema().size();
    work.cells.resize(columns);
    work.targets.assign(columns, nullptr);
    for (std::size_t i = 0; i < targets.size(); ++i) work.targets[from_[i]] = targets[i];
    const RowInfo info = input_->run(a, work.targets, work.cells.data(), scratch);
    for (std::size_t i = 0; i < from_.size(); ++i) cells[i] = work.cells[from_[i]];
    return info;
  }
  void prefetch(RowAddress a, Scratch& scratch) const override { input_->prefetch(a, scratch); }
  std::string origin(RowAddress a) const override { return input_->origin(a); }
  std::uint64_t records() const override { return input_->records(); }

 private:
  RowsPtr input_;
  std::size_t place_;
  std::vector<std::size_t> from_;
};

}  // namespace

RowsPtr make_column_rows(const Node& node, RowsPtr input, Schema schema, int place) {
  return std::make_shared<ColumnRows>(node, std::move(input), std::move(schema), place);
}

}  // namespace ridgeline::data
