// ridgeline/data/tool/inspect_notes.h
//
// What an inspection means for training, in sentences. Pure functions of the report.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/tool/inspect.h"

namespace ridgeline::data {

// Labels that do not start where expected or have gaps, classes that differ between splits, very unequal classes,
// misleading file names, skipped files, images that are in two splits. Empty for data as it should be.
std::vector<std::string> notes_on(const InspectReport& report);

}  // namespace ridgeline::data
