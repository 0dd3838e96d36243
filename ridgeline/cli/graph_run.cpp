// `graph run`: a graph on random values, or on those of a file.
#include "ridgeline/compile/run/graph_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/graph_tools.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/random.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline::cli {
namespace {

struct RunFlags {
  std::string file, inputs, save;
  GraphRunFlags how;
  int values = 0;
  bool reference = false, json = false;
};

constexpr int kPrinted = 6, kPrintedInJson = 1000;

// A result of a run, under its name in the graph's text.
struct Result {
  std::string label;  // %2, %2 "loss", next %w
  std::string name;   // in JSON and in the file
  Tensor value;
  double difference = 0;  // the largest from the reference's
};

std::string number(double value) { return fmt::format("{:.6g}", plain_nan(value)); }

// With commas between thousands: "12,288".
std::string count(std::size_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string first_values(const Tensor& t, int most) {
  if (t.shape().rank() == 0) return number(t.at(0));
  std::string text;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(most, t.elements()); ++i)
    text += (i ? ", " : "") + number(t.at(i));
  double smallest = NAN, largest = NAN, sum = 0;  // NaN at the end only if all values are
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    smallest = std::fmin(smallest, t.at(i));
    largest = std::fmax(largest, t.at(i));
    sum += t.at(i);
  }
  if (t.elements() <= most) return "[" + text + "]";
  return fmt::format("[{}, ... {} in all, {} to {}, mean {}]", text, count(static_cast<std::size_t>(t.elements())),
                     number(smallest), number(largest), number(sum / static_cast<double>(t.elements())));
}

nlohmann::json to_json(const Result& result, const RunFlags& flags) {
  const Tensor& t = result.value;
  std::vector<std::int64_t> dims;
  for (int i = 0; i < t.shape().rank(); ++i) dims.push_back(t.shape()[i]);
  nlohmann::json values = nlohmann::json::array();
  const int most = flags.values > 0 ? flags.values : kPrintedInJson;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(most, t.elements()); ++i) {
    const double value = t.at(i);
    if (std::isfinite(value))
      values.push_back(value);
    else
      values.push_back(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
  nlohmann::json object{{"name", result.name},
                        {"value", result.label},
                        {"dtype", name_of(t.dtype())},
                        {"shape", dims},
                        {"values", values},
                        {"hash", fmt::format("{:016x}", hash64({static_cast<const char*>(t.raw()), t.byte_size()}))}};
  if (flags.reference) object["reference_difference"] = result.difference;
  return object;
}

Arguments arguments_of(const Graph& graph, const RunFlags& flags) {
  Arguments arguments = draw_arguments(graph, flags.how.seed);
  if (flags.inputs.empty()) return arguments;
  const SafetensorsFile file(flags.inputs);
  for (const NamedTensor& t : file.tensors()) arguments[t.name] = t.tensor;
  return arguments;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    worst = std::max(worst, std::isfinite(x - y) ? std::abs(x - y) : INFINITY);
  }
  return worst;
}

std::vector<Result> results_of(const Graph& graph, GraphRun& run, const Arguments& arguments, bool reference) {
  const std::map<ValueId, std::string> names = value_names(graph);
  std::vector<Result> results;
  const std::vector<Tensor> returns = run.returns();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    const Return& r = graph.returns[i];
    const std::string value = "%" + names.at(r.value);
    results.push_back(
        {r.name.empty() ? value : value + " \"" + r.name + "\"", r.name.empty() ? value : r.name, returns[i]});
  }
  const Arguments updated = run.updated();
  for (const auto& [name, value] : updated) results.push_back({"next %" + name, name, value});
  if (!reference) return results;
  const std::vector<Tensor> values = evaluate(graph, arguments);
  const auto value_of = [&](ValueId id) { return values[static_cast<std::size_t>(id)]; };
  std::vector<Tensor> expected;
  for (const Return& r : graph.returns) expected.push_back(value_of(r.value));
  Arguments next;
  for (const Update& update : graph.updates) next[graph.value(update.current).name] = value_of(update.next);
  for (const auto& [name, value] : next) expected.push_back(value);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].difference = largest_difference(results[i].value, expected[i]);
  return results;
}

