#include "tests/compile/lower/plan_mutations.h"

#include <algorithm>
#include <set>

#include "ridgeline/compile/lower/places.h"
#include "tests/compile/lower/plan_change.h"

namespace ridgeline::testing {
namespace values {
namespace {

Buffer& buffer(Plan& plan, int b) { return plan.buffers[static_cast<std::size_t>(b)]; }
int count(const Plan& plan) { return static_cast<int>(plan.launches.size()); }

bool among(const std::vector<int>& all, int b) { return std::find(all.begin(), all.end(), b) != all.end(); }
bool always_runs(const Launch& l) { return !l.constant && l.derives < 0; }
bool computes(const Launch& l) { return l.kind == LaunchKind::kernel && !l.converts && l.node >= 0; }

template <class T>
const T* one_of(SampleRandom& random, const std::vector<T>& all) {
  return all.empty() ? nullptr : &all[static_cast<std::size_t>(random.integer(0, std::ssize(all) - 1))];
}

// A value that one launch makes and a later one reads, and that no launch in between makes again.
struct Read {
  int buffer, writer, reader;
  std::size_t operand;
};

std::vector<Read> reads(Plan& plan) {
  std::vector<Read> all;
  std::vector<int> writer(plan.buffers.size(), -1);
  for (int i = 0; i < count(plan); ++i) {
    const Launch& l = launch_of(plan, i);
    for (std::size_t k = 0; k < l.inputs.size(); ++k) {
      const int b = l.inputs[k];
      if (writer[static_cast<std::size_t>(b)] >= 0 && buffer(plan, b).bytes > 0)
        all.push_back({b, writer[static_cast<std::size_t>(b)], i, k});
    }
    for (int b : l.outputs) writer[static_cast<std::size_t>(b)] = i;
  }
  return all;
}

std::vector<Read> reads_of(Plan& plan, const std::function<bool(const Read&)>& wanted) {
  std::vector<Read> some = reads(plan);
  std::erase_if(some, [&](const Read& r) { return !wanted(r); });
  return some;
}

bool has_parts(const Plan& plan, int whole) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& b) { return b.within == whole; });
}

// A buffer of the arena on `device` that a launch between the two writes or uses as workspace; -1: none.
int written_between(Plan& plan, SampleRandom& random, const Read& r, bool workspace, bool alone) {
  std::vector<int> found;
  for (int j = r.writer + 1; j < r.reader; ++j) {
    const Launch& l = launch_of(plan, j);
    const std::vector<int> all = workspace ? std::vector<int>{l.scratch} : l.outputs;
    for (int b : all) {
      if (b < 0 || l.kind != LaunchKind::kernel || buffer(plan, b).bytes == 0) continue;
      const Buffer& made = buffer(plan, b);
      const bool other = whole_of(plan, b) != whole_of(plan, r.buffer) && made.home == BufferHome::arena &&
                         made.device == buffer(plan, r.buffer).device;
      if (other && (!alone || (made.within < 0 && !has_parts(plan, b)))) found.push_back(b);
    }
  }
  const int* b = one_of(random, found);
  return b != nullptr ? *b : -1;
}

std::optional<Undo> move_over(Plan& plan, SampleRandom& random, bool workspace) {
  const auto arena = [&](const Read& r) { return buffer(plan, r.buffer).home == BufferHome::arena; };
  const std::vector<Read> all = reads_of(plan, arena);
  const Read* r = one_of(random, all);
  if (r == nullptr) return {};
  const int over = written_between(plan, random, *r, workspace, false);
  if (over < 0) return {};
  const std::size_t begin = Places(plan).of(r->buffer).begin, within = buffer(plan, over).within_offset;
  if (within > begin) return {};
  return change(buffer(plan, whole_of(plan, over)).offset, begin - within);
}

std::optional<Undo> value_over_a_value_in_use(Plan& plan, SampleRandom& random) {
  return move_over(plan, random, false);
}
std::optional<Undo> workspace_over_a_value_in_use(Plan& plan, SampleRandom& random) {
  return move_over(plan, random, true);
}

