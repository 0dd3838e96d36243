// Graphs before and after a pass, as text: tests/graphs/*.rdg, whose first line names the pass. The device supports
// everything that references do, unless further lines set its limits:
//   # terms: 4            most terms of a loop
//   # operands: 3         most operands of a loop
//   # sums: no            no sum ends a loop
//   # types: u8, f32      types of a loop's operands
//   # epilogues: none     or "conv2d relu", the only supported one
//   # data_gradients: none   or the types for which conv2d_bwd_data applies a relu's gradient
//   # pool_gradients: none   or the types for which the gradients of conv2d read that of a pooled image
//   # norm_gradients: none   or the types for which batch_norm_bwd applies a relu's gradient
//   # again: f32           the types for which batch norm can be recomputed from its statistics
//   # dense_updates: bf16    the types for which the update of dense weights computes their gradient
//   # dense_update_rows: 4     the largest number of rows for that
//   # dense_update_weights: 8  the smallest number of weights for that
//   # slow: loop 4          ops over f32 that take this many times as long as their bytes
//   # live: 4096          bytes that may be alive at the same time
//   # apart: add exp_1    names of ops that are not merged
//   # precision: allow_mix_precision_bf16    the precision mode
//   # keep: head, op:relu      ops, scopes or kinds of ops that keep their types
//   # white: log, relu         ops moved to this op list; likewise gray and black
//   # types_of: dense_1 bf16 f32, op:relu f16 f16    operand and result types of an op, or of a kind of ops
//   # lacks: conv2d f32        the device has no such kernel
//   # ranks: 2                  number of ranks of the step
//   # shard: 1                  updates are split; this is the index of the rank
//   # rank: 1                   index of this rank
//   # mode: hybrid_parallel     the parallel mode
//   # pipeline: 2 4 1f1b        stages, micro-batches and their order
//   # servers: 1 w v            parameter servers after the ranks, and the parameters that they keep
//   # overlap: no               exchanges run after the backward pass
//   # split: 0, 2               the last gradient of each bucket
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/support/paths.h"

namespace ridgeline {
namespace {

struct TextCase {
  std::string name;
  const Pass* pass = nullptr;
  PassContext context;
  std::string before;
  std::string after;