// Launches and bytes of the graph without fusion.
LaunchCounts unfused_counts(const Graph& graph, Session& session, CompileOptions options) {
  options.fusion = false;
  options.dump_directory.clear();
  return count_launches(graph, session, options);
}

void print_text(const LaunchCounts& work, const LaunchCounts& unfused, bool fusion, const std::vector<Result>& results,
                const RunFlags& flags) {
  const auto both = [&](std::size_t fused, std::size_t apart, const char* what) {
    return fusion ? fmt::format("{} ({}{})", count(fused), count(apart), what) : count(fused);
  };
  fmt::print("launches {}, bytes read {}, written {}\n", both(work.launches, unfused.launches, " without fusion"),
             both(work.read, unfused.read, ""), both(work.written, unfused.written, ""));
  for (const Result& r : results) {
    const std::string type =
        r.value.shape().rank() == 0 ? "" : " " + std::string(name_of(r.value.dtype())) + r.value.shape().to_string();
    fmt::print("{}{} = {}{}\n", printable(r.label), type,
               first_values(r.value, flags.values > 0 ? flags.values : kPrinted),
               flags.reference ? "   (largest difference from the reference: " + number(r.difference) + ")" : "");
  }
}

int run(const RunFlags& given) {
  RunFlags flags = given;
  if (flags.values < 0) throw Error("graph run: --values must be 0 or more", ErrorKind::usage);
  finish(flags.how);
  const Graph graph = read_graph(flags.file);
  const Arguments arguments = arguments_of(graph, flags);
  GraphRun run(graph, flags.how.session, flags.how.compile);
  run.set(arguments);
  run.program().run();
  const LaunchCounts work = run.program().counts();
  const bool fusion = flags.how.compile.fusion.value_or(true);
  const LaunchCounts unfused = fusion ? unfused_counts(graph, run.session(), flags.how.compile) : work;
  const std::vector<Result> results = results_of(graph, run, arguments, flags.reference);
  if (!flags.save.empty()) {
    std::vector<NamedTensor> tensors;
    for (const Result& r : results) tensors.push_back({r.name, r.value});
    write_safetensors(flags.save, tensors);
  }
  if (!flags.json) {
    print_text(work, unfused, fusion, results, flags);
    return 0;
  }
  nlohmann::json object{{"graph", graph.name},
                        {"device", flags.how.session.device},
                        {"launches", work.launches},
                        {"bytes_read", work.read},
                        {"bytes_written", work.written},
                        {"launches_without_fusion", unfused.launches},
                        {"bytes_read_without_fusion", unfused.read},
                        {"bytes_written_without_fusion", unfused.written},
                        {"warnings", run.program().warnings()},
                        {"results", nlohmann::json::array()}};
  for (const Result& r : results) object["results"].push_back(to_json(r, flags));
  fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return 0;
}

}  // namespace

GraphTool add_graph_run(Command& graph) {
  const auto owned = std::make_shared<RunFlags>();
  RunFlags& flags = *owned;
  Command& app = graph.subcommand("run", "compile a graph and run it once, by default on random values");
  add_graph_file(app, flags.file);
  app.option("--inputs", flags.inputs, "take arguments from this safetensors file, by name; the others are random");
  app.option("--save", flags.save, "write the results to this safetensors file");
  app.option("--values", flags.values, "number of values to print of each result; 0: 6, with --json 1000");
  app.boolean("--reference", flags.reference,
              "also run the reference implementation of each op and print the largest difference");
  app.flag("--json", flags.json, "print one JSON object");
  add_graph_run_flags(app, flags.how);
  return {&app, [owned] { return run(*owned); }};
}

}  // namespace ridgeline::cli
