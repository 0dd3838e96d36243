// Nodes that look into rows: map, filter, columns, joins, cache.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/nodes/entries.h"

namespace ridgeline::data {
namespace {

using Sizes = std::vector<std::int64_t>;

const Column& column_named(const Node& node, const Schema& schema, const std::string& name) {
  const Column* column = find_column(schema, name);
  if (column) return *column;
  std::vector<std::string> names;
  for (const Column& c : schema) names.push_back(c.name);
  throw Error(fmt::format("[{}] there is no column '{}'{} among {}", node.op, name, did_you_mean(name, names),
                          to_string(schema)));
}

void check_map(const Node& node) {
  const Texts& columns = arg<Texts>(node.args, "columns");
  if (columns.empty()) throw Error("[map] columns is empty: it has nothing to transform");
  if (std::set<std::string>(columns.begin(), columns.end()).size() != columns.size())
    throw Error(fmt::format("[map] columns names one twice: {}", fmt::join(columns, ", ")));
}

// ---- filter

bool is_function(const Node& node) { return arg<std::string>(node.args, "test") == "function"; }

void check_filter(const Node& node) {
  not_empty(node, "column");
  const std::string& test = arg<std::string>(node.args, "test");
  const std::size_t reals = arg<Reals>(node.args, "values").size(), texts = arg<Texts>(node.args, "texts").size();
  const bool many = test == "in" || test == "not_in";
  if (is_function(node)) {
    not_empty(node, "function");
    if (reals + texts > 0) throw Error("[filter] test function takes no values");
    return;
  }
  if (!arg<std::string>(node.args, "function").empty())
    throw Error("[filter] function is only for test=function, which is '" + test + "'");
  if (reals > 0 && texts > 0) throw Error("[filter] has values and texts: give one of them");
  if (reals + texts == 0 || (!many && reals + texts != 1))
    throw Error(fmt::format("[filter] test {} needs {} in values or texts, it has {}", test,
                            many ? "one or more" : "one", reals + texts));
  if (texts > 0 && !many && test != "equal" && test != "not_equal")
    throw Error("[filter] texts can be tested by equal, not_equal, in and not_in, not by " + test);
}

Schema filter_schema(const Node& node, const std::vector<Schema>& inputs) {
  const Column& column = column_named(node, inputs[0], arg<std::string>(node.args, "column"));
  if (is_function(node)) return inputs[0];
  const bool texts = !arg<Texts>(node.args, "texts").empty();
  if (texts != (column.dtype == DType::bytes) || column.shape.rank() != 0) {
    throw Error(fmt::format("[filter] column {} cannot be tested by {}: values are for single numbers, texts for bytes",
                            to_string({column}), texts ? "texts" : "values"));
  }
  return inputs[0];
}

// ---- columns

Schema project_schema(const Node& node, const std::vector<Schema>& inputs) {
  Schema schema;
  for (const std::string& name : arg<Texts>(node.args, "columns"))
    schema.push_back(column_named(node, inputs[0], name));
  return schema;
}

void check_project(const Node& node) {
  const Texts& columns = arg<Texts>(node.args, "columns");
  if (columns.empty()) throw Error("[project] columns is empty");
  if (std::set<std::string>(columns.begin(), columns.end()).size() != columns.size())
    throw Error(fmt::format("[project] columns names one twice: {}", fmt::join(columns, ", ")));
}

void check_rename(const Node& node) {
  if (arg<Texts>(node.args, "from").size() != arg<Texts>(node.args, "to").size())
    throw Error("[rename] from and to have different lengths");
  if (arg<Texts>(node.args, "from").empty()) throw Error("[rename] from is empty");
}

Schema rename_schema(const Node& node, const std::vector<Schema>& inputs) {
  Schema schema = inputs[0];
  const Texts &from = arg<Texts>(node.args, "from"), &to = arg<Texts>(node.args, "to");
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Column& column = column_named(node, inputs[0], from[i]);
    schema[static_cast<std::size_t>(&column - inputs[0].data())].name = to[i];
  }
  std::set<std::string> names;
  for (const Column& column : schema) {
    if (column.name.empty() || !names.insert(column.name).second)
      throw Error("[rename] column names must be different and not empty, '" + column.name + "' is not");
  }
  return schema;
}

// ---- joins

Schema zip_schema(const Node&, const std::vector<Schema>& inputs) {
  Schema schema;
  for (const Schema& input : inputs) {
    for (const Column& column : input) {
      if (find_column(schema, column.name))
        throw Error("[zip] two inputs have a column '" + column.name + "': rename or project one of them");
      schema.push_back(column);
    }
  }
  return schema;
}

std::int64_t zip_size(const Node&, const Sizes& rows) {
  std::int64_t least = kForever;
  for (const std::int64_t n : rows) {
    if (n == kUnknown) return kUnknown;
    if (n != kForever) least = least == kForever ? n : std::min(least, n);
  }
  return least;
}

// Inputs whose rows are concatenated must have the same columns; extents that differ become variable.
Schema common_schema(const Node& node, const std::vector<Schema>& inputs) {
  Schema schema = inputs[0];
  for (const Schema& input : inputs) {
    std::optional<Schema> common = common_columns(schema, input);
    if (!common)
      throw Error(fmt::format("[{}] its inputs have different columns: {} and {}", node.op, to_string(inputs[0]),
                              to_string(input)));
    schema = *std::move(common);
  }
  return schema;
}

std::int64_t concat_size(const Node& node, const Sizes& rows) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == kForever && i + 1 < rows.size())
      throw Error("[concat] an input without end hides those after it: put it last");
    if (rows[i] == kForever || sum == kUnknown || rows[i] == kUnknown)
      sum = rows[i] == kForever ? kForever : kUnknown;
    else
      sum = rows_sum(node.op, sum, rows[i]);
  }
  return sum;
}