std::optional<Undo> part_outside_of_its_whole(Plan& plan, SampleRandom& random) {
  const std::vector<Read> parts = reads_of(plan, [&](const Read& r) { return buffer(plan, r.buffer).within >= 0; });
  const Read* r = one_of(random, parts);
  if (r == nullptr) return {};
  Buffer& part = buffer(plan, r->buffer);
  return change(part.within_offset, part.within_offset + (buffer(plan, part.within).bytes + 63) / 64 * 64);
}

std::optional<Undo> part_of_an_exchange_moved(Plan& plan, SampleRandom& random) {
  const std::vector<Read> parts = reads_of(plan, [&](const Read& r) {
    const Buffer& b = buffer(plan, r.buffer);
    return launch_of(plan, r.writer).kind == LaunchKind::done && b.within >= 0 &&
           b.within_offset + b.bytes + 64 <= buffer(plan, b.within).bytes;
  });
  const Read* r = one_of(random, parts);
  if (r == nullptr) return {};
  return change(buffer(plan, r->buffer).within_offset, buffer(plan, r->buffer).within_offset + 64);
}

// A result of a launch of every run, with readers, in separate memory.
std::vector<Read> own_results(Plan& plan) {
  return reads_of(plan, [&](const Read& r) {
    const Buffer& b = buffer(plan, r.buffer);
    return computes(launch_of(plan, r.writer)) && always_runs(launch_of(plan, r.writer)) &&
           b.home == BufferHome::arena && b.within < 0 && !has_parts(plan, r.buffer);
  });
}

Undo lay_into(Plan& plan, int b, int whole, std::size_t offset) {
  const Buffer old = buffer(plan, b);
  buffer(plan, b).home = buffer(plan, whole).home;
  buffer(plan, b).within = whole;
  buffer(plan, b).within_offset = offset;
  return [&plan, b, old] { buffer(plan, b) = old; };
}

std::optional<Undo> result_over_what_is_made_once(Plan& plan, SampleRandom& random) {
  const std::vector<Read> results = own_results(plan);
  const Read* r = one_of(random, results);
  if (r == nullptr) return {};
  const std::vector<Read> kept = reads_of(plan, [&](const Read& k) {
    return launch_of(plan, k.writer).constant && always_runs(launch_of(plan, k.reader)) &&
           buffer(plan, k.buffer).home == BufferHome::kept &&
           buffer(plan, k.buffer).device == buffer(plan, r->buffer).device &&
           buffer(plan, k.buffer).bytes >= buffer(plan, r->buffer).bytes;
  });
  const Read* k = one_of(random, kept);
  if (k == nullptr) return {};
  return lay_into(plan, r->buffer, k->buffer, 0);
}

std::optional<Undo> result_over_an_exchanged_value_in_use(Plan& plan, SampleRandom& random) {
  const std::vector<Read> parts = reads_of(plan, [&](const Read& r) {
    return launch_of(plan, r.writer).kind == LaunchKind::done && buffer(plan, r.buffer).within >= 0;
  });
  const Read* r = one_of(random, parts);
  if (r == nullptr) return {};
  const int over = written_between(plan, random, *r, false, true);
  const Buffer& part = buffer(plan, r->buffer);
  if (over < 0 || part.within_offset + buffer(plan, over).bytes > buffer(plan, part.within).bytes) return {};
  return lay_into(plan, over, part.within, part.within_offset);
}

// A launch between the start and the done of an exchange writes into the exchanged block, or over an unpacked operand.
std::optional<Undo> result_over_what_is_in_flight(Plan& plan, SampleRandom& random) {
  std::vector<std::pair<int, int>> found;  // result, whole
  for (int s = 0; s < count(plan); ++s) {
    if (launch_of(plan, s).kind != LaunchKind::start) continue;
    const int exchanged = launch_of(plan, s).kernel ? launch_of(plan, s).outputs[0] : launch_of(plan, s).inputs[0];
    for (int k = s + 1; k < count(plan) && launch_of(plan, k).event != launch_of(plan, s).event; ++k) {
      if (!computes(launch_of(plan, k))) continue;
      const int made = launch_of(plan, k).outputs[0];
      const Buffer& b = buffer(plan, made);
      if (b.home == BufferHome::arena && b.within < 0 && !has_parts(plan, made) && b.bytes > 0 &&
          buffer(plan, exchanged).within < 0 && b.device == buffer(plan, exchanged).device &&
          b.bytes <= buffer(plan, exchanged).bytes && buffer(plan, exchanged).home != BufferHome::store)
        found.emplace_back(made, exchanged);
    }
  }
  const auto* chosen = one_of(random, found);
  if (chosen == nullptr) return {};
  return lay_into(plan, chosen->first, chosen->second, 0);
}

