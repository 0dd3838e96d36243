#include "ridgeline/compile/lower/lifetimes.h"

#include <algorithm>

#include "ridgeline/compile/lower/places.h"

namespace ridgeline {

std::vector<Lifetime> lifetimes(const Plan& plan) {
  std::vector<Lifetime> lives(plan.buffers.size());
  const auto touch = [&](int buffer, std::size_t launch) {
    Lifetime& life = lives[static_cast<std::size_t>(buffer)];
    life.last = static_cast<int>(launch);
    if (!life.used()) life.first = life.last;
  };
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    for (int b : launch.inputs) touch(b, i);
    for (int b : launch.outputs) touch(b, i);
    if (launch.scratch >= 0) touch(launch.scratch, i);
  }
  for (int b : plan.buffer_of_return) touch(b, plan.launches.size());
  return lives;
}

Occupants::Occupants(const Plan& plan) : lives_(lifetimes(plan)), of_(plan.buffers.size()) {
  for (std::size_t i = 0; i < lives_.size(); ++i) {
    if (!lives_[i].used()) continue;
    const Buffer& b = plan.buffers[i];
    const auto index = static_cast<int>(i);
    of_[static_cast<std::size_t>(whole_of(plan, index))].push_back({index, b.within_offset, b.within_offset + b.bytes});
  }
}

Lifetime Occupants::whole(int buffer) const {
  Lifetime whole;
  for (const Occupant& o : of_[static_cast<std::size_t>(buffer)]) {
    const Lifetime& life = this->life(o.buffer);
    whole = whole.used() ? Lifetime{std::min(whole.first, life.first), std::max(whole.last, life.last)} : life;
  }
  return whole;
}

bool Occupants::free(int whole, std::size_t begin, std::size_t end, const Lifetime& when, int but) const {
  const std::vector<Occupant>& all = of_[static_cast<std::size_t>(whole)];
  return std::none_of(all.begin(), all.end(), [&](const Occupant& o) {
    return o.buffer != but && o.begin < end && begin < o.end && life(o.buffer).meets(when);
  });
}

void Occupants::keep(Plan& plan, int whole) const {
  plan.buffers[static_cast<std::size_t>(whole)].home = BufferHome::kept;
  for (const Occupant& o : of_[static_cast<std::size_t>(whole)])
    plan.buffers[static_cast<std::size_t>(o.buffer)].home = BufferHome::kept;
}

void Occupants::move(Plan& plan, int buffer, int whole, std::size_t offset) {
  std::vector<Occupant> moved = std::move(of_[static_cast<std::size_t>(buffer)]);
  of_[static_cast<std::size_t>(buffer)].clear();
  for (Occupant& o : moved) {
    o.begin += offset;
    o.end += offset;
    Buffer& part = plan.buffers[static_cast<std::size_t>(o.buffer)];
    part.home = plan.buffers[static_cast<std::size_t>(whole)].home;
    part.within = whole;
    part.within_offset = o.begin;
    of_[static_cast<std::size_t>(whole)].push_back(o);
  }
}

}  // namespace ridgeline
