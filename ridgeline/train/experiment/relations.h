// ridgeline/train/experiment/relations.h
//
// The document's relations (equal, lower, faster) compared with those of the runs.
#pragma once

#include "ridgeline/train/experiment/measured.h"

namespace ridgeline::train {

inline constexpr const char* kRelations = "The document's relations";  // heading of the table

// A row for each claim of the experiment whose two variants were run: what the document says, what was measured,
// whether they agree, and if not, why. `measured` in the order of the variants.
ReportTable relations(const Experiment& experiment, const std::vector<Measured>& measured);

}  // namespace ridgeline::train