std::optional<Undo> result_into_an_argument(Plan& plan, SampleRandom& random) {
  const std::vector<Read> results = own_results(plan);
  const Read* r = one_of(random, results);
  if (r == nullptr) return {};
  Launch& writer = launch_of(plan, r->writer);
  const auto at = std::find(writer.outputs.begin(), writer.outputs.end(), r->buffer);
  for (ValueId id : plan.graph.arguments) {
    const int b = plan.buffer_of_value[static_cast<std::size_t>(id)];
    if (buffer(plan, b).type == buffer(plan, r->buffer).type &&
        buffer(plan, b).layout == buffer(plan, r->buffer).layout)
      return change(*at, b);
  }
  return {};
}

std::optional<Undo> result_into_a_form(Plan& plan, SampleRandom& random) {
  const std::vector<Read> forms = reads_of(plan, [&](const Read& r) {
    return buffer(plan, r.buffer).home == BufferHome::derived && launch_of(plan, r.writer).derives == r.buffer &&
           always_runs(launch_of(plan, r.reader));
  });
  const Read* form = one_of(random, forms);
  if (form == nullptr) return {};
  for (int j = form->writer + 1; j < form->reader; ++j) {
    Launch& l = launch_of(plan, j);
    if (computes(l) && always_runs(l) && buffer(plan, l.outputs[0]).home == BufferHome::arena)
      return change(l.outputs[0], form->buffer);
  }
  return {};
}

std::optional<Undo> operand_of_another_value(Plan& plan, SampleRandom& random) {
  const std::vector<Read> all = reads_of(plan, [&](const Read& r) { return computes(launch_of(plan, r.reader)); });
  const Read* r = one_of(random, all);
  if (r == nullptr) return {};
  // If it was written over its operand, it stays in that place.
  const Places places(plan);
  std::vector<int> others;
  for (const Read& other : all) {
    const Buffer &a = buffer(plan, other.buffer), &b = buffer(plan, r->buffer);
    if (!(places.of(other.buffer) == places.of(r->buffer)) && computes(launch_of(plan, other.writer)) &&
        a.type == b.type && a.layout == b.layout && a.device == b.device)
      others.push_back(other.buffer);
  }
  const int* other = one_of(random, others);
  if (other == nullptr) return {};
  // A copy or conversion of the same value would be correct.
  if (!computes(launch_of(plan, r->writer)) && launch_of(plan, r->writer).kind != LaunchKind::done) return {};
  return change(launch_of(plan, r->reader).inputs[r->operand], *other);
}

std::optional<Undo> operand_that_does_not_exist(Plan& plan, SampleRandom& random) {
  Launch& l = launch_of(plan, drawn_between(random, 0, count(plan) - 1));
  if (l.inputs.empty()) return {};
  return change(l.inputs[0], static_cast<int>(plan.buffers.size()) + drawn_between(random, 0, 3));
}

std::optional<Undo> returned_from_elsewhere(Plan& plan, SampleRandom& random) {
  const int r = drawn_between(random, 0, static_cast<int>(plan.buffer_of_return.size()) - 1);
  int& returned = plan.buffer_of_return[static_cast<std::size_t>(r)];
  const bool made = std::any_of(plan.launches.begin(), plan.launches.end(),
                                [&](const Launch& l) { return computes(l) && among(l.outputs, returned); });
  if (!made) return {};  // a copy, for which its source may be equally correct
  const Places places(plan);
  const std::vector<Read> others = reads_of(plan, [&](const Read& read) {
    return !(places.of(read.buffer) == places.of(returned)) && computes(launch_of(plan, read.writer)) &&
           !among(launch_of(plan, read.writer).outputs, returned) &&
           buffer(plan, read.buffer).bytes == buffer(plan, returned).bytes;
  });
  const Read* other = one_of(random, others);
  if (other == nullptr) return {};
  return change(returned, other->buffer);
}

