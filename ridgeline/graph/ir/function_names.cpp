#include "ridgeline/graph/ir/function_names.h"

#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

// Whatever the body is called.
std::string text_of_body(const Graph& body) {
  Graph unnamed = body;
  unnamed.name.clear();
  return to_text(unnamed, {.locations = false});
}

void add_texts(const Graph& graph, FunctionTexts& texts) {
  for (const auto& [name, function] : graph.functions) {
    add_texts(function, texts);
    texts.try_emplace(name, text_of_body(function));
  }
}

}  // namespace

FunctionTexts function_texts(const Graph& graph) {
  FunctionTexts texts;
  add_texts(graph, texts);
  return texts;
}

std::string name_for(const Graph& body, const std::string& name, FunctionTexts& taken) {
  const std::string text = text_of_body(body);
  std::string own = name;
  for (int n = 1; !taken.try_emplace(own, text).second && taken.at(own) != text; ++n) own = numbered_name(name, n);
  return own;
}

void name_functions_apart(Graph& body, FunctionTexts& taken) {
  std::map<std::string, Graph> functions;
  std::map<std::string, std::string> names;
  for (auto& [name, function] : body.functions) {
    name_functions_apart(function, taken);
    names[name] = function.name = name_for(function, name, taken);
    functions.emplace(names[name], std::move(function));
  }
  body.functions = std::move(functions);
  for (Node& node : body.nodes) {
    if (node.op == "call") node.attributes.set("function", names.at(node.attributes.string("function")));
  }
}

}  // namespace ridgeline
