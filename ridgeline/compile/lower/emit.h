// ridgeline/compile/lower/emit.h
//
// Turns chosen kernels into launches in order, with copies and changes of layout between them, returned values, and
// updates of the store. The homes of parameters are already fixed.
#pragma once

#include "ridgeline/compile/lower/choose_kernels.h"
#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/side_by_side.h"

namespace ridgeline {

// `choices`: one for each op, with kernels made for `teams`. Offsets are not planned yet.
Plan emit(Graph graph, std::vector<Choice> choices, const OpTeams& teams, const Target& target,
          const ParameterStore& store);

}  // namespace ridgeline
