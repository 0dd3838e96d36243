// ridgeline/compile/lower/lanes.h
//
// Launches side by side: of the launches of a plan those that belong to ops which run beside others (side_by_side.h)
// form sections; within one, a launch waits for those before it that write what it reads or writes, or read what it
// writes, and for nothing else. What it touches is taken as memory (places.h): buffers that share bytes wait for each
// other, too, and so do updates and readers of a stored value. So whatever the plan is, the results are those of its
// order.
#pragma once

#include "ridgeline/compile/lower/places.h"
#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// A piece of memory that a launch reads or writes.
struct Touch {
  Place place;
  bool writes;
};
std::vector<Touch> touches(const Launch& launch, const Places& places);

// Neighbouring launches that may run side by side. Before memory is planned, which keeps their values apart for longer.
void find_sections(Plan& plan);

// Deals the launches of each section out to at most `lanes` lanes and says for whom of the other lanes they wait.
// Memory is planned.
void assign_lanes(Plan& plan, int lanes);

// What a launch does, for reports and estimates: of conversions and copies the bytes that they move.
Cost cost_of(const Plan& plan, const Launch& launch);

}  // namespace ridgeline
