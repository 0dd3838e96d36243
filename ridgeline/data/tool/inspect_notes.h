// ridgeline/data/tool/inspect_notes.h
//
// What an inspection means for training, in sentences. Pure functions of the report.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/tool/inspect.h"

namespace ridgeline::data {

// Labels that do not start where expected or leave gaps, classes that differ between the parts, very unequal classes,
// names that lie, files that are passed over, images that are in both parts. Empty for data as it should be.
std::vector<std::string> notes_on(const InspectReport& report);

}  // namespace ridgeline::data