std::optional<Undo> launches_exchanged_with_their_readers(Plan& plan, SampleRandom& random) {
  const int i = drawn_between(random, 0, count(plan) - 2);
  Launch &first = launch_of(plan, i), &second = launch_of(plan, i + 1);
  const bool reads = std::any_of(second.inputs.begin(), second.inputs.end(),
                                 [&](int b) { return among(first.outputs, b) && buffer(plan, b).bytes > 0; });
  if (!reads || !always_runs(first) || !always_runs(second)) return {};
  std::swap(first, second);
  return [&first, &second] { std::swap(first, second); };
}

std::optional<Undo> exchanges_in_another_order(Plan& plan, SampleRandom& random) {
  std::vector<int> starts;
  for (int i = 0; i < count(plan); ++i) {
    if (launch_of(plan, i).kind == LaunchKind::start) starts.push_back(i);
  }
  if (starts.size() < 2) return {};
  const int s = drawn_between(random, 0, static_cast<int>(starts.size()) - 2);
  Launch& first = launch_of(plan, starts[static_cast<std::size_t>(s)]);
  Launch& second = launch_of(plan, starts[static_cast<std::size_t>(s) + 1]);
  std::swap(first, second);
  return [&first, &second] { std::swap(first, second); };
}

std::optional<Undo> exchanges_with_each_others_event(Plan& plan, SampleRandom& random) {
  std::vector<int> dones;
  for (int i = 0; i < count(plan); ++i) {
    if (launch_of(plan, i).kind == LaunchKind::done) dones.push_back(i);
  }
  if (dones.size() < 2) return {};
  const int d = drawn_between(random, 0, static_cast<int>(dones.size()) - 2);
  int& first = launch_of(plan, dones[static_cast<std::size_t>(d)]).event;
  int& second = launch_of(plan, dones[static_cast<std::size_t>(d) + 1]).event;
  std::swap(first, second);
  return [&first, &second] { std::swap(first, second); };
}

std::optional<Undo> shared_memory_that_one_rank_does_not_ask_for(Plan& plan, SampleRandom&) {
  for (Launch& l : plan.launches) {
    if (l.shared >= 0) return change(l.shared, -1);
  }
  return {};
}

// Reads a value that changes between runs, and its result is read by others.
std::optional<Undo> made_once_of_what_changes(Plan& plan, SampleRandom& random) {
  const std::vector<Read> results = reads_of(plan, [&](const Read& r) {
    const Launch& writer = launch_of(plan, r.writer);
    return computes(writer) && always_runs(writer) && always_runs(launch_of(plan, r.reader)) &&
           std::any_of(writer.inputs.begin(), writer.inputs.end(),
                       [&](int b) { return buffer(plan, b).home == BufferHome::input && buffer(plan, b).bytes > 0; });
  });
  const Read* r = one_of(random, results);
  if (r == nullptr) return {};
  return change(launch_of(plan, r->writer).constant, true);
}

std::optional<Undo> left_out_with_a_form(Plan& plan, SampleRandom& random) {
  std::vector<int> forms;
  for (const Launch& l : plan.launches) {
    if (l.derives >= 0) forms.push_back(l.derives);
  }
  const int* form = one_of(random, forms);
  const std::vector<Read> results = own_results(plan);
  const Read* r = one_of(random, results);
  if (form == nullptr || r == nullptr || !always_runs(launch_of(plan, r->reader))) return {};
  return change(launch_of(plan, r->writer).derives, *form);
}

std::optional<Undo> written_over_an_operand_that_the_kernel_reads_again(Plan& plan, SampleRandom& random) {
  const Places places(plan);
  std::vector<std::pair<int, std::size_t>> found;
  for (int i = 0; i < count(plan); ++i) {
    if (launch_of(plan, i).kind != LaunchKind::kernel) continue;
    const Kernel& kernel = *launch_of(plan, i).kernel;
    for (std::size_t r = 0; r < kernel.in_place.size(); ++r) {
      if (kernel.in_place[r] < 0) continue;
      const Place& to = places.of(launch_of(plan, i).outputs[r]);
      if (to.meets(places.of(launch_of(plan, i).inputs[static_cast<std::size_t>(kernel.in_place[r])])))
        found.emplace_back(i, r);
    }
  }
  const auto* chosen = one_of(random, found);
  if (chosen == nullptr) return {};
  return change(launch_of(plan, chosen->first).kernel->in_place[chosen->second], -1);
}

