#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/runtime/rows/arrangement.h"

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

// The rows of an epoch that pass are found in order, as far as someone asks. A row that cannot be tested stays in, so
// that its error is met where the row is made, under the rules for bad samples.
class FilterRows : public Rows {
 public:
  FilterRows(const Node& node, RowsPtr input, int places)
      : Rows(input->size() == 0 ? 0 : kUnknown, input->schema()),
        input_(std::move(input)),
        test_(test_of(node)),
        column_(
            static_cast<std::size_t>(find_column(schema(), arg<std::string>(node.args, "column")) - schema().data())),
        places_(places) {}

  bool has(RowAddress a) const override {
    return use(a.epoch, [&](Epoch& index) { return find(index, a); });
  }
  std::int64_t count(std::uint64_t e) const override {
    return use(e, [&](Epoch& index) {
      find(index, {e, ~std::uint64_t{0}});
      return static_cast<std::int64_t>(index.passing.size());
    });
  }
  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    const RowAddress row = use(a.epoch, [&](Epoch& index) {
      const RowAddress found = below(index, a);
      if (const auto failed = index.failed.find(found.position); failed != index.failed.end()) {
        const std::string origin = input_->origin(found);
        throw SampleError(origin + ": " + failed->second + " (in filter)", origin, "filter");
      }
      return found;
    });
    return input_->run(row, targets, cells, scratch);
  }
  std::string origin(RowAddress a) const override { return input_->origin(below(a)); }
  std::uint64_t records() const override { return input_->records(); }

 private:
  struct Epoch {
    explicit Epoch(int places) : scratch(places) { scratch.cheap = true; }
    std::mutex mutex;
    Scratch scratch;
    std::vector<std::uint64_t> passing;           // positions of the input
    std::map<std::uint64_t, std::string> failed;  // those whose test threw, and what
    std::uint64_t next = 0;                       // to be tested
  };
  template <class F>
  std::invoke_result_t<F, Epoch&> use(std::uint64_t e, F&& f) const {
    const auto index = epochs_.get(e, [&] { return std::make_shared<Epoch>(places_); });
    const std::lock_guard lock(index->mutex);
    return f(*index);
  }
  RowAddress below(Epoch& index, RowAddress a) const {
    RIDGELINE_CHECK(find(index, a), "a row beyond those that pass the filter");
    return {a.epoch, index.passing[a.position]};
  }
  RowAddress below(RowAddress a) const {
    return use(a.epoch, [&](Epoch& index) { return below(index, a); });
  }
  // Tests rows until the asked one has been found, or there are no more.
  bool find(Epoch& e, RowAddress a) const {
    e.scratch.cells.resize(schema().size());
    Cell* cells = e.scratch.cells.data();
    while (e.passing.size() <= a.position && input_->has({a.epoch, e.next})) {
      if (e.next % kAhead == 0) bring_near(e, a.epoch);
      bool made = false, passes = true;
      try {
        e.scratch.begin();
        input_->run({a.epoch, e.next}, {}, cells, e.scratch);
        made = true;
        passes = test_(cells[column_]);
      } catch (const Error& error) {
        if (made) e.failed.emplace(e.next, error.what());  // else met again where the row is made
      }
      if (passes) e.passing.push_back(e.next);
      ++e.next;
    }
    return a.position < e.passing.size();
  }

  void bring_near(Epoch& e, std::uint64_t epoch) const {
    try {
      for (std::uint64_t i = e.next; i < e.next + kAhead && input_->has({epoch, i}); ++i)
        input_->prefetch({epoch, i}, e.scratch);
    } catch (const Error&) {  // met again where the row is made
    }
  }

  static constexpr std::uint64_t kAhead = 64;  // rows
  RowsPtr input_;
  Test test_;
  std::size_t column_;
  int places_;
  PerEpoch<Epoch> epochs_;
};

}  // namespace

RowsPtr make_filter_rows(const Node& node, RowsPtr input, int places) {
  return std::make_shared<FilterRows>(node, std::move(input), places);
}

}  // namespace ridgeline::data
