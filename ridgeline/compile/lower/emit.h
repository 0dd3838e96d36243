// ridgeline/compile/lower/emit.h
//
// From chosen kernels to launches in order: the copies and changes of layout between them, returned values, and the
// updates of the store. The homes of parameters are fixed by now.
#pragma once

#include "ridgeline/compile/lower/choose_kernels.h"
#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/side_by_side.h"

namespace ridgeline {

// `choices`: one an op, whose kernels are made for `teams`. Offsets are not planned yet.
Plan emit(Graph graph, std::vector<Choice> choices, const OpTeams& teams, const Target& target,
          const ParameterStore& store);

}  // namespace ridgeline