  Graph run(const Graph& graph) const {
    PassResults results;
    return pass->run(graph, context, results);
  }
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::string word;
  for (std::istringstream in(text); in >> word;) {
    if (word.ends_with(",")) word.pop_back();
    all.push_back(word);
  }
  return all;
}

DTypeSet types_of(const std::vector<std::string>& names) {
  DTypeSet types;
  for (const std::string& name : names) types.insert(dtype_named(name));
  return types;
}

// The first row of the device's table of merged ops.
FusedForms& forms_of(PassContext& context, std::string_view op) {
  std::vector<FusedForms>& forms = context.fusion.forms;
  return *std::find_if(forms.begin(), forms.end(), [&](const FusedForms& row) { return row.op == op; });
}

PassContext read_context(const std::string& name, const std::string& text) {
  PassContext context{.fusion = reference_fusion_limits()};
  LoopLimits& loop = context.fusion.loop;
  std::string line;
  for (std::istringstream in(text); std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("# ") || colon == std::string::npos || line.find(' ', 2) < colon) continue;
    const std::string key = line.substr(2, colon - 2);
    const std::vector<std::string> values = words(line.substr(colon + 2));
    if (key == "pass") continue;
    if (key == "terms") {
      loop.terms = std::stoul(values.at(0));
    } else if (key == "operands") {
      loop.operands = std::stoul(values.at(0));
    } else if (key == "sums") {
      loop.sums = values.at(0) != "no";
    } else if (key == "types") {
      loop.inputs = types_of(values);
    } else if (key == "kernels") {
      context.keeps_kernel = [types = types_of(values)](const Graph& graph, const Node&, const Node& merged) {
        return types.contains(graph.value(merged.inputs.front()).type.dtype);
      };
    } else if (key == "norm_gradients") {
      forms_of(context, "batch_norm_bwd").types = values.at(0) == "none" ? DTypeSet() : types_of(values);
    } else if (key == "dense_updates") {
      std::erase_if(context.fusion.forms, [](const FusedForms& forms) { return forms.with == "l2_penalty"; });
      forms_of(context, "dense_update").types = types_of(values);
    } else if (key == "dense_update_rows") {
      forms_of(context, "dense_update").most_rows = std::stoll(values.at(0));
    } else if (key == "dense_update_weights") {
      forms_of(context, "dense_update").least_weights = std::stoll(values.at(0));
    } else if (key == "slow") {
      context.fusion.slow_ops.push_back({values.at(0), {DType::f32}, std::stod(values.at(1))});
    } else if (key == "again") {
      context.fusion.again = types_of(values);
    } else if (key == "epilogues") {
      std::erase_if(context.fusion.forms,
                    [](const FusedForms& forms) { return forms.with.starts_with("relu") || forms.with == "add"; });
      if (values.at(0) != "none") context.fusion.forms.push_back({values.at(0), values.at(1), {DType::f32}});
    } else if (key == "precision") {
      const PrecisionPolicy mode = PrecisionPolicy::of(precision_mode_named(values.at(0)));
      context.precision.rewrite = mode.rewrite;
      context.precision.low = mode.low;
    } else if (key == "keep") {
      for (const std::string& value : values) {
        const bool kind = value.starts_with("op:");
        (kind ? context.precision.keep_ops : context.precision.keep).push_back(kind ? value.substr(3) : value);
      }
    } else if (key == "white" || key == "black" || key == "gray") {
      for (const PrecisionList list : {PrecisionList::white, PrecisionList::black, PrecisionList::gray}) {
        for (const std::string& value : values) {
          if (name_of(list) == key) context.precision.moved[value] = list;
        }
      }
    } else if (key == "types_of") {
      for (std::size_t i = 0; i + 2 < values.size(); i += 3) {
        const bool kind = values[i].starts_with("op:");
        context.precision.overrides.push_back(
            {!kind, kind ? values[i].substr(3) : values[i], dtype_named(values[i + 1]), dtype_named(values[i + 2])});
      }
    } else if (key == "lacks") {
      context.takes = [op = values.at(0), type = dtype_named(values.at(1))](std::string_view asked, DType dtype) {
        return asked != op || dtype != type;
      };
    } else if (key == "ranks") {
      context.distribution.ranks = std::stoll(values.at(0));
    } else if (key == "shard") {
      context.distribution.shard_updates = true;
      context.distribution.rank = std::stoll(values.at(0));
    } else if (key == "rank") {
      context.distribution.rank = std::stoll(values.at(0));
    } else if (key == "mode") {
      context.distribution.mode = parallel_mode_named(values.at(0));
    } else if (key == "pipeline") {
      context.distribution.pipeline = {std::stoll(values.at(0)), std::stoll(values.at(1)),
                                       pipeline_order_named(values.at(2))};
    } else if (key == "servers") {
      context.distribution.servers = std::stoll(values.at(0));
      context.distribution.on_servers.insert(values.begin() + 1, values.end());
    } else if (key == "overlap") {
      context.distribution.overlap = values.at(0) != "no";
    } else if (key == "split") {
      std::vector<std::int64_t> ends;
      for (const std::string& value : values) ends.push_back(std::stoll(value));
      context.distribution.split = SplitStrategy::by_indices(ends);
    } else if (key == "live") {
      context.live_limit = std::stoul(values.at(0));
    } else if (key == "apart") {
      context.keep_apart.insert(values.begin(), values.end());
    } else {
      throw std::runtime_error(name + " sets the unknown limit '" + key + "'");
    }
  }
  return context;
}

// A file in another format, or with an unknown pass, is an error, since it would test nothing.
TextCase read_case(const std::string& name, const std::string& text) {
  const std::string head = "# pass: ";
  const std::string border = "# expect:\n";
  if (!text.starts_with(head)) throw std::runtime_error(name + " does not begin with '" + head + "NAME'");
  const std::string pass = text.substr(head.size(), text.find('\n') - head.size());
  const auto known = std::find_if(passes().begin(), passes().end(), [&](const Pass& p) { return p.name == pass; });
  if (known == passes().end()) throw std::runtime_error(name + " names the unknown pass '" + pass + "'");
  const std::size_t at = text.find(border);
  if (at == std::string::npos) throw std::runtime_error(name + " has no line '# expect:'");
  const std::string before = text.substr(0, at);
  return {name, &*known, read_context(name, before), before, text.substr(at + border.size())};
}

std::vector<TextCase> all_cases() {
  std::vector<TextCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_directory() + "/tests/graphs")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    cases.push_back(read_case(entry.path().filename().string(), text.str()));
  }
  return cases;
}

