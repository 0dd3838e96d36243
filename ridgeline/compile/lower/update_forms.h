// ridgeline/compile/lower/update_forms.h
//
// Makes updates of parameters also write the parameters' low-precision copies: a derived form that only earlier
// launches read becomes one more result of the update, rounded when it is stored, so that no later run has to read the
// parameter for it. Forms are in plain rows, or in a layout that a kernel of the update can write. The launches that
// made such a form stay, for runs that find the parameter changed by others.
#pragma once

#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/target.h"

namespace ridgeline {

void let_updates_write_forms(Plan& plan, const Target& target);

}  // namespace ridgeline
