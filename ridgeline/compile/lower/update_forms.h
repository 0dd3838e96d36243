// ridgeline/compile/lower/update_forms.h
//
// Lets updates of parameters write the parameters' low precision copies as well: a derived form that only earlier
// launches read becomes one more result of the update, rounded on its way to memory, so that no later run has to read
// the parameter for it. Forms lie in plain rows, or as a kernel of the update can write them. Launches that make such a
// form stay, for runs that find the parameter changed by others.
#pragma once

#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/target.h"

namespace ridgeline {

void let_updates_write_forms(Plan& plan, const Target& target);

}  // namespace ridgeline
