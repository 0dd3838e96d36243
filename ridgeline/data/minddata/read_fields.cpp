// Values of MindData's as ours, by the rules of forms.h.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/minddata/reader.h"

namespace ridgeline::data {
namespace {

using Rule = MindDataRule;

// Tuning of MindData's own, in any node: checked, not taken over.
const std::vector<std::string>& tuning() {
  static const std::vector<std::string> keys{"num_parallel_workers", "connector_queue_size"};
  return keys;
}

}  // namespace

const MindDataForm& form_named(const std::vector<MindDataForm>& forms, const std::string& name, const char* kind) {
  std::vector<std::string> names;
  for (const MindDataForm& form : forms) {
    if (form.name == name) return form;
    names.push_back(form.name);
  }
  throw Error(fmt::format("[MindData JSON] unknown {} '{}'{} (known: {})", kind, name, did_you_mean(name, names),
                          fmt::join(names, ", ")));
}

Value MindDataReader::value(const MindDataTree& object, const MindDataField& field, const ArgSpec& spec) const {
  const std::string& key = field.key;
  switch (field.rule) {
    case Rule::same: break;
    case Rule::real32: {
      Value read = object.value(key, spec.type);
      if (double* one = std::get_if<double>(&read)) *one = shortest_of_float(*one);
      if (Reals* list = std::get_if<Reals>(&read)) {
        for (double& v : *list) v = shortest_of_float(v);
      }
      return read;
    }
    case Rule::times_255: {
      Reals shares = object.get<Reals>(key);
      for (double& v : shares) v = share_of_255(v);
      return shares;
    }
    case Rule::count: {
      const auto count = object.get<std::int64_t>(key);
      if (count < 0) throw object.wrong(fmt::format("{} must be greater than or equal to 0, but got: {}", key, count));
      return count == 0 ? std::int64_t{-1} : count;
    }
    case Rule::count_or_all: {
      const auto count = object.get<std::int64_t>(key);
      if (count < -1 || count == 0)
        throw object.wrong(fmt::format("{} must be positive or -1, but got: {}", key, count));
      return count;
    }
    case Rule::four_sides: {
      const Integers sides = object.get<Integers>(key);
      const bool known = sides.size() == 1 || sides.size() == 2 || sides.size() == 4;
      if (!known || std::count(sides.begin(), sides.end(), sides[0]) != static_cast<std::ptrdiff_t>(sides.size()))
        throw object.wrong(fmt::format("{} is {}: all sides have the same padding here", key, object.text_of(key)));
      return sides[0];
    }
    case Rule::colour: {
      const Integers colour = object.get<Integers>(key);
      if (colour.size() != 1 && colour.size() != 3)
        throw object.wrong(fmt::format("{} is {}: a colour has 1 value or 3", key, object.text_of(key)));
      return short_colour(colour);
    }
    case Rule::filter: {
      const auto mode = object.get<std::int64_t>(key);
      std::string filter = minddata_filter(mode, options_.pixels);
      if (!filter.empty()) return filter;
      throw object.wrong(
          fmt::format("{} {} is none of 0 (LINEAR), 1 (NEAREST), 2 (CUBIC), 3 (AREA), 4 (PILCUBIC)", key, mode));
    }
    case Rule::dtype: {
      const std::string name = object.get<std::string>(key);
      std::string dtype = dtype_of_minddata(name);
      if (dtype.empty()) throw object.wrong(fmt::format("no element type here is '{}'", name));
      return dtype;
    }
  }
  return object.value(key, spec.type);
}

Args MindDataReader::fields(const MindDataTree& object, const MindDataForm& form, const std::vector<ArgSpec>& specs,
                            std::vector<std::string> around, bool node) const {
  for (const MindDataField& field : form.fields) {
    if (!field.key.empty()) around.push_back(field.key);
  }
  if (node) {
    around.insert(around.end(), tuning().begin(), tuning().end());
    for (const std::string& key : tuning()) {
      if (object.has(key) && object.get<std::int64_t>(key) < 1)
        throw object.wrong(fmt::format("{} is {}, it must be positive", key, object.text_of(key)));
    }
  }
  object.check_keys(around);
  Args args;
  for (const MindDataField& field : form.fields) {
    if (field.optional && !object.has(field.key)) continue;
    if (field.key.empty()) {
      if (field.only) args[field.arg] = *field.only;
    } else if (!field.arg.empty()) {
      const auto spec = std::find_if(specs.begin(), specs.end(), [&](const ArgSpec& s) { return s.name == field.arg; });
      RIDGELINE_CHECK(spec != specs.end(), "no argument " + field.arg);
      args[field.arg] = value(object, field, *spec);
    } else if (field.only) {
      if (object.value(field.key, static_cast<ArgType>(field.only->index())) != *field.only)
        throw object.wrong(fmt::format("{} is {}: {}", field.key, object.text_of(field.key), field.reason));
    } else if (!object.has(field.key)) {
      throw object.wrong("Failed to find " + field.key);
    }
  }
  return args;
}

}  // namespace ridgeline::data
