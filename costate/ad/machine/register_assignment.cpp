#include "costate/ad/machine/register_assignment.h"

#include <algorithm>
#include <cassert>

namespace costate::ad {

BlockWriter::BlockWriter(const LaneCode& code, const FrameLayout& frame, x86::Encoder& encoder,
                         bool is_double, std::pmr::memory_resource* memory)
    : code_(code),
      frame_(frame),
      encoder_(encoder),
      operations_(encoder, is_double),
      states_(code.values.size(), memory),
      next_uses_(3 * code.steps.size(), kNever, memory),
      leaves_(code.values.size(), false, memory),
      touched_(memory),
      registers_(static_cast<std::size_t>(encoder.registers()), memory) {
  find_values_that_leave();
}

void BlockWriter::find_values_that_leave() {
  std::pmr::vector<std::uint32_t> made_in(code_.values.size(), kNever, states_.get_allocator());
  for (std::uint32_t s = 0; s < code_.segments.size(); ++s) {
    const LaneSegment& segment = code_.segments[s];
    for (std::uint32_t i = segment.first; i < segment.first + segment.count; ++i) {
      const LaneStep& step = code_.steps[i];
      for (int k = 0; k < step.arity; ++k) {
        if (made_in[step.operand[k]] != s) leaves_[step.operand[k]] = true;
      }
      if (!step.is_output) made_in[step.value] = s;
    }
  }
}

void BlockWriter::find_uses(const LaneSegment& block) {
  touched_.clear();
  for (std::uint32_t i = block.first + block.count; i-- > block.first;) {
    const LaneStep& step = code_.steps[i];
    for (int k = 0; k < step.arity; ++k)
      next_uses_[3 * i + static_cast<std::uint32_t>(k)] = states_[step.operand[k]].next_use;
    for (int k = 0; k < step.arity; ++k) {
      State& state = states_[step.operand[k]];
      if (state.uses++ == 0) touched_.push_back(step.operand[k]);
      state.next_use = i;
      state.stored = true;  // unless it is made in this block, below
    }
    if (step.is_output) continue;
    State& made = states_[step.value];
    if (made.uses == 0) touched_.push_back(step.value);
    made.stored = false;
  }
}

// Registers in use at once, at most, without constants of the loop.
int BlockWriter::pressure(const LaneSegment& block) const {
  std::pmr::vector<bool> begun(code_.values.size(), false, states_.get_allocator());
  int alive = 0, most = 0;
  for (std::uint32_t i = block.first; i < block.first + block.count; ++i) {
    const LaneStep& step = code_.steps[i];
    const auto varies = [&](int k) { return !is_constant_of_loop(step.operand[k]); };
    int loaded_here = 0, dead = 0;
    for (int k = 0; k < step.arity; ++k) {
      const std::uint32_t value = step.operand[k];
      if (!varies(k)) {
        ++loaded_here;  // perhaps, for this step alone
        continue;
      }
      if (!begun[value]) {
        begun[value] = true;
        ++alive;
      }
      const bool again = std::find(step.operand, step.operand + k, value) != step.operand + k;
      if (next_uses_[3 * i + static_cast<std::uint32_t>(k)] == kNever && !again) ++dead;
    }
    const int spare = step.is_output ? 1 : x86::spare_registers(step.op);
    most = std::max(most, alive + spare + loaded_here + 1);
    alive -= dead;
    if (!step.is_output && states_[step.value].next_use != kNever && !begun[step.value]) {
      begun[step.value] = true;
      ++alive;
    }
  }
  return most;
}

void BlockWriter::load_constants_of_loop(const LaneSegment& block) {
  int room = encoder_.registers() - pressure(block);
  std::pmr::vector<std::uint32_t> constants(states_.get_allocator());
  for (const std::uint32_t value : touched_) {
    if (is_constant_of_loop(value)) constants.push_back(value);
  }
  std::sort(constants.begin(), constants.end(), [&](std::uint32_t a, std::uint32_t b) {
    return states_[a].uses != states_[b].uses ? states_[a].uses > states_[b].uses : a < b;
  });
  for (const std::uint32_t value : constants) {
    if (room-- <= 0) break;
    const int reg = take_register();
    operations_.load(reg, address(value));
    bind(reg, value);
    at(reg).locked = at(reg).constant = true;
  }
}

void BlockWriter::write(const LaneSegment& block) {
  find_uses(block);
  std::fill(registers_.begin(), registers_.end(), Register{});
  if (!block.once && !frame_.one_world) load_constants_of_loop(block);
  encoder_.clear_index();
  encoder_.align(16);
  const std::size_t loop = encoder_.position();
  for (std::uint32_t i = block.first; i < block.first + block.count; ++i) step(i);
  if (!block.once && !frame_.one_world) {
    encoder_.add_to_index(static_cast<std::int8_t>(frame_.pack));
    encoder_.jump_back_if_index_below_rdx(loop);
  }
  if (frame_.pack > 16) encoder_.clear_upper_halves();
  encoder_.ret();
  for (const std::uint32_t value : touched_) states_[value] = State{};
}

x86::Address BlockWriter::address(std::uint32_t value) {
  const Place place = code_.values[value];
  const auto index = static_cast<std::int32_t>(place.index);
  switch (place.home) {
    case Home::pool:
      return {x86::kPool, false, index * frame_.pack};
    case Home::shared:
      return {x86::General::rdi, false, index * frame_.pack};
    case Home::strip:
      return {x86::General::rdi, true, frame_.strips + index * frame_.strip};
    case Home::input:
      break;
  }
  encoder_.load_pointer(x86::General::r8, {x86::General::rsi, false, index * 8});
  return {x86::General::r8, true, 0};
}

void BlockWriter::bind(int reg, std::uint32_t value) {
  at(reg).value = value;
  states_[value].reg = static_cast<std::int16_t>(reg);
}

int BlockWriter::take_register() {
  int farthest = kNone;
  std::uint32_t when = 0;
  for (int r = 0; r < encoder_.registers(); ++r) {
    const Register& candidate = at(r);
    if (candidate.locked) continue;
    if (candidate.value == kNever) return r;
    const std::uint32_t next = states_[candidate.value].next_use;
    if (farthest == kNone || next > when) {
      farthest = r;
      when = next;
    }
  }
  assert(farthest != kNone);
  Register& given_up = at(farthest);
  State& state = states_[given_up.value];
  if (!state.stored) operations_.store(farthest, address(given_up.value));
  state.stored = true;
  state.reg = kNone;
  given_up.value = kNever;
  return farthest;
}

// A register that holds the value; locked.
int BlockWriter::in_register(std::uint32_t value) {
  State& state = states_[value];
  if (state.reg == kNone) {
    const int reg = take_register();
    operations_.load(reg, address(value));
    bind(reg, value);
  }
  at(state.reg).locked = true;
  return state.reg;
}

// The operand that the instruction reads from memory, or kNone: one that is in no register and need not be.
int BlockWriter::memory_operand(std::uint32_t index) const {
  const LaneStep& s = code_.steps[index];
  const unsigned allowed = x86::memory_operands(s.op);
  for (int k = 0; k < s.arity; ++k) {
    const std::uint32_t value = s.operand[k];
    const bool once = std::count(s.operand, s.operand + s.arity, value) == 1;
    const bool needed_again = next_uses_[3 * index + static_cast<std::uint32_t>(k)] != kNever;
    if ((allowed >> k & 1) != 0 && once && states_[value].reg == kNone &&
        (!needed_again || is_constant_of_loop(value))) {
      return k;
    }
  }
  return kNone;
}

void BlockWriter::release_if_dead(std::uint32_t value) {
  State& state = states_[value];
  if (state.next_use != kNever || state.reg == kNone || at(state.reg).constant) return;
  at(state.reg) = Register{};
  state.reg = kNone;
}

void BlockWriter::step(std::uint32_t index) {
  const LaneStep& s = code_.steps[index];
  if (s.is_output) {
    write_output(s, index);
  } else {
    compute(s, index);
  }
  for (Register& r : registers_) r.locked = r.constant;
}

void BlockWriter::write_output(const LaneStep& s, std::uint32_t index) {
  const auto element = static_cast<std::int32_t>(s.value);
  const int from = in_register(s.operand[0]);
  const int sum = s.adds ? take_register() : kNone;
  x86::Address to{x86::General::rdi, false, frame_.output_packs + element * frame_.pack};
  if (!frame_.one_world) {
    const std::int32_t entry = static_cast<std::int32_t>(frame_.inputs) + element;
    encoder_.load_pointer(x86::General::r8, {x86::General::rsi, false, entry * 8});
    to = {x86::General::r8, true, 0};
  }
  if (s.adds) operations_.add(sum, from, to);
  operations_.store(s.adds ? sum : from, to);
  states_[s.operand[0]].next_use = next_uses_[3 * index];
  release_if_dead(s.operand[0]);
}

void BlockWriter::compute(const LaneStep& s, std::uint32_t index) {
  x86::Placed placed;
  placed.op = s.op;
  placed.exponent = s.exponent;
  x86::Operand* const operands[] = {&placed.a, &placed.b, &placed.c};
  const int from_memory = memory_operand(index);
  for (int k = 0; k < s.arity; ++k) {
    if (k != from_memory) *operands[k] = in_register(s.operand[k]);
  }
  for (int k = 0; k < x86::spare_registers(s.op); ++k) {
    placed.spare[k] = take_register();
    at(placed.spare[k]).locked = true;
  }
  // A register that an operand leaves here is the result's, if it likes.
  placed.out = kNone;
  for (int k = s.arity; k-- > 0;) {
    State& state = states_[s.operand[k]];
    state.next_use = next_uses_[3 * index + static_cast<std::uint32_t>(k)];
    const int reg = state.reg;
    release_if_dead(s.operand[k]);
    if (placed.out == kNone && reg != kNone && state.reg == kNone) placed.out = reg;
  }
  if (placed.out == kNone) placed.out = take_register();
  // Last, because the address may be in r8, which finding registers for the others may have used.
  if (from_memory != kNone) *operands[from_memory] = address(s.operand[from_memory]);
  operations_.emit(placed);
  bind(placed.out, s.value);
  if (leaves_[s.value]) {
    operations_.store(placed.out, address(s.value));
    states_[s.value].stored = true;
  }
  release_if_dead(s.value);
}

}  // namespace costate::ad
