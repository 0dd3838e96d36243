#include "ridgeline/data/ir/functions.h"

#include "ridgeline/data/ir/generators.h"
#include "ridgeline/data/ir/named.h"

namespace ridgeline::data {
namespace {

struct VersionedFunction {
  SampleFunction function;
  CodeVersion version;
};
Named<Predicate>& predicates() {
  static Named<Predicate> all("predicate");
  return all;
}
Named<VersionedFunction>& functions() {
  static Named<VersionedFunction> all("sample function");
  return all;
}
Named<Generator>& generators() {
  static Named<Generator> all("generator");
  return all;
}
Named<StreamGenerator>& streams() {
  static Named<StreamGenerator> all("stream");
  return all;
}

}  // namespace

void register_predicate(const std::string& name, Predicate predicate) {
  if (!predicate) throw Error("predicate '" + name + "' is empty");
  predicates().add(name, std::move(predicate));
}
void register_function(const std::string& name, SampleFunction function, CodeVersion version) {
  if (!function) throw Error("sample function '" + name + "' is empty");
  functions().add(name, {std::move(function), std::move(version)});
}
const Predicate& predicate_named(const std::string& name) { return predicates().get(name); }
const SampleFunction& function_named(const std::string& name) { return functions().get(name).function; }
std::uint64_t version_of_function(const std::string& name) {
  return functions().get(name).version.number("function '" + name + "'");
}

void register_generator(const std::string& name, Generator generator) {
  if (!generator.row || generator.schema.empty() || generator.rows < 0)
    throw Error("generator '" + name + "' needs columns, a number of rows and a function");
  generators().add(name, std::move(generator));
}
void register_stream(const std::string& name, StreamGenerator generator) {
  if (!generator.open || generator.schema.empty() || generator.rows < 0 || generator.window < 1)
    throw Error("stream '" + name + "' needs columns, a number of rows, a function and a window");
  streams().add(name, std::move(generator));
}
const Generator& generator_named(const std::string& name) { return generators().get(name); }
const StreamGenerator& stream_named(const std::string& name) { return streams().get(name); }

}  // namespace ridgeline::data
