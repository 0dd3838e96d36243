#include "tests/compile/shrink.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/inline.h"

namespace ridgeline::testing {
namespace {

// Removes ops, functions and arguments that nothing reads.
void clean(GraphCase& c) {
  remove_dead_nodes(c.graph);
  const std::vector<int> uses = use_counts(c.graph);
  std::set<ValueId> updated;
  for (const Update& u : c.graph.updates) updated.insert(u.current);
  std::erase_if(c.graph.arguments, [&](ValueId id) {
    if (uses[static_cast<std::size_t>(id)] > 0 || updated.contains(id)) return false;
    c.arguments.erase(c.graph.value(id).name);
    return true;
  });
}

bool is_whole(const GraphCase& c) {
  try {
    verify(c.graph);
    return !c.graph.returns.empty() || !c.graph.updates.empty();
  } catch (const Error&) {
    return false;
  }
}

class Shrinker {
 public:
  Shrinker(GraphCase found, const std::function<bool(const GraphCase&)>& fails)
      : best_(std::move(found)), fails_(fails) {}

  GraphCase run() {
    GraphCase flat = best_;
    flat.graph = inline_calls(flat.graph);
    attempt(std::move(flat));
    for (bool smaller = true; smaller;) {
      smaller = leave_out([](Graph& g) -> auto& { return g.returns; }) ||
                leave_out([](Graph& g) -> auto& { return g.updates; }) || return_operands() || cut_ops() ||
                make_inputs();
    }
    return std::move(best_);
  }

 private:
  bool attempt(GraphCase smaller) {
    clean(smaller);
    if (!is_whole(smaller) || !fails_(smaller)) return false;
    best_ = std::move(smaller);
    return true;
  }

  template <class List>
  bool leave_out(const List& list) {
    bool any = false;
    for (std::size_t i = list(best_.graph).size(); i-- > 0;) {
      GraphCase smaller = best_;
      auto& items = list(smaller.graph);
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
      any = attempt(std::move(smaller)) || any;
    }
    return any;
  }

  // Replaces results that are returned or are next versions by the operands of their ops.
  bool return_operands() {
    const std::vector<int> producer = producers(best_.graph);
    for (std::size_t i = 0; i < best_.graph.returns.size(); ++i) {
      const int from = producer[static_cast<std::size_t>(best_.graph.returns[i].value)];
      if (from < 0) continue;
      GraphCase smaller = best_;
      std::vector<Return>& returns = smaller.graph.returns;
      const Return given = returns[i];
      returns.erase(returns.begin() + static_cast<std::ptrdiff_t>(i));
      for (ValueId id : best_.graph.nodes[static_cast<std::size_t>(from)].inputs) {
        if (producer[static_cast<std::size_t>(id)] >= 0)
          returns.push_back({given.name + "_" + std::to_string(returns.size()), id});
      }
      if (attempt(std::move(smaller))) return true;
    }
    for (std::size_t i = 0; i < best_.graph.updates.size(); ++i) {
      const int from = producer[static_cast<std::size_t>(best_.graph.updates[i].next)];
      if (from < 0) continue;
      GraphCase smaller = best_;
      smaller.graph.updates.erase(smaller.graph.updates.begin() + static_cast<std::ptrdiff_t>(i));
      for (ValueId id : best_.graph.nodes[static_cast<std::size_t>(from)].inputs) {
        if (producer[static_cast<std::size_t>(id)] >= 0)
          smaller.graph.returns.push_back({"cut_" + std::to_string(smaller.graph.returns.size()), id});
      }
      if (attempt(std::move(smaller))) return true;
    }
    return false;
  }

  // Replaces an op by inputs with the values of the references. The last op first, so that what only it reads is
  // removed, too.
  bool cut_ops() {
    for (std::size_t n = best_.graph.nodes.size(); n-- > 0;) {
      const std::vector<Tensor> values = evaluate(best_.graph, best_.arguments);
      GraphCase smaller = best_;
      for (ValueId id : smaller.graph.nodes[n].outputs) {
        ValueInfo& info = smaller.graph.value(id);
        info.kind = ValueKind::input;
        info.name = "cut" + std::to_string(cuts_++);
        smaller.graph.arguments.push_back(id);
        smaller.arguments[info.name] = values[static_cast<std::size_t>(id)];
      }
      smaller.graph.nodes.erase(smaller.graph.nodes.begin() + static_cast<std::ptrdiff_t>(n));
      if (attempt(std::move(smaller))) return true;
    }
    return false;
  }

  bool make_inputs() {
    bool any = false;
    for (std::size_t i = 0; i < best_.graph.arguments.size(); ++i) {
      GraphCase smaller = best_;
      ValueInfo& info = smaller.graph.value(smaller.graph.arguments[i]);
      if (info.kind == ValueKind::input) continue;
      info.kind = ValueKind::input;
      any = attempt(std::move(smaller)) || any;
    }
    return any;
  }

  GraphCase best_;
  const std::function<bool(const GraphCase&)>& fails_;
  int cuts_ = 0;
};

}  // namespace

GraphCase shrink(GraphCase found, const std::function<bool(const GraphCase&)>& fails) {
  return Shrinker(std::move(found), fails).run();
}

std::string write_case(const GraphCase& found, const std::string& name, const std::string& comment) {
  const char* given = std::getenv("RIDGELINE_FAILURES");
  const std::string folder = given != nullptr ? given : std::filesystem::temp_directory_path() / "ridgeline-failures";
  make_directories(folder);
  std::string text;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) text += "# " + line + "\n";
  const std::string path = (std::filesystem::path(folder) / name).string();
  write_file_atomically(path + ".rdg", text + to_text(found.graph, {.locations = false}));
  std::vector<NamedTensor> tensors;
  for (const auto& [argument, value] : found.arguments) tensors.push_back({argument, value});
  write_safetensors(path + ".safetensors", tensors);
  return "ridgeline graph run " + path + ".rdg --inputs=" + path + ".safetensors --reference";
}

}  // namespace ridgeline::testing
