// ridgeline/compile/lower/lanes.h
//
// Launches side by side: neighbouring launches of ops that run beside others (side_by_side.h) form sections. Within
// one, a launch waits only for earlier launches that write what it reads or writes, or read what it writes. Accesses
// are compared as memory (places.h): buffers that share bytes also wait for each other, and so do updates and readers
// of a stored value. So the results are always those of the plan's order.
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

// Finds neighbouring launches that may run side by side. Call before memory is planned, which then keeps their values
// separate for longer.
void find_sections(Plan& plan);

// Assigns the launches of each section to at most `lanes` lanes and records which launches of other lanes they wait
// for. Call after memory is planned.
void assign_lanes(Plan& plan, int lanes);

// The cost of a launch, for reports and estimates; for conversions and copies, the bytes that they move.
Cost cost_of(const Plan& plan, const Launch& launch);

}  // namespace ridgeline