std::optional<Undo> workspace_over_an_operand(Plan& plan, SampleRandom& random) {
  const int i = drawn_between(random, 0, count(plan) - 1);
  const Launch& l = launch_of(plan, i);
  if (l.scratch < 0 || l.inputs.empty()) return {};
  const int b = l.inputs[static_cast<std::size_t>(drawn_between(random, 0, static_cast<int>(l.inputs.size()) - 1))];
  const Buffer &operand = buffer(plan, b), &scratch = buffer(plan, l.scratch);
  if (operand.home != BufferHome::arena || operand.device != scratch.device || operand.bytes == 0) return {};
  return change(buffer(plan, l.scratch).offset, Places(plan).of(b).begin);
}

std::optional<Undo> arena_that_is_too_small(Plan& plan, SampleRandom&) {
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    if (plan.arena_bytes[d] == 0) continue;
    std::size_t end = 0;
    for (const Read& r : reads(plan)) {
      const int whole = whole_of(plan, r.buffer);
      if (buffer(plan, whole).home == BufferHome::arena && buffer(plan, whole).device == plan.devices[d])
        end = std::max(end, buffer(plan, whole).offset + buffer(plan, whole).bytes);
    }
    if (end > 0) return change(plan.arena_bytes[d], end - 1);
  }
  return {};
}

std::optional<Undo> buffer_of_another_type(Plan& plan, SampleRandom& random) {
  const std::vector<Read> all = reads_of(plan, [&](const Read& r) {
    return computes(launch_of(plan, r.writer)) && buffer(plan, r.buffer).type.dtype == DType::f32;
  });
  const Read* r = one_of(random, all);
  if (r == nullptr) return {};
  return change(buffer(plan, r->buffer).type.dtype, DType::i32);
}

std::optional<Undo> buffer_of_half_the_bytes(Plan& plan, SampleRandom& random) {
  const std::vector<Read> all = own_results(plan);
  const Read* r = one_of(random, all);
  if (r == nullptr) return {};
  return change(buffer(plan, r->buffer).bytes, buffer(plan, r->buffer).bytes / 2);
}

}  // namespace
}  // namespace values

std::span<const PlanMutation> value_mutations() {
  using namespace values;
  static constexpr PlanMutation kAll[] = {
      {"value_over_a_value_in_use", value_over_a_value_in_use},
      {"workspace_over_a_value_in_use", workspace_over_a_value_in_use},
      {"part_outside_of_its_whole", part_outside_of_its_whole},
      {"part_of_an_exchange_moved", part_of_an_exchange_moved},
      {"result_over_what_is_made_once", result_over_what_is_made_once},
      {"result_over_an_exchanged_value_in_use", result_over_an_exchanged_value_in_use},
      {"result_over_what_is_in_flight", result_over_what_is_in_flight},
      {"result_into_an_argument", result_into_an_argument},
      {"result_into_a_form", result_into_a_form},
      {"operand_of_another_value", operand_of_another_value},
      {"operand_that_does_not_exist", operand_that_does_not_exist},
      {"returned_from_elsewhere", returned_from_elsewhere},
      {"launches_exchanged_with_their_readers", launches_exchanged_with_their_readers},
      {"exchanges_in_another_order", exchanges_in_another_order},
      {"exchanges_with_each_others_event", exchanges_with_each_others_event},
      {"shared_memory_that_one_rank_does_not_ask_for", shared_memory_that_one_rank_does_not_ask_for},
      {"made_once_of_what_changes", made_once_of_what_changes},
      {"left_out_with_a_form", left_out_with_a_form},
      {"written_over_an_operand_that_the_kernel_reads_again", written_over_an_operand_that_the_kernel_reads_again},
      {"workspace_over_an_operand", workspace_over_an_operand},
      {"arena_that_is_too_small", arena_that_is_too_small},
      {"buffer_of_another_type", buffer_of_another_type},
      {"buffer_of_half_the_bytes", buffer_of_half_the_bytes},
  };
  return kAll;
}

}  // namespace ridgeline::testing
