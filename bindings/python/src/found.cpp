// The contents of a data set folder: the report that the command line also uses.
#include <nanobind/stl/string.h>

#include "bind.h"
#include "ridgeline/data/standard/found_data.h"
#include "ridgeline/data/standard/found_text.h"
#include "values.h"

namespace ridgeline::python {
namespace {

nb::dict part_to_python(const data::FoundData& found, const data::DataPart& part) {
  nb::dict out;
  out["name"] = part.name;
  out["use"] = data::use_of(found, part);
  out["layout"] = std::string(name_of(part.layout));
  out["dir"] = to_python(part.dir);
  out["files"] = to_python(data::Value(part.files));
  out["images"] = part.images;
  out["classes"] = to_python(data::Value(part.folders ? part.folders->classes : std::vector<std::string>()));
  nb::list broken;
  for (const data::ListingFault& fault : part.faults) broken.append(to_python(fault.place + " " + fault.reason));
  out["broken"] = broken;
  return out;
}

nb::dict found_data(nb::object dir) {
  const std::string path = text_of(dir);
  const data::FoundData found = [&] {
    const nb::gil_scoped_release unlocked;
    return data::find_data(path);
  }();
  nb::list parts, not_used, notes;
  for (const data::DataPart& part : found.parts) parts.append(part_to_python(found, part));
  for (const data::NotUsed& item : found.not_used) not_used.append(to_python(item.text));
  for (const std::string& note : found.notes) notes.append(to_python(note));
  if (const std::string note = data::validation_note(found); !note.empty()) notes.append(to_python(note));
  nb::dict out;
  out["parts"] = parts;
  out["not_used"] = not_used;
  out["notes"] = notes;
  return out;
}

}  // namespace

void bind_found(nb::module_& m) { m.def("found_data", &found_data); }

}  // namespace ridgeline::python