std::string plain(const Graph& graph) { return to_text(graph, {.locations = false}); }

TEST(PassText, EveryGraphBecomesWhatItsFileExpects) {
  std::set<std::string> tested;
  for (const TextCase& c : all_cases()) {
    tested.insert(std::string(c.pass->name));
    SCOPED_TRACE(c.name);
    const Graph before = parse_graph(c.before, c.name);
    verify(before);
    const std::string untouched = plain(before);
    const Graph after = c.run(before);
    verify(after);
    EXPECT_EQ(plain(after), plain(parse_graph(c.after, c.name)));
    EXPECT_EQ(plain(before), untouched);
    EXPECT_EQ(plain(c.run(after)), plain(after)) << "a second run finds nothing";
  }
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(tested.contains(std::string(pass.name))) << pass.name << " has no text test";
  }
}

TEST(PassText, AFileThatNamesNoKnownPassIsAnErrorAndNotSkipped) {
  const std::string graph = "graph @g(%x: f32[1]) {\n  return %x\n}\n";
  EXPECT_NO_THROW(read_case("good.rdg", "# pass: simplify\n" + graph + "# expect:\n" + graph));
  EXPECT_THROW(read_case("typo.rdg", "# pass: simplfy\n" + graph + "# expect:\n" + graph), std::runtime_error);
  EXPECT_THROW(read_case("none.rdg", graph + "# expect:\n" + graph), std::runtime_error);
  EXPECT_THROW(read_case("limit.rdg", "# pass: simplify\n# term: 4\n" + graph + "# expect:\n" + graph),
               std::runtime_error);
  EXPECT_THROW(read_case("half.rdg", "# pass: simplify\n" + graph), std::runtime_error);
}

std::string refusal_of(const std::string& disabled) {
  try {
    const PassContext context;
    PassResults results;
    run_passes(parse_graph("graph @g(%x: f32[1]) {\n  return %x\n}\n"), context, results,
               std::vector<std::string>{disabled});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Passes, CanBeLeftOutByNameUnlessRequired) {
  EXPECT_EQ(refusal_of("simplify"), "");
  EXPECT_NE(refusal_of("inline").find("cannot be left out (those that can: simplify, "), std::string::npos);
  EXPECT_NE(refusal_of("simplfy").find("did you mean 'simplify'"), std::string::npos) << refusal_of("simplfy");
}

// The page on compilation lists them before `lower`.
TEST(Passes, ArePublishedInTheirOrder) {
  std::ifstream page(testing::source_directory() + "/docs/compile.md");
  std::vector<std::string> listed, wanted;
  std::string line;
  while (std::getline(page, line) && line != "```") continue;
  while (std::getline(page, line) && !line.starts_with("lower "))
    for (const std::string& word : words(line.substr(0, line.find('(')))) listed.push_back(word);
  for (const Pass& pass : passes()) wanted.emplace_back(pass.name);
  EXPECT_EQ(listed, wanted);
}

TEST(Passes, FusionSwitchesThoseThatMergeOrExchangeOps) {
  const std::vector<std::string> fusing = fusion_passes();
  const std::set<std::string> names(fusing.begin(), fusing.end());
  EXPECT_TRUE(names.contains("narrow_relu_grad"));
  EXPECT_TRUE(names.contains("fold_norm"));
  EXPECT_FALSE(names.contains("schedule"));
  EXPECT_FALSE(names.contains("recompute"));
}

}  // namespace
}  // namespace ridgeline