void check_mix(const Node& node) {
  const Reals& weights = arg<Reals>(node.args, "weights");
  if (weights.size() != node.inputs.size())
    throw Error(fmt::format("[mix] has {} weights for {} inputs", weights.size(), node.inputs.size()));
  double sum = 0;
  for (const double w : weights) {
    if (!(w > 0) || w > 1e300) throw Error(fmt::format("[mix] weight {} is not a positive number", w));
    sum += w;
  }
  for (const double w : weights) {
    if (w / sum < 0.0005) throw Error(fmt::format("[mix] weight {} is below a thousandth part of their sum", w));
  }
  at_least(node, "count", -1);
  at_least(node, "seed", -1);
}

void check_mixed_rows(const Node&, const Sizes& rows) {
  for (const std::int64_t n : rows) {
    if (n == kUnknown || n == 0) throw Error("[mix] every input needs a known number of rows that is not 0");
  }
}

std::int64_t mix_size(const Node& node, const Sizes& rows) {
  if (const auto count = arg<std::int64_t>(node.args, "count"); count != -1) return count;
  std::int64_t sum = 0;
  for (const std::int64_t n : rows) sum = n == kForever || sum == kForever ? kForever : rows_sum(node.op, sum, n);
  return sum;
}

}  // namespace

std::vector<NodeEntry> row_entries() {
  return {
      {.op = node_name::kMap,
       .kind = NodeKind::map,
       .doc = "transforms each sample, in the order of the transforms",
       .args = {{.name = "columns",
                 .type = ArgType::texts,
                 .doc = "columns to transform; all of them get the same random draws",
                 .fallback = Texts{kImageColumn}}},
       .check = check_map,
       .schema = same_schema,
       .size = same_size},
      {.op = node_name::kFilter,
       .kind = NodeKind::filter,
       .doc = "keeps the rows whose column passes a test",
       .args = {{.name = "column", .type = ArgType::text, .doc = "column to test"},
                {.name = "test",
                 .type = ArgType::text,
                 .doc = "how to compare with values or texts, or a registered function of the column",
                 .allowed = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "in", "not_in",
                             "function"}},
                {.name = "values", .type = ArgType::reals, .doc = "numbers to compare with", .fallback = Reals{}},
                {.name = "texts", .type = ArgType::texts, .doc = "byte strings to compare with", .fallback = Texts{}},
                {.name = "function",
                 .type = ArgType::text,
                 .doc = "name given to register_predicate",
                 .fallback = std::string(),
                 .code = true}},
       .check = check_filter,
       .schema = filter_schema,
       .size = [](const Node&, const Sizes& rows) { return rows[0] == 0 ? 0 : kUnknown; }},
      {.op = node_name::kProject,
       .kind = NodeKind::columns,
       .doc = "keeps some of the columns, in the given order",
       .args = {{.name = "columns", .type = ArgType::texts, .doc = "columns to keep"}},
       .check = check_project,
       .schema = project_schema,
       .size = same_size},
      {.op = node_name::kRename,
       .kind = NodeKind::columns,
       .doc = "renames columns",
       .args = {{.name = "from", .type = ArgType::texts, .doc = "current names"},
                {.name = "to", .type = ArgType::texts, .doc = "new names"}},
       .check = check_rename,
       .schema = rename_schema,
       .size = same_size},
      {.op = node_name::kZip,
       .kind = NodeKind::join,
       .doc = "combines the columns of its inputs row by row, up to the shortest input",
       .schema = zip_schema,
       .size = zip_size},
      {.op = node_name::kConcat,
       .kind = NodeKind::join,
       .doc = "gives the rows of its inputs one after the other",
       .schema = common_schema,
       .size = concat_size},
      {.op = node_name::kMix,
       .kind = NodeKind::join,
       .doc = "draws rows from its inputs at random by weight; an input that ends starts over",
       .args = {{.name = "weights",
                 .type = ArgType::reals,
                 .doc = "one weight per input; the shares are exact in every 1000 rows"},
                {.name = "count",
                 .type = ArgType::integer,
                 .doc = "rows per epoch; -1: as many as all inputs together",
                 .fallback = std::int64_t{-1}},
                seed_arg()},
       .check = check_mix,
       .schema = common_schema,
       .size = mix_size,
       .check_rows = check_mixed_rows,
       .random = true,
       .repeats = true},
      {.op = node_name::kCache,
       .kind = NodeKind::cache,
       .doc = "caches the rows of the first epoch in memory up to a limit, then in a file",
       .args = {{.name = "memory_limit",
                 .type = ArgType::integer,
                 .doc = "memory limit in bytes",
                 .fallback = std::int64_t{1} << 30},
                {.name = "directory",
                 .type = ArgType::text,
                 .doc = "folder that keeps the file for later runs; empty: no file, and rows beyond the limit are "
                        "computed in every epoch",
                 .fallback = std::string(),
                 .place = true}},
       .check = [](const Node& node) { at_least(node, "memory_limit", 0); },
       .schema = same_schema,
       .size = same_size},
  };
}

}  // namespace ridgeline::data
