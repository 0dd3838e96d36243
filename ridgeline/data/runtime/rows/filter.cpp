#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "ridgeline/core/ends_run_error.h"
#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/runtime/rows/arrangement.h"
#include "ridgeline/data/runtime/rows/row_scan.h"

namespace ridgeline::data {
namespace {

using Test = std::function<bool(const Cell&)>;

template <class T>
Test comparison(const std::string& test, std::vector<T> values, T (*value_of)(const Cell&)) {
  const T one = values[0];
  if (test == "equal") return [=](const Cell& c) { return value_of(c) == one; };
  if (test == "not_equal") return [=](const Cell& c) { return value_of(c) != one; };
  if (test == "less") return [=](const Cell& c) { return value_of(c) < one; };
  if (test == "less_equal") return [=](const Cell& c) { return value_of(c) <= one; };
  if (test == "greater") return [=](const Cell& c) { return value_of(c) > one; };
  if (test == "greater_equal") return [=](const Cell& c) { return value_of(c) >= one; };
  const bool in = test == "in";
  return [=, values = std::move(values)](const Cell& c) {
    return (std::find(values.begin(), values.end(), value_of(c)) != values.end()) == in;
  };
}

double number_of(const Cell& cell) {
  if (cell.dtype == DType::i32) {
    std::int32_t value = 0;
    std::memcpy(&value, cell.data, sizeof value);
    return value;
  }
  return to_tensor(cell).at(0);
}
std::string text_of(const Cell& cell) { return {reinterpret_cast<const char*>(cell.data), cell.bytes}; }

Test test_of(const Node& node) {
  const std::string& test = arg<std::string>(node.args, "test");
  if (test == "function") {
    const std::string& name = arg<std::string>(node.args, "function");
    const Predicate& predicate = predicate_named(name);
    return [&predicate, who = "predicate '" + name + "'"](const Cell& cell) {
      return call_user(who, [&] { return predicate(to_tensor(cell)); });
    };
  }
  if (const Texts& texts = arg<Texts>(node.args, "texts"); !texts.empty())
    return comparison<std::string>(test, texts, text_of);
  return comparison<double>(test, arg<Reals>(node.args, "values"), number_of);
}

// The rows of an epoch that pass. A row that cannot be tested stays in, so that its error is raised where the row is
// made, under the rules for bad samples.
struct Verdict {
  bool passes = true;
  std::string failed;  // what the test threw; "" where it did not, or where the row cannot even be made
};

class PassingRows : public RowScan<Verdict> {
 public:
  PassingRows(RowsPtr rows, std::uint64_t epoch, int places, const Test& test, std::size_t column, bool ahead)
      : RowScan(std::move(rows), epoch, places, true, ahead), test_(test), column_(column) {}

  bool has(std::uint64_t position) {
    return after([&] { return position < passing_.size(); }, [&] { return position < passing_.size(); });
  }
  std::int64_t count() {
    return after([] { return false; }, [&] { return static_cast<std::int64_t>(passing_.size()); });
  }
  // The row of the input that passes as number `position`, and why its test failed ("": it did not).
  std::pair<std::uint64_t, std::string> at(std::uint64_t position) {
    return after([&] { return position < passing_.size(); },
                 [&] {
                   RIDGELINE_CHECK(position < passing_.size(), "a row beyond those that pass the filter");
                   const std::uint64_t row = passing_[position];
                   const auto failed = failed_.find(row);
                   return std::pair(row, failed == failed_.end() ? std::string() : failed->second);
                 });
  }

 private:
  Verdict look(RowAddress row, Scratch& scratch) const override {
    scratch.cells.resize(rows().schema().size());
    bool made = false;
    try {
      rows().run(row, {}, scratch.cells.data(), scratch);
      made = true;
      return {test_(scratch.cells[column_]), ""};
    } catch (const EndsRunError&) {
      throw;  // which rows pass must not depend on the network or on a wrong set-up
    } catch (const Error& error) {
      return {true, made ? error.what() : ""};  // else met again where the row is made
    }
  }
  void take(std::uint64_t position, Verdict verdict) override {
    if (verdict.passes) passing_.push_back(position);
    if (!verdict.failed.empty()) failed_.emplace(position, std::move(verdict.failed));
  }

  const Test& test_;
  std::size_t column_;
  std::vector<std::uint64_t> passing_;           // positions of the input
  std::map<std::uint64_t, std::string> failed_;  // those whose test threw, and what
};

class FilterRows : public Rows {
 public:
  FilterRows(const Node& node, RowsPtr input, int places, bool ahead)
      : Rows(input->size() == 0 ? 0 : kUnknown, input->schema()),
        input_(std::move(input)),
        test_(test_of(node)),
        column_(
            static_cast<std::size_t>(find_column(schema(), arg<std::string>(node.args, "column")) - schema().data())),
        places_(places),
        ahead_(ahead) {}

  bool has(RowAddress a) const override { return passing(a.epoch)->has(a.position); }
  std::int64_t count(std::uint64_t e) const override { return passing(e)->count(); }
  bool help() const override {
    const auto recent = epochs_.recent();
    return std::any_of(recent.begin(), recent.end(), [](const auto& scan) { return scan->help(); });
  }
  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    const auto [row, failed] = passing(a.epoch)->at(a.position);
    if (!failed.empty()) {
      const std::string origin = input_->origin({a.epoch, row});
      throw SampleError(origin + ": " + failed + " (in filter)", origin, "filter");
    }
    return input_->run({a.epoch, row}, targets, cells, scratch);
  }
  std::string origin(RowAddress a) const override {
    return input_->origin({a.epoch, passing(a.epoch)->at(a.position).first});
  }
  std::uint64_t records() const override { return input_->records(); }

 private:
  std::shared_ptr<PassingRows> passing(std::uint64_t e) const {
    return epochs_.get(e, [&] { return std::make_shared<PassingRows>(input_, e, places_, test_, column_, ahead_); });
  }

  RowsPtr input_;
  Test test_;
  std::size_t column_;
  int places_;
  bool ahead_;
  PerEpoch<PassingRows> epochs_;
};

}  // namespace

RowsPtr make_filter_rows(const Node& node, RowsPtr input, int places, bool ahead) {
  return std::make_shared<FilterRows>(node, std::move(input), places, ahead);
}

}  // namespace ridgeline::data
