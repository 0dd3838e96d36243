// ridgeline/compile/lower/target.h
//
// Where a program is to run: what lowering knows of the session. Borrows everything.
#pragma once

#include "ridgeline/compile/lower/rank_groups.h"
#include "ridgeline/compile/run/parameter_store.h"
#include "ridgeline/core/log.h"

namespace ridgeline {

struct Target {
  Device& device;  // that programs are placed on; parameters live there
  Device& cpu;     // the host's: inputs arrive there, and ops that `device` lacks may run there
  bool soft_placement = true;
  Log& log;
  int lanes = 1;  // launches that may run side by side
  RankGroups groups = {};
  bool verify = false;  // the plan after every step of lowering (verify_plan.h)
};

}  // namespace ridgeline
