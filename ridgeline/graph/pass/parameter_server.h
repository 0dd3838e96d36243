// ridgeline/graph/pass/parameter_server.h
//
// Divides a training step between workers, which have a batch each, and parameter servers, which keep parameters with
// their slots and update them. A worker's step computes gradients of its batch, sends ("pushes") those of the servers'
// parameters, and gets ("pulls") the updated parameters back for its next step. A server's step adds the workers'
// gradients up, in pairs of workers as all_reduce does, and is the part of the given step that follows from their
// means: what scales, clips and decays them, and the update. Parameters that are on no server are exchanged between the
// workers as data_parallel does. What follows from neither (schedules, counters) is computed by all; an l2_penalty over
// several ranks' gradients is summed over the ranks; a returned number is told to the servers.
//
// Ranks of the group: the workers, then the servers. Every push stands in front of every pull, in one order on all
// ranks, so that no two wait for each other.
// Keeps: the bits of parameters and slots of data_parallel over the workers; with an l2_penalty over several servers,
// up to the order of its sum.
#pragma once

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// Does nothing where there are no servers, or the step is divided already. An Error names the op or the stored value
// that one rank computes and another one would need.
Graph parameter_server(Graph graph, const PassContext& context, PassResults& results);

// An Error (usage) for servers beside another way to divide the work, or a rank that is none. Passes that divide it in
// front ask first.
void check_servers(const Distribution& over);

}  // namespace ridgeline
